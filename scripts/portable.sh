#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Does the toolkit build, and do its tests pass, on systems unlike this one?
#     scripts/portable.sh [compile] [symbols] [newcomer] [debian11] [packages]
#         [openmpi] [arm64] [s390x]
# compile   lib and cmd with gcc, clang, musl and two cross compilers, as C11
#           without extensions; only looked at
# symbols   the programs need nothing newer than glibc 2.28 and zlib 1.2.11
# newcomer  in a bare Debian, as a container image has it (minbase, make, git):
#           `make demo` and `make quick` from a clone in the home of root, and from
#           the archive of `make dist` by a user, who is told what to install, in a
#           directory with a blank.  SUITE is Debian's (bookworm and trixie, day by
#           day)
# debian11  in a root directory with Debian 11 (glibc 2.31, gcc 10, OpenSSL 1.1.1,
#           zlib 1.2.11, libarchive 3.4, MPICH 3.4), made by debootstrap: build,
#           and `make check` without sanitizers and valgrind
# packages  the packages of `make deb` and `make rpm`, but compiled without
#           optimisation: installed in a Debian 12, tried, removed
# openmpi   in a Debian 12 that has Open MPI and no MPICH: build, and tests of
#           libscr: those of `make quick`, other numbers and places of ranks
# arm64     cross-built for Debian 12 on aarch64; unit tests of formats and
# s390x     coding, run by qemu
# Without arguments: all.  What cannot be done here is reported, and skipped: no
# compiler, no network, not root.  MIRROR is one of Debian's (that of debootstrap),
# SUITES are the suites of debian11 (unit bats).  ROOTS (/var/cache/scrkit) keeps the
# roots as they are made, for 30 days; a run works in copies below DIR
# (build/portable).
#
# TARGETS are what a newcomer makes instead of demo and quick, with semicolons
# between them: TARGETS="check;install PREFIX=/tmp/scrkit".
# LIMIT: seconds for each step of a root, 900.  TOTALS (build/totals) is the file of the
# last line.
set -u
cd "$(dirname "$0")/.." || exit 1
: "${MIRROR:=}" "${DIR:=build/portable}"
: "${LIMIT:=900}" "${TARGETS:=demo;quick}" "${SUITES:=unit:build/plain bats:build/plain}"
export DISTDIR=$DIR/dist # another run makes its own
jobs=$(nproc 2>/dev/null || echo 1)
: "${TOTALS:=build/totals}" "${ROOTS:=${XDG_CACHE_HOME:-/var/cache}/scrkit}"
suites=(bookworm trixie)
: "${SUITE:=${suites[EPOCHSECONDS / 86400 % 2]}}"
version=$(sed -n 's/^VERSION := //p' Makefile)
failed=0 passed=0

say() { printf '%-6s%s\n' "$1" "$2"; }
good() { say ok "$*" && passed=$((passed + 1)); }
bad() { say FAIL "$*" && failed=$((failed + 1)); }
skip() { say skip "$*"; }

# doing WHAT: is said every 15 seconds until something else is done.
doing() { echo "$*" >"$DIR/doing"; }

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
	mkdir -p "$to/arch/openssl" "$to/arch/hwloc"
	ln -s "/usr/include/$(cc -dumpmachine)/hwloc/autogen" "$to/arch/hwloc"
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

# --- Root directories ---

# kept NAME PACKAGES ARGUMENT...: make $ROOTS/NAME by debootstrap with these
# arguments and install PACKAGES, unless it is there, and new enough.
kept() ( # a process of its own, for the lock
	root=$ROOTS/$1 packages=$2

	if [ "$(id -u)" != 0 ] || ! command -v debootstrap >/dev/null; then
		skip "$1: needs root and debootstrap"
		exit 1
	fi
	mkdir -p "$ROOTS"
	# Another run may be at it.
	exec 9>"$root.lock" && flock 9
	[ "$packages" != "$(cat "$root/.complete" 2>/dev/null)" ] ||
		[ -z "$(find "$root/.complete" -mtime -30)" ] || exit 0
	doing "$1: debootstrap"
	rm -rf "$root"
	if ! timeout "$LIMIT" debootstrap --variant=minbase "${@:3}" "$root" \
		${MIRROR:+"$MIRROR"} >"$root.log" 2>&1; then
		skip "$1: no debootstrap: $(tail -n 1 "$root.log")"
		exit 1
	fi
	# shellcheck disable=SC2086 # several words
	[ -z "$packages" ] || apt_get install $packages || {
		skip "$1: no packages: $(tail -n 1 "$root.log")"
		exit 1
	}
	echo "$packages" >"$root/.complete"
)

# copy NAME [AS]: a copy of that root, its path in $root.
copy() {
	root=$PWD/$DIR/${2-$1}
	rm -rf "$root"
	mkdir -p "$DIR" && cp -a --reflink=auto "$ROOTS/$1" "$root"
}

# shellcheck disable=SC2016 # for sh
# inside COMMAND...: in $root, with devices and processes, in a namespace of its
# own, which has no other root: users cannot have namespaces below a chroot.
inside() {
	timeout "$LIMIT" unshare --mount --pid --fork --kill-child sh -ec '
		root=$1 && shift
		mount --make-rprivate /
		mount --bind "$root" "$root"
		mount -t proc proc "$root/proc"
		mount -t sysfs sys "$root/sys"
		mount --rbind /dev "$root/dev"
		mount -t tmpfs -o mode=1777 tmpfs "$root/tmp"
		cd "$root"
		if pivot_root . mnt 2>/dev/null; then
			root=/
			umount -l /mnt
		fi
		exec chroot "$root" env -i HOME=/root LC_ALL=C.UTF-8 \
			PATH=/usr/local/sbin:/usr/sbin:/usr/bin:/sbin:/bin \
			"$@"' - "$root" "$@" 9>&-
}

# apt_get COMMAND...: in $root.
apt_get() {
	inside env DEBIAN_FRONTEND=noninteractive apt-get -qq \
		"$1" -y --no-install-recommends "${@:2}" >>"$root.log" 2>&1
}

# --- A newcomer ---

# as_root TARGET: in the clone in the home of root.  Compiled without optimisation, as
# the user has tried it with.
as_root() {
	inside env -u LC_ALL LANG=C CFLAGS=-O0 sh -c "cd && cd scrkit && make $1"
}

# as_user TARGET: from the archive.
as_user() {
	inside env -u LC_ALL LANG=C.UTF-8 HOME=/home/newcomer setpriv \
		--reuid newcomer --regid newcomer --init-groups \
		sh -c "cd ~/*/scrkit-* && make $1"
}

# silence FILE: copy the input to FILE; prints the longest time, in seconds, in
# which no line came.
silence() {
	local line last=$EPOCHSECONDS longest=0

	while IFS= read -r line; do
		((EPOCHSECONDS - last <= longest)) || longest=$((EPOCHSECONDS - last))
		last=$EPOCHSECONDS
		echo "$line"
	done >"$1"
	echo "$longest"
}

# tried WHO TARGET: it works for root or a user.
tried() {
	local begun=$EPOCHSECONDS out=$root.$1-${2//[^a-z-]/_} longest

	doing "newcomer: $SUITE: $1: make $2"
	if longest=$(set -o pipefail; "as_$1" "$2" 2>&1 | silence "$out"); then
		good "newcomer: $SUITE: $1: make $2: $(tail -n 1 "$out")" \
			"($((EPOCHSECONDS - begun)) s, at most $longest silent)"
	else
		grep -A 8 -E '^FAIL|^not ok' "$out" | head -n 40
		bad "newcomer: $SUITE: $1: make $2: $(tail -n 1 "$out")"
	fi
}

# A user has to be told what is missing: the command does it.
install_as_told() { # TARGET
	local said

	as_user "$1" >"$root.told" 2>&1 && return
	said=$(sed -n 's/^ *sudo \(apt-get .*\)/\1/p' "$root.told")
	if [ -z "$said" ]; then
		bad "newcomer: make $1: $(tail -n 1 "$root.told")"
		return 1
	fi
	said=${said//sudo /}
	doing "newcomer: $SUITE: ${said##*&& }"
	inside sh -c "${said//apt-get /apt-get -qq -y }" >>"$root.log" 2>&1 ||
		bad "newcomer: what it said cannot be done: $said"
}

newcomer() {
	local archive target home="a directory" targets

	IFS=';' read -ra targets <<<"$TARGETS"

	kept "$SUITE" "make git" "$SUITE" || return
	archive=$(make -s dist) || { bad "newcomer: no archive" && return; }
	copy "$SUITE" newcomer
	chmod 700 "$root/root"
	mkdir "$root/root/scrkit"
	if [ -e .git ]; then
		git clone -q --no-hardlinks . "$root/root/scrkit"
	else
		tar -C "$root/root/scrkit" --strip-components=1 -xzf "$archive"
	fi
	inside useradd -m newcomer
	mkdir "$root/home/newcomer/$home"
	tar -C "$root/home/newcomer/$home" -xzf "$archive"
	inside chown -R newcomer: /home/newcomer
	for target in "${targets[@]}"; do
		install_as_told "$target" && tried user "$target"
	done
	# Again bare: root installs what is missing without a word from him.
	mv "$root/root" "$DIR/newcomer.home"
	copy "$SUITE" newcomer
	rm -rf "$root/root" && mv "$DIR/newcomer.home" "$root/root"
	for target in "${targets[@]}"; do
		tried root "$target"
	done
	rm -rf "$root"
}

# --- Debian 11 ---

debian11=(gcc make libc6-dev pkg-config libisal-dev libjansson-dev zlib1g-dev
	libinih-dev libssl-dev libarchive-dev libhwloc-dev libmpich-dev mpich procps
	cpio jq python3-jsonschema zstd xz-utils libarchive-tools python3 diffutils
	file git mksh strace)

# The tests need a later bats, which is a set of shell scripts.
copy_bats() {
	local list=()

	mapfile -t list < <(cd / && find usr/bin/bats usr/lib/bats-core \
		usr/libexec/bats-core usr/lib/bats 2>/dev/null)
	tar -C / --no-recursion -cf - "${list[@]}" | tar -C "$root" -xf -
}

debian11() {
	kept debian11 "${debian11[*]}" bullseye || return
	copy debian11
	copy_bats
	# MPICH 3.4 looks up the name of its host; the tests of libscr pretend
	# to be some.
	echo "127.0.0.1 localhost $(uname -n) $(echo node{0..99})" \
		>"$root/etc/hosts"
	mkdir "$root/src"
	scripts/files.sh | tar --null -T - -cf - | tar -C "$root/src" -xf -
	doing "debian11: make tests"
	inside sh -c "cd /src && make -j$jobs CFLAGS='-O1 -g1' tests" >"$root.build" 2>&1 || {
		bad "debian11: build: $(grep -m 1 -E 'error|Error' "$root.build")"
		return
	}
	good "debian11: build"
	doing "debian11: $SUITES"
	if inside sh -c "cd /src && testsuite/run.sh --quick $SUITES" \
		>"$root.tests" 2>&1; then
		good "debian11: $(tail -n 1 "$root.tests")"
	else
		grep -A 8 '^FAIL' "$root.tests" | sed '/^failed:/q'
		bad "debian11: $(tail -n 1 "$root.tests")"
	fi
}

# --- Open MPI ---

read -ra openmpi <<<"$(printf '%s\n' "${debian11[@]}" libopenmpi-dev openmpi-bin \
	openssh-client python3-mpi4py | grep -v mpich | xargs)"

openmpi() {
	kept openmpi "${openmpi[*]}" bookworm || return
	copy openmpi
	copy_bats
	mkdir "$root/src"
	scripts/files.sh | tar --null -T - -cf - | tar -C "$root/src" -xf -
	doing "openmpi: make tests"
	inside sh -c "cd /src && make -j$jobs CFLAGS='-O1 -g1' tests" >"$root.build" 2>&1 || {
		bad "openmpi: build: $(grep -m 1 -E 'error|Error' "$root.build")"
		return
	}
	good "openmpi: build"
	{
		grep ^scr/ testsuite/quick
		echo scr/anyranks.bats
		echo scr/restart.bats permuted
		echo scr/python.bats mpi4py
	} >"$root/src/openmpi.list"
	doing "openmpi: tests of libscr"
	if inside sh -c "cd /src && testsuite/run.sh --quick --list openmpi.list \
		mpi:build/plain" >"$root.tests" 2>&1 &&
		! grep 'SKIP.*mpi4py' "$root.tests"; then
		good "openmpi: $(tail -n 1 "$root.tests")"
	else
		grep -A 8 '^FAIL' "$root.tests" | sed '/^failed:/q'
		bad "openmpi: $(tail -n 1 "$root.tests")"
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

debian12=(gcc libc6-dev pkg-config libmpich-dev mpich libhwloc-dev procps)

packages() {
	local package

	command -v dpkg-shlibdeps >/dev/null || {
		skip "packages: no dpkg-dev"
		return
	}
	kept debian12 "${debian12[*]}" bookworm || return
	copy debian12
	doing "packages: deb"
	package=$(CFLAGS='-O0 -g0' scripts/package.sh deb "$version" 2>"$root.build" | tail -n 1)
	[ -e "$package" ] || { bad "packages: deb: $(tail -n 1 "$root.build")" && return; }
	cp "$package" "$root/scrkit.deb"
	apt_get install /scrkit.deb || {
		bad "packages: deb: not installed: $(tail -n 1 "$root.log")"
		return
	}
	try_package deb inside dpkg --purge scrkit
	command -v rpmbuild >/dev/null || {
		skip "packages: no rpmbuild"
		return
	}
	doing "packages: rpm"
	package=$(CFLAGS='-O0 -g0' scripts/package.sh rpm "$version" 2>"$root.build" | tail -n 1)
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

foreign=(--foreign "--include=libc6-dev,libisal-dev,libjansson-dev,zlib1g-dev,libinih-dev,libssl-dev,libarchive-dev,libhwloc-dev")

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
	kept "$arch" "" "${foreign[@]}" --arch="$arch" bookworm || return
	root=$ROOTS/$arch
	[ -e "$root/.unpacked" ] || for deb in "$root"/var/cache/apt/archives/*.deb; do
		dpkg-deb -x "$deb" "$root"
	done
	touch "$root/.unpacked"
	doing "$arch: cross build"
	o=$DIR/$arch.build
	# Of MPI only the declarations are needed.
	make -s -j"$jobs" O="$o" CFLAGS=-O0 STATIC=0 SQLITE= MPI_LIBS= \
		MPI_CFLAGS="$(mpicc -show 2>/dev/null | grep -o -e '-I[^ ]*' |
			xargs)" \
		CC="$machine-linux-gnu-gcc --sysroot=$root" \
		"${@/#/$o/test/}" >"$o.log" 2>&1 || {
		bad "$arch: build: $(grep -m 1 -E 'error|Error' "$o.log")"
		return
	}
	# By the loader, as with -L "/" would be $root.
	for test; do
		if timeout 600 "$qemu" "$root/lib/$machine-linux-gnu"/ld*.so.? \
			--library-path "$root/lib/$machine-linux-gnu:$root/usr/lib/$machine-linux-gnu" \
			"$o/test/$test" >"$o.out" 2>&1; then
			good "$arch: $test: $(grep -c '^ok' "$o.out") passed"
		else
			bad "$arch: $test: $(grep -m 1 '^not ok' "$o.out" || tail -n 1 "$o.out")"
		fi
	done
}

units=(t_kvtree t_kvtree_value t_crc t_code t_field
	t_solve t_redset t_redset_table t_filemap t_index t_records
	t_rank2file t_segmap t_path t_path_walk)

totals() { echo "$passed passed, $failed failed" | tee "$TOTALS"; }

main() {
	local name

	# Out of time: what was seen until then counts.
	trap 'totals; exit 124' TERM
	mkdir -p "$DIR"
	while sleep 15 >/dev/null 2>&1; do
		say "" "... $(cat "$DIR/doing")"
	done &
	# shellcheck disable=SC2064 # now
	trap "kill $! 2>/dev/null" EXIT
	[ $# -gt 0 ] || set -- compile symbols newcomer debian11 packages \
		openmpi arm64 s390x
	for name; do
		doing "$name"
		case $name in
		compile | symbols | newcomer | debian11 | packages | openmpi)
			"$name"
			;;
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
