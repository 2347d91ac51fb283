#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Does the toolkit build, and do its tests pass, on systems unlike this one?
#     scripts/portable.sh [compile] [symbols] [debian11] [packages] [arm64] [s390x]
# compile   lib and cmd with gcc, clang, musl and two cross compilers, as C11
#           without extensions
# symbols   the programs need nothing newer than glibc 2.28 and zlib 1.2.11
# debian11  in a root directory with Debian 11 (glibc 2.31, gcc 10, OpenSSL 1.1.1,
#           zlib 1.2.11, libarchive 3.4, MPICH 3.4), made by debootstrap: build,
#           and `make check` without sanitizers and valgrind
# packages  the packages of `make deb` and `make rpm`: installed in a Debian 12,
#           tried, removed
# arm64     cross-built for Debian 12 on aarch64; unit tests of formats and
# s390x     coding, run by qemu
# Without arguments: all.  What cannot be done here is reported, and skipped: no
# compiler, no network, not root.  MIRROR is one of Debian's (that of debootstrap),
# DIR (build/portable) keeps the roots, SUITES are the suites of debian11 (unit bats).
#
# LIMIT: seconds for each step of a root, 600.
set -u
cd "$(dirname "$0")/.." || exit 1
: "${MIRROR:=}" "${DIR:=build/portable}"
: "${LIMIT:=600}" "${SUITES:=unit:build/plain bats:build/plain}"
jobs=$(nproc 2>/dev/null || echo 1)
version=$(sed -n 's/^VERSION := //p' Makefile)
failed=0 passed=0

say() { printf '%-6s%s\n' "$1" "$2"; }
good() { say ok "$*" && passed=$((passed + 1)); }
bad() { say FAIL "$*" && failed=$((failed + 1)); }
skip() { say skip "$*"; }

# verdict WHAT FOUND: good if nothing was found that contradicts it.
verdict() {
	if [ -z "${2// /}" ]; then good "$1"; else bad "$1: but $2"; fi
}

# headers: headers of the libraries alone, without those of the C library.
headers() {
	local to=$PWD/$DIR/headers name

	rm -rf "$to" && mkdir -p "$to"
	for name in isa-l isa-l.h jansson.h jansson_config.h zlib.h zconf.h ini.h \
		openssl archive.h archive_entry.h hwloc hwloc.h; do
		[ ! -e "/usr/include/$name" ] ||
			ln -s "/usr/include/$name" "$to/$name"
	done
	# Debian has the parts that depend on the architecture elsewhere.
	mkdir "$to/arch" "$to/arch/openssl"
	find "/usr/include/$(cc -dumpmachine)" -maxdepth 2 \
		\( -path '*/openssl/*' -o -name 'hwloc*' -o -name 'zconf*' -o \
		-name jansson_config.h \) -type f | while read -r name; do
		case $name in
		*/openssl/*) ln -s "$name" "$to/arch/openssl" ;;
		*) ln -s "$name" "$to/arch" ;;
		esac
	done
	echo "$to"
}

compile_with() { # NAME COMPILER FLAG...
	local name=$1 out=$DIR/compile.log

	command -v "$2" >/dev/null || {
		skip "compile: no $2"
		return
	}
	shift
	if find lib cmd -name '*.c' ! -path 'lib/scr/*' ! -path 'lib/team/*' \
		-print0 |
		xargs -0 -n 20 -P "$jobs" "$@" -fsyntax-only -D_GNU_SOURCE \
			-DSCRKIT_VERSION='""' -DSCRKIT_SYSCONF='""' \
			-iquote lib -std=c11 -pedantic -Wall -Wextra -Werror \
			2>"$out"; then
		good "compile: $name"
	else
		bad "compile: $name: $(grep -m 1 error "$out")"
	fi
}

compile() {
	local from

	from=$(headers)
	# As the macros of glibc 2.28 would have it.
	printf '#include <features.h>\n#undef __GLIBC_MINOR__\n%s\n' \
		'#define __GLIBC_MINOR__ 28' >"$DIR/glibc-2.28.h"
	compile_with gcc gcc
	compile_with "gcc, as with glibc 2.28" gcc \
		-include "$PWD/$DIR/glibc-2.28.h"
	compile_with clang clang
	compile_with musl musl-gcc -idirafter "$from" -idirafter "$from/arch"
	for arch in aarch64 s390x; do
		compile_with "$arch" "$arch-linux-gnu-gcc" -idirafter "$from" \
			-idirafter "$from/arch"
	done
}

# Symbols of the C library whose oldest version is later than 2.28.  Those of
# stat() were macros before.
newer() {
	objdump -T "$1" | awk '
		{
			if (NF < 6)
				next
			v = $(NF - 1)
			gsub(/[()]/, "", v)
			if (v !~ /^GLIBC_2\./)
				next
			split(v, n, ".")
			if (!($NF in least) || n[2] < least[$NF])
				least[$NF] = n[2]
		}
		END {
			for (s in least)
				if (least[s] > 28 && s !~ /^l?f?stat(at)?(64)?$/)
					print s
		}'
}

# Macros of a later C library make calls of it, __isoc23_strtol() for example:
# what the sources name themselves counts.
symbols() {
	local libc list=$DIR/newer found

	command -v objdump >/dev/null || {
		skip "symbols: no objdump"
		return
	}
	make -s -j"$jobs" all >/dev/null || { bad "symbols: no build" && return; }
	libc=$(ldd build/plain/bin/scr_index | awk '$1 ~ /^libc\.so/ { print $3 }')
	newer "$libc" | grep -v '^__isoc23' | sort >"$list"
	found=$(objdump -T build/plain/bin/* build/plain/libscr.so |
		awk '/UND/ { print $NF }' | sort -u | comm -12 - "$list" | xargs)
	# Used if it is there.
	found=${found/posix_spawn_file_actions_addclosefrom_np/}
	verdict "symbols: nothing newer than glibc 2.28" "$found"
	found=$(objdump -T build/plain/bin/* build/plain/libscr.so |
		grep -o 'ZLIB_1\.2\.1[2-9]' | sort -u | xargs)
	verdict "symbols: nothing newer than zlib 1.2.11" "$found"
}

# --- Debian 11 ---

# root NAME ARGUMENT...: a root directory by debootstrap; its path in $root.
root() {
	root=$PWD/$DIR/$1
	[ ! -e "$root/.complete" ] || return 0
	if [ "$(id -u)" != 0 ] || ! command -v debootstrap >/dev/null; then
		skip "$1: needs root and debootstrap"
		return 1
	fi
	rm -rf "$root"
	mkdir -p "$DIR"
	if ! timeout "$LIMIT" debootstrap --variant=minbase "${@:2}" "$root" \
		${MIRROR:+"$MIRROR"} >"$root.log" 2>&1; then
		skip "$1: no debootstrap: $(tail -n 1 "$root.log")"
		return 1
	fi
}

# shellcheck disable=SC2016 # for sh
# inside COMMAND...: in $root, with devices and processes, in a namespace of its
# own.
inside() {
	timeout "$LIMIT" unshare --mount --pid --fork --kill-child sh -ec '
		root=$1 && shift
		mount --make-rprivate /
		mount --bind "$root" "$root" # for namespaces within
		mount -t proc proc "$root/proc"
		mount -t sysfs sys "$root/sys"
		mount --rbind /dev "$root/dev"
		mount -t tmpfs tmpfs "$root/tmp"
		exec chroot "$root" env -i HOME=/root LC_ALL=C.UTF-8 \
			PATH=/usr/local/sbin:/usr/sbin:/usr/bin:/sbin:/bin \
			"$@"' - "$root" "$@"
}

# The tests need a later bats, which is a set of shell scripts.
copy_bats() {
	local list=()

	mapfile -t list < <(cd / && find usr/bin/bats usr/lib/bats-core \
		usr/libexec/bats-core usr/lib/bats 2>/dev/null)
	tar -C / --no-recursion -cf - "${list[@]}" | tar -C "$root" -xf -
}

debian11() {
	local packages=(gcc make libc6-dev pkg-config libisal-dev libjansson-dev
		zlib1g-dev libinih-dev libssl-dev libarchive-dev libhwloc-dev
		libmpich-dev mpich procps cpio jq python3-jsonschema zstd xz-utils libarchive-tools
		python3 diffutils file git mksh strace)

	root debian11 bullseye || return
	if [ "${packages[*]}" != "$(cat "$root/.complete" 2>/dev/null)" ]; then
		inside env DEBIAN_FRONTEND=noninteractive apt-get -qq install -y \
			--no-install-recommends "${packages[@]}" \
			>>"$root.log" 2>&1 || {
			skip "debian11: no packages: $(tail -n 1 "$root.log")"
			return
		}
		copy_bats && echo "${packages[*]}" >"$root/.complete"
	fi
	# MPICH 3.4 looks up the name of its host; the tests of libscr pretend
	# to be some.
	echo "127.0.0.1 localhost $(uname -n) $(echo node{0..99})" \
		>"$root/etc/hosts"
	rm -rf "$root/src" && mkdir "$root/src"
	scripts/files.sh | tar --null -T - -cf - | tar -C "$root/src" -xf -
	inside sh -c "cd /src && make -j$jobs tests" >"$root.build" 2>&1 || {
		bad "debian11: build: $(grep -m 1 -E 'error|Error' "$root.build")"
		return
	}
	good "debian11: build"
	if inside sh -c "cd /src && testsuite/run.sh --quick $SUITES" \
		>"$root.tests" 2>&1; then
		good "debian11: $(tail -n 1 "$root.tests")"
	else
		grep -A 8 '^FAIL' "$root.tests" | sed '/^failed:/q'
		bad "debian11: $(tail -n 1 "$root.tests")"
	fi
}

# --- Packages ---

# left WHAT: files of ours that are still in $root.
left() {
	find "$root/usr" "$root/etc" \( -name 'scr_*' -o -name 'scrkit*' -o \
		-name 'libscr*' -o -name 'kvtree*' \) -not -path '*/dpkg/*' \
		-not -name 'scr_dump*' 2>/dev/null | head -n 3 | xargs
}

# try_package HOW REMOVE: what was installed in $root builds and runs MPI jobs,
# with a halt in the middle and a restart; then it is removed.
try_package() {
	local how=$1 found

	shift
	if ! inside env PKG_CONFIG_PATH=/usr/lib64/pkgconfig \
		sh -c 'cd /tmp && sh /usr/share/doc/scrkit/examples/libscr.sh' \
		>"$root.$how" 2>&1; then
		bad "packages: $how: $(tail -n 1 "$root.$how")"
		return
	fi
	good "packages: $how: installed; jobs run, are halted and restart"
	"$@" >>"$root.$how" 2>&1 || bad "packages: $how: not removed"
	found=$(left)
	verdict "packages: $how: removed, and nothing is left" "$found"
}

packages() {
	local package

	command -v dpkg-shlibdeps >/dev/null || {
		skip "packages: no dpkg-dev"
		return
	}
	root debian12 bookworm || return
	if [ ! -e "$root/.complete" ]; then
		if ! inside env DEBIAN_FRONTEND=noninteractive apt-get -qq \
			install -y --no-install-recommends gcc libc6-dev \
			pkg-config libmpich-dev mpich libhwloc-dev procps \
			>>"$root.log" 2>&1; then
			skip "packages: $(tail -n 1 "$root.log")"
			return
		fi
		touch "$root/.complete"
	fi
	# Of a run that was interrupted.
	inside dpkg --purge scrkit >>"$root.log" 2>&1
	! command -v rpm >/dev/null ||
		rpm --root "$root" -e --nodeps scrkit >>"$root.log" 2>&1
	package=$(scripts/package.sh deb "$version" 2>"$root.build" | tail -n 1)
	[ -e "$package" ] || { bad "packages: deb: $(tail -n 1 "$root.build")" && return; }
	cp "$package" "$root/scrkit.deb"
	inside env DEBIAN_FRONTEND=noninteractive apt-get -qq install -y \
		--no-install-recommends /scrkit.deb >>"$root.log" 2>&1 || {
		bad "packages: deb: not installed: $(tail -n 1 "$root.log")"
		return
	}
	try_package deb inside dpkg --purge scrkit
	command -v rpmbuild >/dev/null || {
		skip "packages: no rpmbuild"
		return
	}
	package=$(scripts/package.sh rpm "$version" 2>"$root.build" | tail -n 1)
	[ -e "$package" ] || { bad "packages: rpm: $(tail -n 1 "$root.build")" && return; }
	# The libraries are those that the other package has brought.
	rpm --root "$root" --nodeps -i "$package" >>"$root.log" 2>&1 || {
		bad "packages: rpm: not installed: $(tail -n 1 "$root.log")"
		return
	}
	inside ldconfig /usr/lib64 2>/dev/null
	try_package rpm rpm --root "$root" -e --nodeps scrkit
}

# --- Other processors ---

cross() { # ARCHITECTURE MACHINE TEST...
	local arch=$1 machine=$2 qemu=qemu-$2-static need test deb o

	shift 2
	for need in "$machine-linux-gnu-gcc" "$qemu"; do
		command -v "$need" >/dev/null || {
			skip "$arch: no $need"
			return
		}
	done
	# Its packages are unpacked, and nothing in it is run.
	root "$arch" --foreign --arch="$arch" --include=libc6-dev,libisal-dev,libjansson-dev,zlib1g-dev,libinih-dev,libssl-dev,libarchive-dev,libhwloc-dev \
		bookworm || return
	for deb in "$root"/var/cache/apt/archives/*.deb; do
		[ -e "$root/.complete" ] || dpkg-deb -x "$deb" "$root"
	done
	touch "$root/.complete"
	o=$DIR/$arch.build
	# Of MPI only the declarations are needed.
	make -s -j"$jobs" O="$o" STATIC=0 MPI_LIBS= \
		MPI_CFLAGS="$(mpicc -show 2>/dev/null | grep -o -e '-I[^ ]*' |
			xargs)" \
		CC="$machine-linux-gnu-gcc --sysroot=$root" \
		"${@/#/$o/test/}" >"$o.log" 2>&1 || {
		bad "$arch: build: $(grep -m 1 -E 'error|Error' "$o.log")"
		return
	}
	for test; do
		if timeout 600 "$qemu" -L "$root" "$o/test/$test" >"$o.out" 2>&1; then
			good "$arch: $test: $(grep -c '^ok' "$o.out") passed"
		else
			bad "$arch: $test: $(grep -m 1 '^not ok' "$o.out" || tail -n 1 "$o.out")"
		fi
	done
}

units=(t_kvtree t_kvscan t_kvwrite t_value t_crc t_code t_field16 t_cauchy
	t_scheme t_solve t_redset t_redset_name t_filemap t_index t_summary
	t_rank2file t_flush t_halt t_attr t_segmap t_path t_path_walk)

totals() { echo "$passed passed, $failed failed" | tee build/totals; }

main() {
	local name

	# Out of time: what was seen until then counts.
	trap 'totals; exit 124' TERM
	mkdir -p "$DIR"
	[ $# -gt 0 ] || set -- compile symbols debian11 packages arm64 s390x
	for name; do
		case $name in
		compile | symbols | debian11 | packages) "$name" ;;
		arm64) cross arm64 aarch64 "${existing[@]}" ;;
		s390x) cross s390x s390x "${existing[@]}" ;;
		*)
			echo "portable.sh: $name: see the head of this file" >&2
			exit 2
			;;
		esac
	done
	totals
	[ "$failed" = 0 ]
}

existing=()
for name in "${units[@]}"; do
	[ ! -e "testsuite/unit/$name.c" ] || existing+=("$name")
done
main "$@"
