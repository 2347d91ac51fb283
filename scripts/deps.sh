#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Check that the tools and libraries of the named groups are there:
#     scripts/deps.sh [build] [check] [bed] [cluster] [lint] [fuzz]
# As root on a system with apt-get what is missing is installed; otherwise the
# packages to install are named, and the exit status is 1.  When nothing is
# missing this takes a few milliseconds and says nothing.  `cluster` is the test
# bed of several nodes, `bed` the same without SLURM and MPICH.  What they lack
# is no failure where it may not be installed: what runs on it is skipped then.
set -u

missing=()
daemons= # some of them start daemons

# tool COMMAND PACKAGE: the command must be in the path.
tool() {
	command -v "$1" >/dev/null 2>&1 || missing+=("$2")
}

# extra COMMAND PACKAGE: is installed where we may; else what tries it is skipped.
extra() {
	! may_install || tool "$1" "$2"
}

may_install() {
	[ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1
}

# library PKG-CONFIG-NAME PACKAGE: the development files must be there.
library() {
	pkg-config --exists "$1" 2>/dev/null || missing+=("$2")
}

libraries() {
	# One call for the usual case, in which all are there.
	pkg-config --exists libisal jansson zlib inih libcrypto libarchive \
		2>/dev/null && return
	library libisal libisal-dev
	library jansson libjansson-dev
	library zlib zlib1g-dev
	library inih libinih-dev
	library libcrypto libssl-dev
	library libarchive libarchive-dev
}

# What the test bed of several nodes runs, all of it as root.
bed() { # [slurm]
	# (Not in the path of everybody who may ask.)
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

# Packages with daemons are for root, and not for somebody's own machine: they
# would be started when it is booted next.
may_install_daemons() {
	may_install &&
		{ [ -n "${CI-}" ] || [ ! -d /run/systemd/system ]; }
}

# While this file is there Debian's packages start nothing.
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
		# valgrind needs the symbols of the C library, but Debian
		# only recommends them to it.
		command -v valgrind >/dev/null || missing+=(valgrind libc6-dbg)
		tool timeout coreutils
		tool cmp diffutils
		# What others make of our archives, and we of theirs.
		tool bsdtar libarchive-tools
		tool cpio cpio
		tool zstd zstd
		tool xz xz-utils
		tool 7zz 7zip
		tool python3 python3-minimal
		# Completions are tried in these, and what passes through the
		# login shells of nodes.
		extra zsh zsh
		extra fish fish
		extra tcsh tcsh
		extra mksh mksh
		;;
	bed) bed ;;
	cluster)
		bed slurm
		extra mpiexec mpich
		extra mpicc libmpich-dev
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
		echo "usage: deps.sh [build] [check] [bed] [cluster] [lint]" \
			"[fuzz]" >&2
		exit 2
		;;
	esac
}

# Has clang libFuzzer?  Debian splits its run-time off from the compiler since
# version 14 and names the package by the version.
fuzzer_runtime() {
	local archive

	command -v clang >/dev/null 2>&1 || return 1
	archive=$(clang -print-file-name="libclang_rt.fuzzer-$(uname -m).a")
	[ -e "$archive" ] && return
	archive=$(clang -print-resource-dir)/lib/linux
	[ -e "$archive/libclang_rt.fuzzer-$(uname -m).a" ]
}

# Debian has libclang-rt-dev only with the version in its name.
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
