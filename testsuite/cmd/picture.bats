#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# shellcheck disable=SC2086,SC2206
# scr_inspect --html: datasets as a page; scr_env log --html: runs.  The script of the
# page is run by node, without a browser.

load helper

setup() {
	in_no_job
}

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

# The page has no scripts but its own, and loads nothing; without scripts it has the
# report as text.  What the script draws goes to FILE.drawn, and is XML; the rows of
# ranks and runs to FILE.rows, as "NAME: CELL CELL ...", a cell being the class and the
# text.
well_formed() {
	python3 - "$1" <<-'END'
		import html.parser, sys
		class Page(html.parser.HTMLParser):
		    tags, text, inside = [], [], False
		    def handle_starttag(self, tag, attrs):
		        self.tags.append(tag)
		        self.inside = tag == "pre"
		        for key, value in attrs:
		            assert not key.startswith("on") and key not in (
		                "src", "href"), key
		    def handle_endtag(self, tag):
		        self.inside = False
		    def handle_data(self, data):
		        if self.inside:
		            self.text.append(data)
		page = Page()
		text = open(sys.argv[1], encoding="utf-8").read()
		page.feed(text)
		assert page.tags == ["html", "head", "meta", "meta", "meta", "title", "style",
		    "body", "main", "noscript", "pre", "p", "script", "script"], page.tags
		assert "url(" not in text and "@import" not in text
		assert "content=\"default-src 'none'; script-src 'unsafe-inline'; style" in text
		open(sys.argv[1] + ".text", "w").write("".join(page.text))
	END
	command -v node >/dev/null || skip "no node"
	node "$TESTSUITE/cmd/page.js" "$1" >"$1.drawn" || failed "the script fails"
	python3 - "$1" >"$1.rows" <<-'END'
		import sys, xml.etree.ElementTree as tree
		top = tree.fromstring("<page>" + open(sys.argv[1] + ".drawn").read() + "</page>")
		for e in top.iter():
		    assert e.tag in ("page h1 h2 p span dl dt dd div table tr th td details "
		        "summary code pre svg rect title").split(), e.tag
		    assert set(e.attrib) <= set("class title open viewBox width height x "
		        "preserveAspectRatio".split()), e.attrib
		for row in top.findall(".//div[@class='row']"):
		    side, cells = row[0], row[1]
		    if side.text:
		        print("".join(side.itertext()) + ":" + "".join(
		            " " + c.get("class") + c.text.replace("\u202f", " ")
		            for c in cells if c.tag == "span"))
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
			node 2: r4 ○ r5 ○
			! node 0: w0 w1
			! node 1: w2 w3
			! node 3: w6 w7
		END
	)
	grep -q 'class="state r">damaged<' p.html.drawn
	grep -q 'next: <code>scr_index -p p --build 1</code>' p.html.drawn
	grep -q '(3 of 4), the dataset is lost' p.html.drawn
	diff p.html.text <(scr_inspect -p p 1)
	scr_index -q -p p --build 1
	page p 0
	grep -q 'class="state w">whole<' p.html.drawn
	grep -q 'any one node may be lost' p.html.drawn
	[[ $(cat p.html.rows) != *'!'* ]]
}

@test "lost ranks, a scheme without redundancy; caches: a row for each node" {
	dataset p -n 8 -m 4 -t XOR --lose 1,2
	page p 4
	[[ $(sed -n 2p p.html.rows) == "node 2: l4 ✕ l5 ✕" ]]
	grep -q 'class="state l">lost<' p.html.drawn
	dataset q -n 4 -m 4 -t SINGLE
	page q 0
	diff q.html.rows <(echo 'each by itself: w0 w1 w2 w3')
	rm -r p*
	dataset p -n 4 -m 2 -t XOR --layout cache --nodes-dir nodes
	ends 0 scr_inspect -q --html p.html nodes
	well_formed p.html
	diff p.html.rows <(printf '%s\n' 'node 0: w0 w1' 'node 1: w2 w3')
	grep -q '<span class="side" title="nodes/[^"]*/scr.dataset.1">' p.html.drawn
	# Of one node only: the others are missing.
	ends 3 scr_inspect -q --html p.html nodes/node0
	well_formed p.html
	[[ $(cat p.html.rows) == *"node 0: w0 w1"* ]]
}

@test "names that look like HTML, and a log with them" {
	dataset p -n 2 -m 2 -t XOR --name '<!--<script><b>&"x"' --dir 'a<b'
	scr_index -q -p p --build 1
	printf '%s\n' \
		'2026-11-20T22:53:22: host=<i>, jobid=1, event=NODE_FAIL, note="</script></p>&'$'\xe2\x80\xae''"' \
		'2026-11-20T22:53:23: host=n, jobid=1, event=CHECKPOINT_END, dset=1, name="<!--<x>", secs=1.0' \
		>p/.scr/log
	page p 0
	[[ $(grep -c '</script>' p.html) == 2 && $(grep -c '<!--' p.html) == 0 ]]
	grep -qF '<h1>Dataset 1: &lt;!--&lt;script&gt;&lt;b&gt;&amp;&quot;x&quot;</h1>' p.html.drawn
	grep -qF '<td>NODE_FAIL &lt;/script&gt;&lt;/p&gt;&amp;\u202e</td>' p.html.drawn
	grep -q '<td>&lt;!--&lt;x&gt;</td>' p.html.drawn
	tr '\n' ' ' <p.html.drawn >p.text
	grep -q '<rect class="mark" x="0.00" width="1000.00" height="18"><title>checkpoint of dataset 1: 1.0 s from 2026-11-20 22:53:22<' p.text
	for broken in '' $'\n\n' 'nonsense' "$(head -c 3000 /dev/urandom | tr -d '\0')"; do
		printf '%s' "$broken" >p/.scr/log
		page p 0
	done
}

# happens TIME JOB TEXT: a line of the log l.
happens() {
	echo "2026-11-20T$1: host=n1, jobid=$2, $3" >>l
}

# A run that computes, checkpoints and flushes behind, and dies after $2 minutes; its
# START is at $1 o'clock.
dying_run() {
	happens "$1:00:00" "${3-7}" 'event=START, procs=8, nodes=2'
	happens "$1:00:00" "${3-7}" 'event=COMPUTE_START'
	happens "$1:02:00" "${3-7}" 'event=COMPUTE_END, secs=120.0'
	happens "$1:02:20" "${3-7}" 'event=CHECKPOINT_END, dset=1, secs=20.0'
	happens "$1:02:20" "${3-7}" 'event=ASYNC_FLUSH_START, dset=1'
	happens "$1:02:20" "${3-7}" 'event=COMPUTE_START'
	happens "$1:03:20" "${3-7}" 'event=ASYNC_FLUSH_SUCCESS, dset=1, secs=60.0'
	happens "$1:$2:00" "${3-7}" 'event=RUN_END, secs=360'
}

# runs [OPTION]...: the page of the log l is x.html, what it draws in one line x.text;
# the table is on standard output as without the page.
runs() {
	local alone

	alone=$(scr_env log --logfile l 2>&1 "$@") || failed "no table"
	ends 0 scr_env log --logfile l --html x.html "$@"
	[[ $output$stderr == "$alone" || $output$'\n'$stderr == "$alone" ||
		$stderr$'\n'$output == "$alone" ]] || failed "another table"
	well_formed x.html
	[[ $(cat x.html.text) == "$output" ]] || failed "another text"
	tr '\n' ' ' <x.html.drawn >x.text
}

# has TEXT...: the page of runs() draws these.
has() {
	local text

	for text; do
		grep -qF -- "$text" x.text || failed "not drawn: $text"
	done
}

@test "runs: what they did when, and what a failure cost" {
	dying_run 10 06
	happens 10:10:00 7 'event=START, procs=8, nodes=2'
	happens 10:10:30 7 'event=REBUILD_SUCCESS, dset=1, secs=20.0'
	happens 10:10:30 7 'event=RESTART_SUCCESS, dset=1, secs=30.0'
	happens 10:10:30 7 'event=COMPUTE_START'
	happens 10:12:00 7 'event=FLUSH_FAIL, dset=1, secs=10.0, note="disk <full>"'
	happens 10:20:00 7 'event=HALT, note="SCR_FINALIZE_CALLED"'
	runs
	[[ $(cat x.html.rows) == $'1:\n2:' ]]
	# The axis is 20 minutes: 50 of 1000 are one of them.
	has '<rect class="p0" x="0.00" width="100.00" height="18"><title>compute: 120.0 s from 2026-11-20 10:00:00<' \
		'<rect class="p1" x="100.00" width="16.67" height="18"><title>checkpoint of dataset 1: 20.0 s from 2026-11-20 10:02:00<' \
		'<rect class="bad" x="116.67" width="183.33" height="18"><title>compute, failed or cut off: 220.0 s from 2026-11-20 10:02:20<' \
		'</svg><svg viewBox="0 0 1000 18" preserveAspectRatio="none"><rect class="p3" x="116.67" width="50.00" height="18"><title>async_flush of dataset 1: 60.0 s from 2026-11-20 10:02:20<' \
		'<title>rebuild of dataset 1: 20.0 s from 2026-11-20 10:10:10<' \
		'<title>flush of dataset 1, failed or cut off: 10.0 s' \
		'<span class="behind alarm">✕ lost 220.0 s</span>' 'disk &lt;full&gt;' \
		'<td>2026-11-20 10:03:20</td><td>2026-11-20 10:06:00</td>'
	[[ $(grep -o '✕ lost' x.text | wc -l) == 1 ]]
	# Without RUN_END: between the last line and the next START.
	sed -i /RUN_END/d l
	runs
	has '✕ lost 0.0-460.0 s<'
	# Another job is no part of the picture of this one.
	dying_run 12 06 8
	runs --job 8
	has '<p>1 run from 2026-11-20 12:00:00 to 2026-11-20 12:06:00 UTC.</p>'
	[[ $(grep -o '<p>job ' x.text | wc -l) == 1 ]]
	rm x.html
	complains 1 "job 9: not in the log" scr_env log --logfile l --html x.html --job 9
	[[ ! -e x.html ]]
	scr_env log --logfile l --html - >out.html
	well_formed out.html
	misused "--html" scr_env log --logfile l --html x --json
}

@test "runs: an empty log, a hostile one, a clock that goes back" {
	for text in '' $'\n\n' $'nonsense\n' "$(head -c 3000 /dev/urandom | tr -d '\0')"; do
		printf '%s' "$text" >l
		runs
		has 'The log has no runs'
		run ! grep -q '<svg' x.text
	done
	: >l
	dying_run 10 06 '</text><script>x</script>"&'
	happens 10:06:10 '</text><script>x</script>"&' \
		'event=<b>_FAIL, note="</td><script src=x>'$'\x01\xff''"'
	happens 10:07:00 x 'event=CHECKPOINT_END, dset=9, secs=300000000'
	happens 10:07:00 x 'event=COMPUTE_END, secs=nan'
	happens 10:07:00 x 'event=FETCH_SUCCESS, dset=9223372036854775807, secs=99999999999999999999'
	echo '0000-00-00T00:00:00: host=n, jobid=y, event=START' >>l
	echo '9999-99-99T99:99:59: host=n, jobid=y, event=COMPUTE_END, secs=1' >>l
	runs
	has '<p>job &lt;/text&gt;&lt;script&gt;x&lt;/script&gt;&quot;&amp;</p>' \
		'<td>&lt;b&gt;_FAIL &lt;/td&gt;&lt;script src=x&gt;\u0001�</td>'
	# Two hours back in a run, and an hour between two runs.
	rm l
	dying_run 10 06
	happens 08:00:00 7 'event=START'
	happens 08:00:00 7 'event=COMPUTE_START'
	happens 08:05:00 7 'event=COMPUTE_END, secs=300.0'
	happens 07:00:00 7 'event=CHECKPOINT_END, dset=2, secs=5.0'
	happens 07:05:00 7 'event=COMPUTE_END, secs=300.0'
	runs
	# Spans of a run keep their order and their length.
	has '<p>job 7: its clock went back</p>' \
		'checkpoint of dataset 2: 5.0 s from 2026-11-20 08:05:00' \
		'compute: 300.0 s from 2026-11-20 08:05:05'
}

@test "runs: hundreds, and tens of thousands of datasets, in a page of a bounded size" {
	python3 - >l <<-'END'
		import time
		def put(text):
		    print(time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(at)) +
		          ": host=n, jobid=j, " + text)
		at, dset = 1795000000, 0
		for run in range(1200):
		    put("event=START")
		    for k in range(30000 if run == 599 else 2):
		        dset += 1
		        at += 57
		        put("event=COMPUTE_END, secs=57")
		        at += 3
		        put(f"event=CHECKPOINT_END, dset={dset}, secs=3")
		        put("event=COMPUTE_START")
		    at += 60
		    put("event=RUN_END")
	END
	runs
	has '<p>500 runs from' '; earlier ones are not drawn.'
	[[ $(sed -n '1p;$p' x.html.rows) == $'701:\n1200:' ]]
	(($(stat -c %s x.html) < 4000000)) || failed "$(stat -c %s x.html)"
	# One run that is longer than what is drawn.
	sed -i '2,$ { /event=START\|RUN_END/d }' l
	runs
	has '<p>1 run from' '; earlier ones are not drawn.'
}

@test "a packed dataset: its files in containers, and a lost one" {
	dataset p -n 8 -m 4 -t XOR -s 30000
	scr_index -q -p p --build 1
	scr_container pack -q -p p --size 50000 1
	page p 0
	tr '\n' ' ' <p.html.drawn >p.text
	# 50,000 bytes are the width.
	grep -qF '<rect class="h1 odd" x="600.00" width="400.00" height="18"><title>ckpt.1/rank_1.ckpt rank 1, 20000 bytes from byte 0 of 30000 at offset 30000 of .scr/ctr.0.scr<' p.text ||
		failed "$(cat p.text)"
	run ! grep -q 'missing or wrong<.title>' p.text
	rm "$(find p -name ctr.1.scr)"
	page p 4
	tr '\n' ' ' <p.html.drawn >p.text
	grep -q '<span class="behind alarm">missing<' p.text
	grep -qF '<rect class="bad" x="0.00" width="200.00" height="18"><title>ckpt.1/rank_1.ckpt rank 1, 10000 bytes from byte 20000 of 30000 at offset 0 of .scr/ctr.1.scr missing or wrong<' p.text
}

@test "a script that fails leaves the report as text" {
	dataset p -n 4 -m 4
	page p 0
	ends 0 node - p.html <<-'END'
		const text = require("fs").readFileSync(process.argv[2], "utf8");
		const report = {}, elements = { report: report, answer: { textContent: "{" } };
		require("vm").runInNewContext(text.match(/<script>([^]*?)<\/script>/)[1], { document: {
			getElementById: id => elements[id],
			querySelector: () => ({ textContent: text.match(/<noscript>([^]*?)<.noscript>/)[1] }),
		} });
		console.log(report.innerHTML);
	END
	assert_output_has "This page could not be drawn: SyntaxError" "<pre>dataset 1 " \
		"state       whole"
}

@test "an index without datasets; a log that cannot be read" {
	dataset p -n 4 -m 4
	scr_index -q -p p --build 1
	mkdir p/.scr/log
	complains 1 "log" scr_inspect -q -p p --html p.html 1
	well_formed p.html
	grep -q '<h2>Timeline' p.html.drawn
	grep -q 'class="state l">unknown</span> .*log' p.html.drawn
	rmdir p/.scr/log
	scr_index -q -p p --drop 1
	find p -mindepth 1 ! -name .scr ! -name index.scr -delete 2>/dev/null || :
	ends 0 scr_inspect -p p --html p.html
	assert_output_has "index       0 datasets"
	well_formed p.html
	grep -q 'There are no datasets' p.html.drawn
	grep -qF '<title>p</title>' p.html
}

@test "a dataset that was moved; a deep check that does not decide" {
	dataset p -n 8 -m 4 -t XOR -s 3000 --recorded-prefix /job/p
	scr_index -q -p p --build 1
	page p 0
	grep -q '<dd>it was written as /job/p' p.html.drawn
	rm p/.scr/scr.dataset.1/{filemap_*,reddesc*}
	page p 0
	grep -q '<h1>Dataset 1: ckpt.1<' p.html.drawn
	grep -q 'files\?, 23.4 KiB<' p.html.drawn
	rm -r p
	dataset p -n 8 -m 4 -t XOR
	rm p/ckpt.1/rank_0.ckpt
	damage p/ckpt.1/rank_3.ckpt 40
	ends 3 scr_inspect -q --deep -p p --html p.html 1
	well_formed p.html
	grep -q 'damaged; whether it can be rebuilt is unknown</p>' p.html.drawn
	grep -q '<dt>tolerates</dt><dd>no loss</dd>' p.html.drawn
	run ! grep -q 'can be rebuilt[;<]' p.html.drawn
	[[ $(jq -c '.prefixes[].datasets[] | [.plan.undecided, .tolerates]' <<<"$(
		scr_inspect --deep --json -p p 1)") == '[true,"no loss"]' ]]
}

@test "several datasets, a metadata file; to standard output" {
	dataset p -n 4 -m 4
	scr_inspect -q -p p --html - 1 >out.html
	well_formed out.html
	dataset p -n 4 -m 4 -i 2
	ends 0 scr_inspect -p p --html x.html
	well_formed x.html
	[[ $(grep -c '<h1>Dataset' x.html.drawn) == 2 && $(grep -c '<h2>Ranks' x.html.drawn) == 2 ]]
	diff x.html.text <(scr_inspect -p p -d 1 -d 2)
	echo '2026-11-20T22:53:23: host=n, jobid=1, event=START' >p/.scr/log
	ends 0 scr_inspect -p p --html x.html
	well_formed x.html
	[[ $(grep -c '<h2>Timeline' x.html.drawn) == 1 ]]
	rm p/.scr/log
	ends 0 scr_inspect --html x.html p/.scr/flush.scr
	well_formed x.html
	grep -q '&quot;format&quot;: &quot;kvtree&quot;' x.html.drawn
}

@test "wrong calls write no page, and leave the one that there is" {
	dataset p -n 4 -m 4
	ends 0 scr_inspect -q -p p --html good.html 1
	grep -qF "<title>dataset 1 of p</title>" good.html
	misused "--json and --html" scr_inspect -p p --html x.html --json 1
	complains 1 "nothing: " scr_inspect -p p --html x.html nothing
	[[ ! -e x.html ]]
	cp good.html x.html
	ends 1 scr_inspect -p p --html x.html 1 nothing
	complains 1 "9: " scr_inspect -p p --html x.html 9
	cmp x.html good.html
	mkdir d
	ends 2 scr_inspect -p p --html d 1
	[[ -z $(ls d) ]]
	complains 1 nowhere/x.html scr_inspect --html nowhere/x.html p
	mkfifo pipe
	complains 2 "pipe: not a regular file" scr_inspect --html pipe p
	[ -p pipe ]
}

@test "many ranks: what is whole is folded" {
	local n=2080

	[[ -z ${SCRKIT_SLOW-} ]] || n=10000
	dataset p -n $n -m $((n / 8)) -t XOR --set-size 10 -s 20 --lose 17
	page p 3
	[[ $(wc -l <p.html.rows) == 10 ]]
	grep -q "sets 17-$((n / 10)): w$((n - 160)) ranks, all whole" p.html.rows
	(($(stat -c %s p.html) < n * 400)) || failed "$(stat -c %s p.html) bytes"
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
