#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# shellcheck disable=SC2155,SC2164 # plain names
# Rebuilds inside containers: golden datasets, packed with their redundancy,
# lose files and whole containers, and are rebuilt in place to the listed
# hashes.

load golden

# Make p: case $1, built and packed in containers of $2 bytes.
packed() {
	rm -rf snap p
	snapshot "$1" scavenged snap
	mv snap/prefix p
	scr_index -q -p p --build 1
	renew p whole
	scr_container -q -p p pack --with-redundancy --size "$2" 1
	scr_container -q -p p verify 1
	CTR=p/.scr/scr.dataset.1/.scr
}

# After a repair: everything is right, and unpacked it is as before packing.
repaired() {
	scr_container -q -p p verify 1
	scr_rebuild -q -p p --deep --dry-run 1
	rm -rf out
	scr_container -q -p p extract -C out 1
	# As LLNL's rebuild lists the user files.
	diff <(sed -n 's,  prefix/,  ,; /  \.scr\//!p' \
		"$(golden "scr3/$1/rebuilt.sha256")" | sort) \
		<(cd out && find . -type f -print0 | xargs -0 sha256sum |
			sed 's,  \./,  ,' | sort)
	scr_container -q -p p unpack 1
	# Only the names of rank2file's parts may differ, and the time in the
	# index.
	diff -r p whole | grep -Ev 'rank2file|/index\.scr' >differ || true
	run cat differ
	assert_output_is ""
	diff <(plain_index whole/.scr/index.scr) <(plain_index p/.scr/index.scr)
	diff <(cd p && find . -type f ! -name 'rank2file*' ! -name 'index.*' \
		-exec stat -c '%n %a %u %g %s %Y' {} + | sort) \
		<(cd whole && find . -type f ! -name 'rank2file*' \
			! -name 'index.*' \
			-exec stat -c '%n %a %u %g %s %Y' {} + | sort)
}

# rescue CASE SIZE CONTAINER...: lose whole containers and rebuild them.
rescue() {
	local name

	packed "$1" "$2"
	for name in "${@:3}"; do
		[[ -e $CTR/$name ]]
		rm "$CTR/$name"
	done
	warns 3 "${3}: missing" scr_container -p p verify 1
	ends 3 scr_rebuild -p p --dry-run 1
	ends 0 scr_rebuild -p p 1
	repaired "$1"
}

@test "XOR: a container of data" { rescue xor_8n4 30000 ctr.2.scr; }
@test "XOR: a container of redundancy" { rescue xor_8n4 1000 red.3.scr; }
@test "XOR: small containers" { rescue xor_8n4 1000 ctr.0.scr ctr.20.scr; }
@test "XOR, uneven sets" { rescue xor_7_set3 9000 ctr.1.scr; }
@test "Reed-Solomon, two losses" { rescue rs2_8n4 30000 ctr.1.scr red.0.scr; }

@test "Reed-Solomon, three losses" {
	rescue rs3_8 20000 ctr.0.scr ctr.1.scr red.1.scr
}

@test "Reed-Solomon, four nodes" { rescue rs2_4 9000 ctr.0.scr ctr.3.scr; }
@test "PARTNER" { rescue partner_8n4 20000 ctr.0.scr; }

@test "one flipped byte in each of three containers" {
	packed rs2_8n4 60000
	flip "$CTR/ctr.0.scr" 100
	flip "$CTR/ctr.3.scr" 20000
	warns 3 "ctr.0.scr: checksum" scr_container -p p verify 1
	assert_stderr_has "ctr.3.scr: checksum"
	ends 0 scr_rebuild -p p --checksums 1
	repaired rs2_8n4
}

@test "a truncated container; scr_index --build" {
	packed xor_8n4 50000
	truncate -s 1234 "$CTR/ctr.4.scr"
	ends 3 scr_container -p p verify 1
	ends 0 scr_index -p p --build 1
	repaired xor_8n4
}

@test "the redundancy kept as files" {
	snapshot xor_8n4 scavenged snap
	mv snap/prefix p
	scr_index -q -p p --build 1
	cp -a p whole
	scr_container -q -p p pack --size 20000 1
	CTR=p/.scr/scr.dataset.1/.scr
	rm "$CTR/ctr.5.scr"
	ends 0 scr_rebuild -p p 1
	repaired xor_8n4
}

@test "too much is lost: refused, nothing changed" {
	packed xor_8n4 30000
	rm "$CTR"/ctr.[0-9].scr
	find p -type f -exec sha256sum {} + | sort >before
	ends 4 scr_container -p p verify 1
	ends 4 scr_rebuild -p p 1
	assert_stderr_has "cannot be rebuilt: " "members (ranks"
	diff before <(find p -type f -exec sha256sum {} + | sort)
}

@test "a rebuild in another place: the prefix has moved" {
	packed xor_8n4 30000
	rm "$CTR/ctr.1.scr"
	mkdir far
	mv p far/p
	mv far/p p2
	ends 0 scr_rebuild -p p2 1
	mv p2 p
	repaired xor_8n4
}
