#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Build a package of the system's kind, as `make deb` and `make rpm` do:
#     scripts/package.sh deb|rpm VERSION
# The commands and libscr are linked with shared libraries, and built from the
# archive of `make dist`.  The path of the package is the last line of the output.
set -eu
cd "$(dirname "$0")/.."
kind=$1 version=$2
jobs=$(nproc 2>/dev/null || echo 1)
summary="keep the checkpoints of large MPI jobs safe"

deb() {
	local work=$PWD/build/package multiarch arch root

	multiarch=$(dpkg-architecture -qDEB_HOST_MULTIARCH)
	arch=$(dpkg --print-architecture)
	rm -rf "$work" && mkdir -p "$work"
	tar -C "$work" -xzf "$(make -s dist)"
	cd "$work/scrkit-$version"
	root=$work/root
	make -j"$jobs" STATIC=0 PREFIX=/usr LIBDIR="/usr/lib/$multiarch" \
		DESTDIR="$root" install
	mkdir -p debian "$root/DEBIAN"
	printf 'Source: scrkit\n\nPackage: scrkit\nArchitecture: any\n' \
		>debian/control
	find "$root/usr/bin" "$root/usr/lib" -type f \( -perm /1 -o -name '*.so*' \) \
		-print0 | xargs -0 strip --strip-unneeded
	find "$root/usr/share/man" -type f -exec gzip -9n {} +
	find "$root/usr/share/man" -type l | while read -r link; do
		ln -s "$(readlink "$link").gz" "$link.gz" && rm "$link"
	done
	cat >"$root/DEBIAN/control" <<-END
		Package: scrkit
		Version: $version
		Architecture: $arch
		Maintainer: scrkit
		Section: admin
		Priority: optional
		Depends: $(dpkg-shlibdeps -O "$root"/usr/bin/* \
			"$root/usr/lib/$multiarch"/libscr.so.*.*.* 2>/dev/null |
			sed 's/^shlibs:Depends=//')
		Suggests: pdsh, openssh-client
		Description: $summary
		 Commands and a library for checkpoints in node-local storage, with
		 redundancy across nodes; byte-compatible with LLNL's SCR 3.1.
	END
	mkdir -p "$work/../deb"
	cd "$work/../deb"
	dpkg-deb --build --root-owner-group "$root" . >/dev/null
	echo "$PWD/scrkit_${version}_$arch.deb"
}

rpm() {
	local to=$PWD/build/rpm other=

	# rpmbuild takes no directory with a blank in its path.
	top=$(mktemp -d /var/tmp/scrkit-rpm.XXXXXX)
	trap 'rm -rf "$top"' EXIT
	mkdir -p "$top/SOURCES" "$top/SPECS" "$to"
	cp "$(make -s dist)" "$top/SOURCES"
	sed "s/@VERSION@/$version/" share/packages/scrkit.spec.in \
		>"$top/SPECS/scrkit.spec"
	# On a system of another kind the build requirements are no packages of
	# this one.
	command -v dpkg >/dev/null && other=--nodeps
	rpmbuild -bb ${other:+"$other"} --define "_topdir $top" \
		--define "jobs $jobs" "$top/SPECS/scrkit.spec" >&2
	cp "$top"/RPMS/*/*.rpm "$to"
	find "$to" -name "scrkit-$version-*.rpm"
}

case $kind in
deb | rpm) "$kind" ;;
*) echo "usage: package.sh deb|rpm VERSION" >&2 && exit 2 ;;
esac
