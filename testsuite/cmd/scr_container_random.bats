#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# shellcheck disable=SC2164,SC2016 # plain names
# Random trees in random containers: pack, verify, repack, export and import,
# unpack; the result must be the same.  SCRKIT_SLOW makes more and larger ones.
# A failure prints the seed; RANDOM_SEED repeats it.

load helper

export GEN=${GEN:-$BIN/../gen}

setup() {
	cd "$BATS_TEST_TMPDIR" || return 1
	seed=${RANDOM_SEED:-$(date +%N | sed 's/^0*//')}
	echo "seed $seed"
	RANDOM=$seed
	names=(plain 'two words' 'ümläut' $'line\nfeed' '-dash' "quote'\"" \
		$'bad\xff\xfeutf' 'back\slash' '.hidden' '日本' '$(x)' '*?[')
}

# tree FILES CONTAINER LARGEST: make files below p, and a flushed dataset of
# them: rank2file and summary, no filemaps.  Many sizes are near the border of a
# container.
tree() {
	mkdir -p p/data/sub p/.scr/scr.dataset.1
	python3 - "$RANDOM" "$1" "$2" "$3" "${names[@]}" <<-'END'
	import os, random, subprocess, sys
	seed, files, container, largest = map(int, sys.argv[1:5])
	names = [os.fsencode(n) for n in sys.argv[5:]]
	random.seed(seed)
	noise = random.randbytes(1500000)
	ranks = 1 + files // 7
	below = random.randrange
	total = 0
	of = [[] for r in range(ranks)]
	for i in range(files):
	    name = (random.choice([b'data/', b'data/', b'data/sub/']) +
	            random.choice(names) + b'.%d' % i)
	    n = [0, 1, container - 1, container, container + 1,
	         below(container * 3 + 2), below(largest), below(largest)][below(8)]
	    with open(b'p/' + name, 'wb') as f:
	        f.write(noise[:n])
	        f.truncate(n)
	    os.chmod(b'p/' + name, 0o400 | below(512))
	    t = below(32768) * 10**9 + 1600000000 * 10**9 + below(10**9)
	    os.utime(b'p/' + name, ns=(t, t))
	    total += n
	    of[i % ranks].append(name)
	def pairs(depth, **values):
	    return [b' ' * (2 * i + depth) + str(word).encode()
	            for pair in values.items() for i, word in enumerate(pair)]
	def save(name, *lines):
	    subprocess.run([os.environ['GEN'] + '/gen_craft', '--output',
	                    'p/.scr/scr.dataset.1/' + name], check=True,
	                   input=b'\n'.join(sum(lines, [])) + b'\n')
	table = []
	for r in range(ranks):
	    table += [b'    %d' % r] + pairs(6, FILES=len(of[r]))
	    table += [b'      FILE'] if of[r] else []
	    table += [b'        ' + n.replace(b'\\', b'\\\\').replace(
	        b'\n', b'\\n') for n in of[r]]
	save('rank2file.0.0', pairs(2, RANKS=ranks, LEVEL=0), [b'  RANK'],
	     table)
	save('rank2file', pairs(2, RANKS=ranks, LEVEL=1, RANK=0),
	     pairs(6, OFFSET=0, FILE='.0.0'))
	save('summary.scr', pairs(2, VERSION=6, COMPLETE=1), [b'  DSET'],
	     pairs(4, ID=1, NAME='random', CREATED=1600000000000000,
	           FILES=files, SIZE=total, FLAG_CKPT=1, CKPT=1, COMPLETE=1))
	END
	scr_index -q -p p --add random
}

# Everything that must stay the same: contents, modes, times, owners, names.
state() {
	(cd "$1" && find data -type f -print0 | sort -z |
		xargs -0 -r sha256sum -z &&
		find data -type f -printf '%p %m %T@ %U %G %s\0' | sort -z) |
		tr '\0' '\n'
}

round() {
	local files=$1 container=$2 largest=$3 order again orders

	rm -rf p q back
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
	scr_container -q -p p repack --memory 64KB --size "$again" random
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

@test "one byte a container; no file at all, and one" {
	round 12 1 40
	round 0 1000 10
	round 1 1000 3000
}

@test "small trees, sizes at the borders; hundreds of files; few large ones" {
	for _ in 1 2; do
		round $((1 + RANDOM % 60)) $((2 + RANDOM % 5000)) 20000
	done
	round 6 $((200000 + RANDOM)) 2500000
	round 120 $((1000 + RANDOM)) 9000
}

@test "ten thousand files, and some hundred megabytes" {
	[[ -n ${SCRKIT_SLOW:-} ]] || skip "SCRKIT_SLOW is not set"
	round 1000 $((1000 + RANDOM)) 9000
	round 10000 $((100000 + RANDOM)) 20000
	round 12 50000000 300000000
	for _ in {1..20}; do
		round $((RANDOM % 200)) $((2 + RANDOM)) 60000
	done
}
