#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# shellcheck disable=SC2154,SC2030,SC2031 # bats sets them
# scr_inspect --html and --svg: a dataset as a picture.

load helper

: "${GEN:=$BIN/../gen}"

setup() {
	cd "$BATS_TEST_TMPDIR" || return 1
	in_no_job
}

# dataset PREFIX OPTION...
dataset() {
	"$GEN/gen_dataset" -q -p "$1" -s 300 "${@:2}"
}

# page PREFIX STATUS: the page of dataset 1, in PREFIX.html.
page() {
	try scr_inspect -q -p "$1" --html "$1.html" 1
	assert_status "$2"
	[[ -z $stderr ]] || failed "messages"
	well_formed "$1.html"
}

# Elements are closed, there are no scripts, and nothing is loaded.
well_formed() {
	python3 - "$1" <<-'END'
		import sys, xml.etree.ElementTree as tree
		text = open(sys.argv[1], encoding="utf-8").read()
		top = tree.fromstring(text)
		for e in top.iter():
		    name = e.tag.split("}")[-1]
		    assert name not in ("script", "link", "img", "iframe"), name
		    for key in e.attrib:
		        assert not key.startswith("on") and key not in (
		            "src", "href"), key
		assert "url(http" not in text and "@import" not in text
	END
}

# rows FILE: the lines of the map, as "NAME: CELL CELL ...", a cell being the
# class and the text.
rows() {
	python3 - "$1" <<-'END'
		import sys, xml.etree.ElementTree as tree
		top = tree.parse(sys.argv[1]).getroot()
		for e in top.iter("div"):
		    c = e.get("class", "").split()
		    if c[:1] != ["row"]:
		        continue
		    cells = [s.get("class").split()[1] + s.text
		             for s in e.find("div").iter("span")]
		    print(e.find("span").text.strip() +
		          ("!" if "vital" in c else "") + ":", *cells)
	END
}

# measure FILE WIDTH: "SCROLLWIDTH HEIGHT ROWS" of the page in Chromium.
measure() {
	cat >"frame.html" <<-END
		<body><iframe width="$2" height="800" src="$1" style="border:0"
		onload="const d = this.contentDocument;
		document.body.textContent = 'measured ' +
		[d.documentElement.scrollWidth, d.documentElement.scrollHeight,
		d.querySelectorAll('.row').length].join(' ')"></iframe></body>
	END
	timeout 60 chromium --headless --no-sandbox --disable-gpu \
		--user-data-dir="$PWD/chromium" --allow-file-access-from-files \
		--virtual-time-budget=5000 --dump-dom "file://$PWD/frame.html" \
		2>/dev/null | sed -n 's/.*measured \([0-9 ]*\).*/\1/p'
}

@test "a lost node is a row of holes; what must not be lost next is marked" {
	dataset p -n 8 -m 4 -t XOR --lose 2
	page p 3
	rows p.html | diff - <(
		cat <<-'END'
			node 2: r4 ○ r5 ○
			node 0!: w0 w1
			node 1!: w2 w3
			node 3!: w6 w7
		END
	)
	grep -q 'class="state r">damaged<' p.html
	grep -q 'next: <code>scr_index -p p --build 1</code>' p.html
	grep -q '(3 of 4), the dataset is lost' p.html
	scr_index -q -p p --build 1
	page p 0
	grep -q 'class="state w">whole<' p.html
	grep -q 'any one node may be lost' p.html
	[[ $(rows p.html) != *[!w]!:* ]]
	[[ $(rows p.html) != *'!'* ]]
}

@test "lost ranks, and a scheme without redundancy" {
	dataset p -n 8 -m 4 -t XOR --lose 1,2
	page p 4
	[[ $(rows p.html | sed -n 2p) == "node 2: l4 ✕ l5 ✕" ]]
	grep -q 'class="state l">lost<' p.html
	dataset q -n 4 -m 4 -t SINGLE
	page q 0
	rows q.html | diff - <(echo 'each by itself: w0 w1 w2 w3')
}

@test "caches: a row for each node, with its name" {
	dataset p -n 4 -m 2 -t XOR --layout cache --nodes-dir nodes
	try scr_inspect -q --html p.html nodes
	assert_status 0
	well_formed p.html
	[[ $(rows p.html | wc -l) == 2 ]]
	rows p.html | grep -q '/.*: w0 w1'
}

@test "names that look like HTML, and a log with them" {
	dataset p -n 2 -m 2 -t XOR --name '<b>&"x"' --dir 'a<b'
	scr_index -q -p p --build 1
	printf '%s\n' \
		'2026-11-20T22:53:22: host=<i>, jobid=1, event=NODE_FAIL, note="</p>&"' \
		'2026-11-20T22:53:23: host=n, jobid=1, event=CHECKPOINT_END, dset=1, name="<x>", secs=1.0' \
		>p/.scr/log
	page p 0
	grep -q '&lt;b&gt;&amp;' p.html
	grep -q 'class="fail" style="left:0.0%" title="2026-11-20 22:53:22 NODE_FAIL on &lt;i&gt;' p.html
	grep -q 'class="mark this" style="left:100.0%"' p.html
	for broken in '' $'\n\n' 'nonsense' "$(head -c 3000 /dev/urandom | tr -d '\0')"; do
		printf '%s' "$broken" >p/.scr/log
		page p 0
	done
}

@test "a packed dataset: its containers, and a lost one" {
	dataset p -n 8 -m 4 -t XOR -s 30000
	scr_index -q -p p --build 1
	scr_container pack -q -p p --size 50K 1
	page p 0
	grep -q '<svg xmlns' p.html
	rm "$(find p -name ctr.1.scr)"
	page p 4
	grep -q '>missing<' p.html
}

@test "--svg of a dataset that is not packed: its ranks" {
	dataset p -n 200 -m 100 -t XOR --lose 3
	try scr_inspect -p p --svg p.svg 1
	assert_status 3
	well_formed p.svg
	[[ $(grep -c '<title>rank [0-9]*: ' p.svg) == 200 ]]
	[[ $(grep -c '<title>rank [0-9]*: to be rebuilt' p.svg) == 2 ]]
}

@test "to standard output, and wrong calls" {
	dataset p -n 4 -m 4
	scr_inspect -q -p p --html - 1 >out.html
	well_formed out.html
	try scr_inspect -p p --html x.html --json 1
	assert_status 0
	well_formed x.html
	try scr_inspect -p p --html - --json 1
	assert_usage_error "standard output"
	dataset p -n 4 -m 4 -i 2
	try scr_inspect -p p --html x.html
	assert_status 2
	assert_stderr_one_line "no dataset given"
	try scr_inspect --html x.html p/.scr/flush.scr
	assert_status 2
	mkdir d
	try scr_inspect -p p --html d 1
	assert_status 2
	[[ -z $(ls d) ]]
}

@test "10,000 ranks: what is whole is folded" {
	dataset p -n 10000 -m 1250 -t XOR --set-size 10 -s 20 --lose 17
	page p 3
	[[ $(rows p.html | wc -l) == 10 ]]
	rows p.html | grep -q 'sets 17-1000: w9840 ranks, all whole'
	(($(stat -c %s p.html) < 100000))
}

@test "in Chromium: 8, 64, 1,000 and 10,000 ranks, at widths of 400 and 1200" {
	local n width height lines

	command -v chromium >/dev/null || skip "no chromium"
	for n in 8 64 1000 10000; do
		dataset $n -n $n -m $((n / 4)) -t XOR --set-size 8 -s 20 \
			--lose 1
		page $n 3
		for want in 400 1200; do
			read -r width height lines <<<"$(measure $n.html $want)"
			# Less than all by a scroll bar, and not more.
			((width <= want && width > want - 20)) ||
				failed "$n ranks: $width pixels wide, not $want"
			((height > 300 && height < 40000)) ||
				failed "$n ranks: $height pixels high"
			((lines == $(rows $n.html | wc -l)))
		done
	done
}
