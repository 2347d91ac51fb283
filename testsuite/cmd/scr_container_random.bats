#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# shellcheck disable=SC2154,SC2164,SC2016 # bats sets them; plain names
# Random trees in random containers: pack, verify, repack, export and import,
# unpack; the result must be the same.  SCRKIT_SLOW makes more and larger ones.
# A failure prints the seed; RANDOM_SEED repeats it.

load helper

: "${GEN:=$BIN/../gen}"

setup()
{
	cd "$BATS_TEST_TMPDIR" || return 1
	seed=${RANDOM_SEED:-$(date +%N | sed 's/^0*//')}
	echo "seed $seed"
	RANDOM=$seed
	names=(plain 'two words' 'ümläut' $'line\nfeed' '-dash' "quote'\"" \
		$'bad\xff\xfeutf' 'back\slash' '.hidden' '日本' '$(x)' '*?[')
}

# A random number below $1; RANDOM has only 15 bits.
below()
{
	echo $(((RANDOM << 15 | RANDOM) % $1))
}

# A random size, often near the border of a container of $1 bytes.
size()
{
	case $((RANDOM % 8)) in
	0) echo 0 ;;
	1) echo 1 ;;
	2) echo $(($1 - 1)) ;;
	3) echo "$1" ;;
	4) echo $(($1 + 1)) ;;
	5) below $(($1 * 3 + 2)) ;;
	*) below "$3" ;;
	esac
}

# tree FILES CONTAINER LARGEST: make files below p, and a flushed dataset of
# them: rank2file and summary, no filemaps.
tree()
{
	local d=p/.scr/scr.dataset.1 i name ranks=$((1 + $1 / 7)) total=0 n r

	mkdir -p p/data/sub "$d"
	head -c 4000000 /dev/urandom >noise
	printf '  RANKS\n    %d\n  RANK\n' "$ranks" >ranks
	for ((r = 0; r < ranks; r++)); do
		: >"r.$r"
	done
	for ((i = 0; i < $1; i++)); do
		name="data/${names[RANDOM % ${#names[@]}]}.$i"
		[[ $((RANDOM % 3)) != 0 ]] || name="data/sub/${name#data/}"
		n=$(size "$2" x "$3")
		head -c "$n" noise >"p/$name"
		[[ $n -le 4000000 ]] || truncate -s "$n" "p/$name"
		chmod "$(printf '%o' $((0400 | RANDOM % 512)))" "p/$name"
		touch -d "@$((1600000000 + RANDOM)).$((RANDOM + 100000000))" \
			"p/$name"
		total=$((total + n))
		printf '%s\0' "$name" >>"r.$((i % ranks))"
	done
	python3 - "$ranks" "$1" "$total" <<-'END'
	import struct, sys, zlib
	ranks, files, total = map(int, sys.argv[1:4])
	def node(t):
	    out = struct.pack('>I', len(t))
	    for k, v in t:
	        out += k + b'\0' + node(v)
	    return out
	def leaf(v):
	    return [(str(v).encode(), [])]
	def save(name, t):
	    body = node(t)
	    head = struct.pack('>IHHQI', 0x951fc3f5, 1, 1, len(body) + 24, 1)
	    raw = head + body
	    raw += struct.pack('>I', zlib.crc32(raw))
	    open('p/.scr/scr.dataset.1/' + name, 'wb').write(raw)
	table = []
	for r in range(ranks):
	    names = open('r.%d' % r, 'rb').read().split(b'\0')[:-1]
	    entry = [(b'FILES', leaf(len(names)))]
	    if names:
	        entry.append((b'FILE', [(n, []) for n in names]))
	    table.append((str(r).encode(), entry))
	save('rank2file.0.0', [(b'RANKS', leaf(ranks)), (b'RANK', table),
	                       (b'LEVEL', leaf(0))])
	save('rank2file', [(b'RANKS', leaf(ranks)), (b'RANK', [(b'0', [
	    (b'OFFSET', leaf(0)), (b'FILE', leaf('.0.0'))])]),
	    (b'LEVEL', leaf(1))])
	desc = [(b'ID', leaf(1)), (b'NAME', leaf('random')),
	        (b'CREATED', leaf(1600000000000000)), (b'FILES', leaf(files)),
	        (b'SIZE', leaf(total)), (b'FLAG_CKPT', leaf(1)),
	        (b'CKPT', leaf(1)), (b'COMPLETE', leaf(1))]
	save('summary.scr', [(b'VERSION', leaf(6)), (b'COMPLETE', leaf(1)),
	                     (b'DSET', desc)])
	END
	scr_index -q -p p --add random
}

# Everything that must stay the same: contents, modes, times, owners, names.
state()
{
	(cd "$1" && find data -type f -print0 | sort -z |
		xargs -0 -r sha256sum -z &&
		find data -type f -printf '%p %m %T@ %U %G %s\0' | sort -z) |
		tr '\0' '\n'
}

round()
{
	local files=$1 container=$2 largest=$3 order again orders

	rm -rf p q back r.* ranks
	tree "$files" "$container" "$largest"
	state p >before
	orders=(node rank name)
	order=${orders[RANDOM % 3]}
	again=$((1 + container * (1 + RANDOM % 5) / 2))
	echo "$files files, containers of $container ($order), then $again"
	scr_container -q -p p pack --size "$container" --order "$order" \
		-j $((1 + RANDOM % 4)) random
	scr_container -q -p p verify random
	scr_index -q -p p --verify --checksums
	scr_container -q -p p repack --size "$again" random
	scr_container -q -p p verify random
	scr_container -q -p p extract -C back random
	diff before <(state back)
	scr_container -q -p p export -o ar random
	mkdir q
	scr_container -q -p q import ar
	diff before <(state q)
	scr_container -q -p p unpack random
	diff before <(state p)
	scr_index -q -p p --verify --checksums
}

@test "one byte a container" {
	round 12 1 40
}

@test "no file at all, and one" {
	round 0 1000 10
	round 1 1000 3000
}

@test "small trees, sizes at the borders" {
	for _ in 1 2 3; do
		round $((1 + RANDOM % 60)) $((2 + RANDOM % 5000)) 20000
	done
}

@test "hundreds of files" {
	round 250 $((1000 + RANDOM)) 9000
}

@test "few large files" {
	round 6 $((700000 + RANDOM)) 9000000
}

@test "ten thousand files, and some hundred megabytes" {
	[[ -n ${SCRKIT_SLOW:-} ]] || skip "SCRKIT_SLOW is not set"
	round 1000 $((1000 + RANDOM)) 9000
	round 10000 $((100000 + RANDOM)) 20000
	round 12 50000000 300000000
	for _ in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
		round $((RANDOM % 200)) $((2 + RANDOM)) 60000
	done
}
