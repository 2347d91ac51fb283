#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# shellcheck disable=SC2086,SC2164 # words
# Datasets as archives: scr_container export and import, by scr_archive.

load helper

# Make p: four ranks with four files each, some with unusual names; indexed.
setup_file() {
	cd "$BATS_FILE_TMPDIR" || return 1
	built p 1 -n 4 -f 4 -s 3K,900
	scr_container -q -p p export -o ar 1
}

dataset() {
	cp -a "$BATS_FILE_TMPDIR/p" .
}

# no_file_below PREFIX
no_file_below() {
	prints "" find "$1" -type f
}

# refused ARCHIVE [TEXT]: import ends with 1 and a message with TEXT, and leaves
# nothing on prefix q.
refused() {
	rm -rf q
	mkdir q
	ends 1 scr_container -p q import "$1"
	assert_stderr_has "${@:2}"
	no_file_below q
}

# All user files below $1: hash, mode, time, name.
files_of() {
	(cd "$1" && find ckpt.1 -type f -exec sha256sum {} + | sort &&
		find ckpt.1 -type f -printf '%p %m %U %G %T@\n' | sort)
}

@test "usage errors" {
	for args in "" "frob 1" export import "export 1 2" "export --force 1" \
		"import --compress zstd x" "-p p export -o x --format zip 1" \
		"export -n -p p 1"; do
		try scr_archive $args
		assert_usage_error
	done
	assert_stderr_has "--force and --dry-run"
	dataset
	warns 2 "lzma" scr_archive -p p export -o x --compress lzma 1
	[[ ! -e x ]]
}

@test "no such dataset, no such archive, not an archive" {
	dataset
	warns 1 "no dataset" scr_container -p p export -o x 7
	ends 1 scr_container -p p import nothing
	echo "this is no archive" >text
	refused text
}

@test "every compression: export, plain tools, import" {
	dataset
	files_of p >before
	scr_container -q -p p pack --size 5000 1
	for filter in none gzip xz zstd; do
		rm -rf ar q t
		scr_container -q -p p export --compress "$filter" \
			--with-redundancy -o ar 1
		mkdir q t
		shows "imported" scr_container -p q import ar
		scr_index -q -p q --verify --checksums --deep
		diff before <(files_of q)
		# Other tools can read it.
		if command -v bsdtar >/dev/null; then
			(cd t && bsdtar xf ../ar &&
				sha256sum --quiet -c .scr/scr.dataset.1/manifest.sha256)
			diff <(cut -d ' ' -f 1 before) <(files_of t | cut -d ' ' -f 1)
		fi
	done
}

@test "tar alone makes a dataset of it; through a pipe" {
	dataset
	files_of p >before
	scr_container -q -p p pack --size 7000 1
	mkdir t
	scr_container -q -p p export 1 | tar xf - -C t
	(cd t && sha256sum --quiet -c .scr/scr.dataset.1/manifest.sha256)
	diff before <(files_of t)
	ends 0 scr_index -p t --build 1
	scr_index -q -p t --verify --checksums
	rm -rf p q
	dataset
	files_of p >before
	mkdir q
	scr_container -p p export --compress zstd 1 |
		scr_container -q -p q import -
	diff before <(files_of q)
	prints ckpt.1 scr_index -p q --names-only
}

@test "one flipped byte, a cut: refused, and nothing gets a name" {
	dataset
	cp "$BATS_FILE_TMPDIR/ar" .
	size=$(stat -c %s ar)
	cp ar bad
	damage bad 2500 $'\377'
	refused bad
	for cut in 0 511 5000 $((size - 12000)); do
		head -c "$cut" ar >bad
		refused bad
	done
}

@test "crafted archives: nothing outside, nothing unlisted" {
	dataset
	scr_container -q -p p export 1 | tar xf - --one-top-level=t
	touch outside
	# An entry that leaves the prefix.
	tar cf up.tar -C t --transform 's,^ckpt.1/rank_0_0,../../rank_0_0,' \
		-P ckpt.1 .scr
	# A file that is not in the manifest.
	echo more >t/ckpt.1/more
	tar cf more.tar -C t ckpt.1 .scr
	rm t/ckpt.1/more
	# A missing file.
	rm t/ckpt.1/rank_1_1.ckpt
	tar cf less.tar -C t ckpt.1 .scr
	# A link in place of a file.
	ln -s ../../outside t/ckpt.1/rank_1_1.ckpt
	tar cf link.tar -C t ckpt.1 .scr
	rm t/ckpt.1/rank_1_1.ckpt
	# Files in .scr, which belong to no dataset.
	mkdir -p x/.scr
	cp t/.scr/scr.dataset.1/summary.scr x/.scr/index.scr
	tar cf index.tar -C x .scr
	# 33.24: a file that occurs again.
	scr_container -q -p p export -o twice.tar 1
	tar rf twice.tar -C p ckpt.1/rank_0_0.ckpt ckpt.1/rank_1_1.ckpt
	# 33.24: a hole of 2^50 bytes.
	python3 - huge.tar <<-'END'
		import struct, sys, tarfile
		name, size = b"ckpt.1/rank_0_0.ckpt", 1 << 50
		pax = b"".join(b"%d %s\n" % (len(r) + 4, r) for r in (
		    b"GNU.sparse.major=1", b"GNU.sparse.minor=0",
		    b"GNU.sparse.name=" + name, b"GNU.sparse.realsize=%d" % size))
		out = b""
		for kind, data in (b"x", pax), (b"0", b"0\n".ljust(512, b"\0")):
		    t = tarfile.TarInfo("x")
		    t.size, t.type = len(data), kind
		    out += t.tobuf(tarfile.USTAR_FORMAT)
		    out += data.ljust(-len(data) // 512 * -512, b"\0")
		open(sys.argv[1], "wb").write(out + bytes(1024))
	END
	while IFS=: read -r a text; do
		refused "$a.tar" "$text"
		[[ ! -s outside && ! -e rank_0_0.ckpt ]]
	done <<-END
		up:not a clean relative path
		more:more: is not in the manifest
		less:lacks 1 file of its manifest
		link:a link
		index:unexpected file
		twice:ckpt.1/rank_0_0.ckpt: occurs twice
		huge:needed for ckpt.1/rank_0_0.ckpt
	END
}

@test "import -n checks the archive, and changes nothing" {
	dataset
	scr_archive export -q -p p --with-redundancy -o ar 1
	mkdir q
	find q -exec stat -c '%n %s' {} + >before
	shows "ar: dataset 1, 16 files;can be imported" scr_archive import -n -p q ar
	find q -exec stat -c '%n %s' {} + | diff before -
	cp ar cut
	damage cut 3000 X
	ends 1 scr_archive import --dry-run -p q cut
	find q -exec stat -c '%n %s' {} + | diff before -
	warns 1 "has a dataset 1 already" scr_container -p p import -n ar
	shows "can be imported" scr_container -p p import -n -f ar
}

@test "existing files: equal ones are adopted, others not replaced" {
	dataset
	scr_container -q -p p export -o ar 1
	ends 1 scr_container -p p import ar
	assert_stderr_one_line "the index has a dataset 1 already (--force replaces it)"
	[[ $stderr != *"File exists"* ]]
	mkdir -p q/ckpt.1
	cp p/ckpt.1/rank_2_1.ckpt q/ckpt.1/
	ends 0 scr_container -p q import ar
	rm -rf q
	mkdir -p q/ckpt.1
	echo other >q/ckpt.1/rank_2_1.ckpt
	warns 1 "rank_2_1.ckpt: exists" scr_container -p q import ar
	[[ $stderr != *"File exists"* ]]
	[[ $(cat q/ckpt.1/rank_2_1.ckpt) == other ]]
	ends 0 scr_container -p q import --force ar
	cmp q/ckpt.1/rank_2_1.ckpt p/ckpt.1/rank_2_1.ckpt
	ends 0 scr_container -p q import --force ar
}

@test "a damaged dataset is not exported; one that is not indexed has its summary's name" {
	dataset
	scr_container -q -p p pack --size 5000 1
	damage p/.scr/scr.dataset.1/.scr/ctr.1.scr 77 X
	ends 3 scr_container -p p export -o ar 1
	[[ ! -e ar && ! -e ar.part ]]
	rm -rf p
	dataset
	scr_index -q -p p --drop ckpt.1
	shows "ckpt.1: 16 files" scr_archive -p p export -o ar 1
	[[ $output != *scr.dataset* ]]
}
