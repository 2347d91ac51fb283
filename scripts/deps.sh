#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Check that the tools and libraries of the named groups are installed:
#     scripts/deps.sh GROUP...
# The groups are the cases of group() below.
# As root on a system with apt-get, missing packages are installed.  Otherwise
# the missing packages are printed, and the exit status is 1.  If none is
# missing, the script takes a few milliseconds and prints nothing.  `cluster` is
# the test bed of several nodes, `bed` the same without SLURM.
# Missing packages of these two are not an error if they may not be installed:
# the tests that need them are skipped then.
set -u -o pipefail

missing=()
too_old=() # what is there, and cannot be used
daemons= # packages with daemons

# tool COMMAND PACKAGE: requires a command in PATH.
tool() {
	type -P "$1" >/dev/null 2>&1 || missing+=("$2")
}

# extra COMMAND PACKAGE: a command that is installed if we may.  Tests that need
# it are skipped without it.
extra() {
	! may_install || tool "$1" "$2"
}

# cross TARGET PACKAGE: a cross compiler, and the C library that it only
# recommends.
cross() {
	extra "$1-gcc" "gcc-$1"
	! may_install || [ -e "/usr/$1/include/stdint.h" ] || missing+=("$2")
}

may_install() {
	[ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1
}

# library NAME VERSION PACKAGE: requires the development files of pkg-config's
# NAME, of at least this version.
library() {
	pkg-config --exists "$1 >= $2" 2>/dev/null && return
	missing+=("$3")
	! pkg-config --exists "$1" 2>/dev/null ||
		too_old+=("$1 $(pkg-config --modversion "$1"): $2 or later")
}

# The oldest versions that the tests were run with are in README.md.
libraries() {
	# In the usual case all are installed, and one call is enough.
	pkg-config --exists 'libisal >= 2.30' 'jansson >= 2.11' 'zlib >= 1.2.11' \
		inih 'libcrypto >= 1.1.1' 'libarchive >= 3.3' 2>/dev/null &&
		return
	library libisal 2.30 libisal-dev
	library jansson 2.11 libjansson-dev
	library zlib 1.2.11 zlib1g-dev
	library inih 0 libinih-dev
	library libcrypto 1.1.1 libssl-dev
	library libarchive 3.3 libarchive-dev
}

# Compilers that can be asked: gcc 8, clang 7 (C11, and atomics of it).
compiler() {
	local version

	case ${CC:-cc} in
	*clang*) tool "${CC:-cc}" clang ;;
	*) tool "${CC:-cc}" gcc ;;
	esac
	version=$(echo __GNUC__ __clang_major__ | ${CC:-cc} -E -P - 2>/dev/null)
	case $version in
	[1-7]" __clang_major__") too_old+=("gcc ${version%% *}: 8 or later") ;;
	*" "[1-6]) too_old+=("clang ${version##* }: 7 or later") ;;
	esac
}

# libscr, and jobs that link it.  The Makefile finds MPI in the same way.
mpi() {
	[ -n "${MPI_LIBS-}" ] || "${MPICC:-mpicc}" -show >/dev/null 2>&1 ||
		pkg-config --exists mpich 2>/dev/null ||
		pkg-config --exists ompi-c 2>/dev/null ||
		missing+=(libmpich-dev)
	library hwloc 2.0 libhwloc-dev
	tool mpiexec mpich
	tool unshare util-linux
}

# Bats with "run -0", as of 1.5.
bats() {
	local version minor

	tool bats bats
	version=$(command bats --version 2>/dev/null) || return
	minor=$(sed -n 's/^Bats 1\.\([0-9]*\).*/\1/p' <<<"$version")
	[ "${minor:-5}" -ge 5 ] || too_old+=("$version: Bats 1.5 or later")
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
		compiler
		tool ar binutils
		tool pkg-config pkg-config
		[ -e /usr/include/stdio.h ] || missing+=(libc6-dev)
		libraries
		;;
	quick)
		bats
		tool python3 python3
		tool jq jq
		tool perl perl-base
		mpi
		;;
	check)
		bats
		tool perl perl-base
		tool pgrep procps
		# valgrind needs the symbols of the C library; Debian's package
		# only recommends them.
		command -v valgrind >/dev/null || missing+=(valgrind libc6-dbg)
		tool timeout coreutils
		tool cmp diffutils
		tool jq jq
		# Tests exchange archives with these.
		tool bsdtar libarchive-tools
		tool zstd zstd
		tool xz xz-utils
		python3 -c 'import json, xml' 2>/dev/null ||
			missing+=(python3)
		# run.sh prefers the system's to that of a version manager.
		/usr/bin/python3 -c 'import jsonschema' 2>/dev/null ||
			{ ! may_install &&
				python3 -c 'import jsonschema' 2>/dev/null; } ||
			missing+=(python3-jsonschema)
		mpi
		group html
		extra strace strace
		extra gdb gdb-minimal
		extra setfattr attr
		# `scr_env log --db` is built if it is there.
		pkg-config --exists sqlite3 2>/dev/null || ! may_install ||
			missing+=(libsqlite3-dev)
		# Programs whose files are in a store.
		extra sqlite3 sqlite3
		extra h5repack hdf5-tools
		# scr.py is installed by it, too.
		! may_install || /usr/bin/python3 -c \
			'import setuptools, wheel, pip' 2>/dev/null ||
			missing+=(python3-setuptools python3-wheel python3-pip)
		extra g++ g++
		extra gfortran gfortran
		# Users of libscr are built with these, too.
		extra cmake cmake
		extra script bsdutils
		# Shells in which the completions and the login output of nodes
		# are tested.
		extra zsh zsh
		# Pages are rendered with it.
		extra chromium chromium
		# Their script is run by it.
		extra node nodejs
		extra fish fish
		extra tcsh tcsh
		extra mksh mksh
		;;
	mpi) mpi ;;
	messages) tool python3 python3 ;;
	change-requests)
		tool python3 python3
		tool strace strace
		;;
	bench)
		bed
		tool python3 python3
		mpi
		tool openssl openssl
		;;
	bed) bed ;;
	cluster)
		bed slurm
		tool python3 python3
		;;
	portable)
		extra debootstrap debootstrap
		extra musl-gcc musl-tools
		extra dpkg-shlibdeps dpkg-dev
		extra rpmbuild rpm
		cross aarch64-linux-gnu libc6-dev-arm64-cross
		cross s390x-linux-gnu libc6-dev-s390x-cross
		extra qemu-aarch64-static qemu-user-static
		;;
	deb)
		tool dpkg-shlibdeps dpkg-dev
		tool strip binutils
		;;
	rpm)
		tool rpmbuild rpm
		tool file file
		;;
	lint)
		mpi # its headers
		tool python3 python3
		tool git git
		tool clang-format clang-format
		tool clang clang
		tool cppcheck cppcheck
		tool shellcheck shellcheck
		tool mandoc mandoc
		tool groff groff
		tool nm binutils
		/usr/bin/python3 -c 'import pyflakes' 2>/dev/null ||
			missing+=(python3-pyflakes)
		;;
	html)
		tool mandoc mandoc
		tool cmark-gfm cmark-gfm
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

# translate N: the missing packages in the words of another distribution: 1 RHEL
# with EPEL, 2 SLES.  A package without a line has the same name everywhere.
translate() {
	local name

	for name in "${missing[@]}"; do
		names | awk -v p="$name" -v n="$1" '
			$1 == p { print $(n + 1); found = 1 }
			END { if (!found) print p }'
	done | sort -u | paste -s -d " "
}

# Debian, RHEL with EPEL, SLES.
names() {
	cat <<-'END'
		libisal-dev isa-l-devel libisal-devel
		libjansson-dev jansson-devel libjansson-devel
		zlib1g-dev zlib-devel zlib-devel
		libinih-dev inih-devel inih-devel
		libssl-dev openssl-devel libopenssl-devel
		libarchive-dev libarchive-devel libarchive-devel
		libhwloc-dev hwloc-devel hwloc-devel
		libsqlite3-dev sqlite-devel sqlite3-devel
		libmpich-dev mpich-devel mpich-devel
		pkg-config pkgconf-pkg-config pkg-config
		libc6-dev glibc-devel glibc-devel
		libc6-dbg glibc-debuginfo glibc-debuginfo
		libarchive-tools bsdtar bsdtar
		perl-base perl perl
		bsdutils util-linux-script util-linux
		xz-utils xz xz
		openssh-client openssh-clients openssh-clients
		iproute2 iproute iproute2
		procps procps-ng procps
		shellcheck ShellCheck ShellCheck
		clang-format clang-tools-extra clang-tools
	END
}

# One line of many every ten seconds: it takes long, and is not stuck.
brief() {
	local line

	while read -r line; do
		[ "$SECONDS" -ge 10 ] || continue
		echo "    $line"
		SECONDS=0
	done
}

[ $# -gt 0 ] || set -- build
for name; do
	group "$name"
done
if [ "${#too_old[@]}" -gt 0 ]; then
	printf 'too old: %s\n' "${too_old[@]}" >&2
	[ "${#missing[@]}" -gt 0 ] || exit 1
fi
[ "${#missing[@]}" -gt 0 ] || exit 0

if command -v apt-get >/dev/null 2>&1; then
	if [ "$(id -u)" = 0 ]; then
		export DEBIAN_FRONTEND=noninteractive
		echo "installing: ${missing[*]}"
		apt-get -q update | brief || exit 1
		[ -z "$daemons" ] || no_daemons || exit 1
		for i in "${!missing[@]}"; do
			missing[i]=$(resolve "${missing[i]}")
		done
		apt-get -q install -y --no-install-recommends \
			"${missing[@]}" | brief || exit 1
		exit 0
	fi
	for i in "${!missing[@]}"; do
		missing[i]=$(resolve "${missing[i]}")
	done
	echo "missing; install with:" >&2
	echo "    sudo apt-get update && sudo apt-get install" \
		"--no-install-recommends ${missing[*]}" >&2
elif command -v dnf >/dev/null 2>&1; then
	echo "missing; install with (EPEL has some of them):" >&2
	echo "    sudo dnf install $(translate 1)" >&2
elif command -v zypper >/dev/null 2>&1; then
	echo "missing; install with:" >&2
	echo "    sudo zypper install $(translate 2)" >&2
else
	echo "missing; install what Debian calls: ${missing[*]}" >&2
fi
exit 1
