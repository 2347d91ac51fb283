#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# shellcheck disable=SC2086,SC2206
# scr_inspect --html and --svg: a dataset as a picture; scr_env log --html: runs.

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
	grep -q '<td>NODE_FAIL &lt;/p&gt;&amp;</td>' p.html
	tr '\n' ' ' <p.html >p.text
	grep -q '<title>checkpoint of dataset 1: 1.0 s from 2026-11-20 22:53:22 </title><rect class="mark" x="9.00%" width="71.00%"' p.text
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

# runs [OPTION]...: the page of the log l is x.html, in one line x.text; the table is
# on standard output as without the page.
runs() {
	local alone

	alone=$(scr_env log --logfile l 2>&1 "$@") || failed "no table"
	ends 0 scr_env log --logfile l --html x.html "$@"
	[[ $output$stderr == "$alone" || $output$'\n'$stderr == "$alone" ||
		$stderr$'\n'$output == "$alone" ]] || failed "another table"
	well_formed x.html
	tr '\n' ' ' <x.html >x.text
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
	[[ $(grep -c '"side"' x.html) == 5 && $(cat x.html.rows) == *1:*2:* ]]
	# The axis is 20 minutes: 3.55 % is one of them.
	grep -q 'compute: 120.0 s from 2026-11-20 10:00:00.*<rect class="p0" x="9.00%" width="7.10%"' x.text
	grep -q 'checkpoint of dataset 1: 20.0 s from 2026-11-20 10:02:00.*<rect class="p1" x="16.10%" width="1.18%"' x.text
	grep -q 'compute, failed or cut off: 220.0 s from 2026-11-20 10:02:20.*<rect class="bad" x="17.28%" width="13.02%"' x.text
	grep -q 'async_flush of dataset 1: 60.0 s from 2026-11-20 10:02:20.*<rect class="p3" x="17.28%" width="3.55%" y="[0-9]*" height="6"' x.text
	grep -q 'rebuild of dataset 1: 20.0 s from 2026-11-20 10:10:10.*<rect class="p6"' x.text
	grep -q 'flush of dataset 1, failed or cut off: 10.0 s' x.text
	[[ $(grep -c 'class="alarm"[^>]*>lost 220.0 s<' x.html) == 1 ]]
	[[ $(grep -o 'class="alarm"[^>]*>✕<' x.html | wc -l) == 1 ]]
	grep -q 'disk &lt;full&gt;' x.html
	grep -q '7 *1 *2026-11-20 10:03:20  2026-11-20 10:06:00' x.html
	# Without RUN_END: between the last line and the next START.
	sed -i /RUN_END/d l
	runs
	grep -q '>lost 0.0-460.0 s<' x.html
	# Another job is no part of the picture of this one.
	dying_run 12 06 8
	runs --job 8
	grep -q '^<p>1 run from 2026-11-20 12:00:00 to 2026-11-20 12:06:00' x.html
	[[ $(grep -c '>job ' x.html) == 1 ]]
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
		grep -q 'The log has no runs' x.html
		run ! grep -q '<svg' x.html
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
	grep -q '>job &lt;/text&gt;&lt;script&gt;x&lt;/script&gt;&quot;&amp;<' x.html
	grep -qF '<td>&lt;b&gt;_FAIL &lt;/td&gt;&lt;script src=x&gt;\x01\xff</td>' x.html
	# Two hours back in a run, and an hour between two runs.
	rm l
	dying_run 10 06
	happens 08:00:00 7 'event=START'
	happens 08:00:00 7 'event=COMPUTE_START'
	happens 08:05:00 7 'event=COMPUTE_END, secs=300.0'
	happens 07:00:00 7 'event=CHECKPOINT_END, dset=2, secs=5.0'
	happens 07:05:00 7 'event=COMPUTE_END, secs=300.0'
	runs
	grep -q '>job 7: its clock went back<' x.html
	# Spans of a run keep their order and their length.
	grep -q 'checkpoint of dataset 2: 5.0 s from 2026-11-20 08:05:00' x.html
	grep -q 'compute: 300.0 s from 2026-11-20 08:05:05' x.html
}

@test "runs: hundreds, and tens of thousands of datasets, in a page of a bounded size" {
	local spans boxes

	python3 - >l <<-'END'
		import time
		def put(text):
		    print(time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(at)) +
		          ": host=n, jobid=j, " + text)
		at, dset = 1795000000, 0
		for run in range(600):
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
	grep -q '^<p>500 runs .*; earlier ones are not drawn' x.html
	read -r spans boxes <<<"$(sed -n 's/.*>\([0-9]*\) spans are drawn as \([0-9]*\) boxes.*/\1 \2/p' x.html)"
	((spans > 60000 && boxes < 4000)) || failed "$spans $boxes"
	(($(stat -c %s x.html) < 1500000)) || failed "$(stat -c %s x.html)"
	# In a box, height is time: 57 s of a minute are 95 %.
	grep -q '<rect class="p0"[^>]* height="17\.[0-9]"><title>[0-9]* compute: 9[45]\.[0-9] % of [0-9]* spans' x.html
	grep -q '<rect class="p1"[^>]* height="0\.[0-9]"><title>[0-9]* checkpoint: [45]\.[0-9] % ' x.html
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
