#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# shellcheck disable=SC2086,SC2206
# scr_inspect --html and --svg: a dataset as a picture.

load helper

# dataset PREFIX OPTION...
dataset() {
	gen -p "$1" -s 300 "${@:2}"
}

# page PREFIX STATUS: the page of dataset 1, in PREFIX.html.
page() {
	ends "$2" scr_inspect -q -p "$1" --html "$1.html" 1
	[[ -z $stderr ]] || failed "messages"
	well_formed "$1.html"
}

# Elements are closed, there are no scripts, and nothing is loaded.  The rows of
# ranks go to FILE.rows, as "NAME: CELL CELL ...", a cell being the class and the
# text.
well_formed() {
	python3 - "$1" >"$1.rows" <<-'END'
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
		rows = []
		for e in top.iter():
		    tag, style = e.tag.split("}")[-1], e.get("class", "")
		    if tag == "text" and style == "side" and e.text:
		        rows.append([e.text, ""])
		    elif tag == "g" and e[1].get("class") in ("w", "d", "r", "l"):
		        rows[-1][1] += " " + e[1].get("class") + e[2].text
		for name, cells in rows:
		    print(name + ":" + cells)
	END
}

# measure FILE...: "WIDTH SCROLLWIDTH HEIGHT ROWS" of each page at widths of 400
# and 1200 in Chromium, which is slow to start.
measure() {
	local file width

	for file; do
		for width in 400 1200; do
			printf '<iframe src="%s" width="%d" height="800"></iframe>\n' \
				"$file" "$width"
		done
	done >frames.html
	cat >>frames.html <<-'END'
		<script>onload = () => document.body.textContent =
		[...document.querySelectorAll('iframe')].map(frame => {
		const d = frame.contentDocument;
		return '\nmeasured ' + [frame.width, d.documentElement.scrollWidth,
		d.documentElement.scrollHeight,
		[...d.querySelectorAll('.side')].filter(t => t.textContent).length
		].join(' ')}).join('') + '\n'
		</script>
	END
	timeout 120 chromium --headless --no-sandbox --disable-gpu \
		--user-data-dir="$PWD/chromium" --allow-file-access-from-files \
		--virtual-time-budget=5000 --dump-dom "file://$PWD/frames.html" \
		2>/dev/null | sed -n 's/.*measured \([0-9 ]*\).*/\1/p'
}

@test "a lost node is a row of holes; what must not be lost next is marked" {
	dataset p -n 8 -m 4 -t XOR --lose 2
	page p 3
	diff p.html.rows <(
		cat <<-'END'
			node 2: r4 ○ r5 ○
			! node 0: w0 w1
			! node 1: w2 w3
			! node 3: w6 w7
		END
	)
	grep -q 'class="state r">damaged<' p.html
	grep -q 'next: <code>scr_index -p p --build 1</code>' p.html
	grep -q '(3 of 4), the dataset is lost' p.html
	scr_index -q -p p --build 1
	page p 0
	grep -q 'class="state w">whole<' p.html
	grep -q 'any one node may be lost' p.html
	[[ $(cat p.html.rows) != *'!'* ]]
}

@test "lost ranks, a scheme without redundancy; caches: a row for each node" {
	dataset p -n 8 -m 4 -t XOR --lose 1,2
	page p 4
	[[ $(sed -n 2p p.html.rows) == "node 2: l4 ✕ l5 ✕" ]]
	grep -q 'class="state l">lost<' p.html
	dataset q -n 4 -m 4 -t SINGLE
	page q 0
	diff q.html.rows <(echo 'each by itself: w0 w1 w2 w3')
	rm -r p*
	dataset p -n 4 -m 2 -t XOR --layout cache --nodes-dir nodes
	ends 0 scr_inspect -q --html p.html nodes
	well_formed p.html
	[[ $(wc -l <p.html.rows) == 2 ]]
	grep -q 'node 0: w0 w1' p.html.rows
	grep -q '<text class="dim"[^>]*>nodes/.*/scr.dataset.1</text>' p.html
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
	grep -q '<title>2026-11-20 22:53:22 NODE_FAIL on &lt;i&gt;: &lt;/p&gt;&amp;</title><rect class="fail" x="3.00%"' p.html
	grep -q '<rect class="mark this" x="97.00%"' p.html
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
	dataset p -n 64 -m 32 -t XOR --lose 3
	ends 3 scr_inspect -p p --svg p.svg 1
	well_formed p.svg
	[[ $(grep -c '<title>rank [0-9]*: ' p.svg) == 64 ]]
	[[ $(grep -c '<title>rank [0-9]*: to be rebuilt' p.svg) == 2 ]]
	rm p.svg p/.scr/scr.dataset.1/*
	complains 1 "no containers to draw: rank2file: missing" \
		scr_inspect -p p --svg p.svg 1
	[[ ! -e p.svg ]]
}

@test "to standard output, and wrong calls" {
	dataset p -n 4 -m 4
	scr_inspect -q -p p --html - 1 >out.html
	well_formed out.html
	ends 0 scr_inspect -p p --html x.html --json 1
	well_formed x.html
	misused "standard output" scr_inspect -p p --html - --json 1
	dataset p -n 4 -m 4 -i 2
	complains 2 "no dataset given" scr_inspect -p p --html x.html
	ends 2 scr_inspect --html x.html p/.scr/flush.scr
	mkdir d
	ends 2 scr_inspect -p p --html d 1
	[[ -z $(ls d) ]]
}

@test "many ranks: what is whole is folded" {
	local n=2080

	[[ -z ${SCRKIT_SLOW-} ]] || n=10000
	dataset p -n $n -m $((n / 8)) -t XOR --set-size 10 -s 20 --lose 17
	page p 3
	[[ $(wc -l <p.html.rows) == 10 ]]
	grep -q "sets 17-$((n / 10)): w$((n - 160)) ranks, all whole" p.html.rows
	(($(stat -c %s p.html) < 100000))
}

@test "in Chromium: few ranks and many, at widths of 400 and 1200" {
	local n want width height lines measured

	command -v chromium >/dev/null || skip "no chromium"
	for n in 8 64 ${SCRKIT_SLOW:+1000 10000}; do
		dataset $n -n $n -m $((n / 4)) -t XOR --set-size 8 -s 20 --lose 1
		page $n 3
		pages+=($n.html)
	done
	mapfile -t measured < <(measure "${pages[@]}")
	((${#measured[@]} == 2 * ${#pages[@]}))
	for n in "${!measured[@]}"; do
		read -r want width height lines <<<"${measured[n]}"
		# Less than all by a scroll bar, and not more.
		((width <= want && width > want - 20)) ||
			failed "page $n: $width pixels wide, not $want"
		((height > 300 && height < 40000)) ||
			failed "page $n: $height pixels high"
		((lines == $(wc -l <"${pages[n / 2]}.rows")))
	done
}
