#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# scr_fti dump --svg: blocks and containers of a file as a picture.

load golden

setup() { fti_setup; }

# boxes FILE: each rectangle of containers in the picture: its shares of the
# width, reserved and in use, and the first line of its tooltip.  Fails if the
# picture is not XML, or loads something.
boxes() {
	python3 - "$1" <<-'END'
		import sys, xml.etree.ElementTree as tree
		text = open(sys.argv[1], encoding="utf-8").read()
		top = tree.fromstring(text)
		for e in top.iter():
		    assert e.tag.split("}")[-1] not in ("script", "image"), e.tag
		    assert not any(k.startswith("on") or k in ("src", "href")
		                   for k in e.attrib)
		assert "url(http" not in text and "@import" not in text
		for g in top.iter("{http://www.w3.org/2000/svg}g"):
		    title, *rects = [e for e in g if not e.tag.endswith("text")]
		    title = title.text.split("\n")[0]
		    if title.startswith(("block", "records")):
		        continue
		    live = [r.get("width") for r in rects
		            if r.get("class").split()[-1] not in ("paper", "pale")]
		    print(rects[0].get("width"), *live or ["0"], title)
	END
}

# rows FILE: the lines of text above the bars.
rows() {
	sed -n 's|.*>\(blocks* [0-9][^<]*\)</text>.*|\1|p' "$1"
}

@test "the document's example: five blocks, nine containers, the widths are the sizes" {
	local file files=(c/Ckpt7-Rank0.fti) layout

	[[ -d $FTI/seed7-A-v1.1 ]] || skip "not in the selection"
	for layout in A-v1.1 B-v1.2 D-v1.4 E-v1.6 F-master; do
		files+=("$(find "$FTI/seed7-$layout/ckpt7" -name '*-Rank0.fti')")
	done
	# The data have no C of this example: D, converted.
	scr_fti convert -q --to C -o "${files[0]}" "${files[3]}"
	scr_fti dump "${files[0]}" | grep -q 'layout  *C '
	for file in "${files[@]}"; do
		run scr_fti dump --svg p.svg "$file"
		[[ $status == 0 || $status == 3 ]]
		rows p.svg | diff - <(
			cat <<-'END'
				block 0: 3 containers, 15.6 KiB of 23.4 KiB in use
				block 1: 1 container, 15.6 KiB of 15.6 KiB in use
				block 2: 2 containers, 0 B of 31.3 KiB in use
				block 3: 1 container, 19.5 KiB of 19.5 KiB in use
				block 4: 2 containers, 0 B of 15.6 KiB in use
			END
		)
		# 94 % of the width are the 32000 bytes of block 2.
		boxes p.svg | sed 's/, at byte.*//' | diff - <(
			cat <<-'END'
				11.75% 11.75% variable 1, container 0
				23.50% 11.75% variable 2, container 0
				35.25% 23.50% variable 3, container 0
				47.00% 47.00% variable 4, container 0
				47.00% 0 variable 2, container 1
				47.00% 0 variable 3, container 1
				58.75% 58.75% variable 5, container 0
				23.50% 0 variable 2, container 2
				23.50% 0 variable 3, container 2
			END
		)
	done
}

@test "a damaged container is marked" {
	answers 4 "" scr_fti dump --svg p.svg "$FTI/bad-F/data-flip.fti"
	grep -q 'class="alarm"[^>]*>damaged<' p.svg
	# Once in the legend, once in the block.
	[[ $(grep -c 'class="bad"' p.svg) == 2 ]]
	boxes p.svg | grep -qx '26.86% 26.86% variable 1, .*'
	scr_fti dump --svg - "$FTI/bad-F/good.fti" >good.svg
	[[ $(grep -c 'class="bad"' good.svg) == 1 ]]
	boxes good.svg | grep -qx '26.86% 26.86% variable 1, .*'
}

@test "thousands of containers, or of blocks, share rectangles and rows" {
	python3 "$BATS_TEST_DIRNAME/fti_file.py" wide 1 5000
	python3 "$BATS_TEST_DIRNAME/fti_file.py" long 1000 3
	scr_fti verify wide long
	scr_fti dump --svg wide.svg wide >text
	[[ $(boxes wide.svg | wc -l) -lt 250 ]]
	[[ $(boxes wide.svg | awk '{ n += $3 } END { print n }') == 5000 ]]
	boxes wide.svg | awk '{ w += $1; l += $2 }
		END { exit w < 93.5 || w > 94.5 || l < 46.5 || l > 47.5 }'
	scr_fti dump --svg long.svg long >text
	[[ $(rows long.svg | wc -l) -le 32 ]]
	rows long.svg | sed -n '$s/.*-\([0-9]*\):.*/\1/p' | grep -qx 999
	[[ $(cat wide.svg long.svg | wc -c) -lt 1500000 ]]
}

# The text keeps its size; nothing is cut off or written over the edge.
@test "at a width of 400 pixels nothing is cut off" {
	command -v chromium || skip "no chromium"
	python3 "$BATS_TEST_DIRNAME/fti_file.py" long 1000 3
	scr_fti dump --svg p.svg long >text
	cat >frame.html <<-'END'
		<body><iframe width="400" height="800" src="p.svg" style="border:0"
		onload="const d = this.contentDocument; let right = 0, small = 99;
		for (const t of d.querySelectorAll('text')) {
		right = Math.max(right, t.getBoundingClientRect().right);
		small = Math.min(small, t.getBoundingClientRect().height); }
		document.body.textContent = 'measured ' +
		[Math.round(right), Math.round(small)].join(' ')"></iframe></body>
	END
	read -r right small < <(timeout 60 chromium --headless --no-sandbox \
		--disable-gpu --user-data-dir="$PWD/chromium" \
		--allow-file-access-from-files --virtual-time-budget=5000 \
		--dump-dom "file://$PWD/frame.html" 2>/dev/null |
		sed -n 's/.*measured \([0-9 ]*\).*/\1/p')
	((right <= 400 && small >= 12)) || failed "$right $small"
}

@test "what cannot be drawn" {
	local good=$FTI/bad-F/good.fti

	run -2 scr_fti dump --svg p.svg "$good" "$good"
	run -2 scr_fti dump --json --svg - "$good"
	run -2 scr_fti verify --svg p.svg "$good"
	run -1 scr_fti dump --svg p.svg "$FTI/bad-F/footer-only.fti"
	[[ $output == *": cannot draw it: its structure is damaged"* ]]
	run -4 scr_fti dump --svg p.svg "$FTI/bad-F/empty.fti"
	[[ $output == *": no blocks to draw: it is not an FTI-FF file"* ]]
	run -2 scr_fti dump --svg p.svg \
		"$(find "$FTI/levels-E-v1.6/L3" -name '*-RSed0.fti')"
	[[ $output == *": no blocks to draw: it is a file of parity"* ]]
	[ ! -e p.svg ]
	mkdir full
	run -2 scr_fti dump -q --svg full "$good"
	scr_fti dump --json --svg p.svg "$good" | jq -e '.status == 0'
	[ -s p.svg ]
}
