#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Check that the tools and libraries of the named groups are installed:
#     scripts/deps.sh [build] [check] [mpi] [bed] [cluster] [lint] [fuzz]
# As root on a system with apt-get, missing packages are installed.  Otherwise
# the missing packages are printed, and the exit status is 1.  If none is
# missing, the script takes a few milliseconds and prints nothing.  `cluster` is
# the test bed of several nodes, `bed` the same without SLURM.
# Missing packages of these two are not an error if they may not be installed:
# the tests that need them are skipped then.
set -u

missing=()
daemons= # packages with daemons

# tool COMMAND PACKAGE: requires a command in PATH.
tool() {
	command -v "$1" >/dev/null 2>&1 || missing+=("$2")
}

# extra COMMAND PACKAGE: a command that is installed if we may.  Tests that need
# it are skipped without it.
extra() {
	! may_install || tool "$1" "$2"
}

may_install() {
	[ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1
}

# library PKG-CONFIG-NAME PACKAGE: requires the development files.
library() {
	pkg-config --exists "$1" 2>/dev/null || missing+=("$2")
}

libraries() {
	# In the usual case all are installed, and one call is enough.
	pkg-config --exists libisal jansson zlib inih libcrypto libarchive \
		2>/dev/null && return
	library libisal libisal-dev
	library jansson libjansson-dev
	library zlib zlib1g-dev
	library inih libinih-dev
	library libcrypto libssl-dev
	library libarchive libarchive-dev
}

# libscr, and jobs that link it.  The Makefile finds MPI in the same way.
mpi() {
	[ -n "${MPI_LIBS-}" ] || "${MPICC:-mpicc}" -show >/dev/null 2>&1 ||
		pkg-config --exists mpich 2>/dev/null ||
		pkg-config --exists ompi-c 2>/dev/null ||
		missing+=(libmpich-dev)
	library hwloc libhwloc-dev
	tool mpiexec mpich
	tool unshare util-linux
}

# The tools of the test bed of several nodes, which needs root.
bed() { # [slurm]
	# Users may not have the sbin directories in PATH.
	local before=${#missing[@]} PATH=$PATH:/usr/sbin:/sbin

	tool sshd openssh-server
	tool ssh openssh-client
	tool pdsh pdsh
	if [ "${1-}" = slurm ]; then
		tool slurmctld slurmctld
		tool slurmd slurmd
		tool srun slurm-client
		tool munged munge
	fi
	tool ip iproute2
	tool iptables iptables
	tool findmnt util-linux
	tool pkill procps
	[ "${#missing[@]}" -gt "$before" ] || return
	may_install_daemons && daemons=1 && return
	echo "what runs on several pretend nodes is skipped; it needs root, and" >&2
	echo "    ${missing[*]:before}" >&2
	missing=("${missing[@]:0:before}")
}

# Packages with daemons are installed only by root, and not on a personal
# machine, where the next boot would start the daemons.
may_install_daemons() {
	may_install &&
		{ [ -n "${CI-}" ] || [ ! -d /run/systemd/system ]; }
}

# Debian's packages start no daemons while this file exists.
no_daemons() {
	local policy=/usr/sbin/policy-rc.d

	[ ! -e "$policy" ] || return 0
	trap 'rm -f /usr/sbin/policy-rc.d' EXIT
	printf '#!/bin/sh\nexit 101\n' >"$policy" && chmod 755 "$policy"
}

group() {
	case $1 in
	build)
		tool make make
		case ${CC:-cc} in
		clang*) tool "$CC" clang ;;
		*) tool "${CC:-cc}" gcc ;;
		esac
		tool ar binutils
		tool pkg-config pkg-config
		[ -e /usr/include/stdio.h ] || missing+=(libc6-dev)
		libraries
		;;
	check)
		tool bats bats
		# valgrind needs the symbols of the C library; Debian's package
		# only recommends them.
		command -v valgrind >/dev/null || missing+=(valgrind libc6-dbg)
		tool timeout coreutils
		tool cmp diffutils
		# Tests exchange archives with these.
		tool bsdtar libarchive-tools
		tool cpio cpio
		tool zstd zstd
		tool xz xz-utils
		tool 7zz 7zip
		tool python3 python3-minimal
		mpi
		# Shells in which the completions and the login output of nodes
		# are tested.
		extra zsh zsh
		extra fish fish
		extra tcsh tcsh
		extra mksh mksh
		;;
	mpi) mpi ;;
	bed) bed ;;
	cluster)
		bed slurm
		;;
	lint)
		tool clang-format clang-format
		tool clang clang
		tool cppcheck cppcheck
		tool shellcheck shellcheck
		tool mandoc mandoc
		tool nm binutils
		;;
	fuzz)
		tool clang clang
		fuzzer_runtime || missing+=(libclang-rt-dev)
		;;
	*)
		echo "usage: deps.sh [build] [check] [mpi] [bed] [cluster]" \
			"[lint] [fuzz]" >&2
		exit 2
		;;
	esac
}

# Does clang have libFuzzer?  Since version 14 Debian has its run-time in a
# separate package with the version in its name.
fuzzer_runtime() {
	local archive

	command -v clang >/dev/null 2>&1 || return 1
	archive=$(clang -print-file-name="libclang_rt.fuzzer-$(uname -m).a")
	[ -e "$archive" ] && return
	archive=$(clang -print-resource-dir)/lib/linux
	[ -e "$archive/libclang_rt.fuzzer-$(uname -m).a" ]
}

# Debian names libclang-rt-dev only with its version.
resolve() {
	local version

	[ "$1" = libclang-rt-dev ] || { echo "$1" && return; }
	version=$(apt-cache depends clang 2>/dev/null |
		sed -n 's/.*Depends: clang-\([0-9]*\)$/\1/p')
	echo "libclang-rt-${version:+$version-}dev"
}

[ $# -gt 0 ] || set -- build
for name; do
	group "$name"
done
[ "${#missing[@]}" -gt 0 ] || exit 0

if command -v apt-get >/dev/null 2>&1; then
	if [ "$(id -u)" = 0 ]; then
		export DEBIAN_FRONTEND=noninteractive
		echo "installing: ${missing[*]}"
		apt-get -qq update || exit 1
		[ -z "$daemons" ] || no_daemons || exit 1
		for i in "${!missing[@]}"; do
			missing[i]=$(resolve "${missing[i]}")
		done
		apt-get -qq install -y --no-install-recommends \
			"${missing[@]}" >/dev/null || exit 1
		exit 0
	fi
	for i in "${!missing[@]}"; do
		missing[i]=$(resolve "${missing[i]}")
	done
	echo "missing; install with:" >&2
	echo "    sudo apt-get install ${missing[*]}" >&2
else
	echo "missing; install what Debian calls: ${missing[*]}" >&2
fi
exit 1
