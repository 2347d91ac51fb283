#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# The handbook: README.md, NEWS.md, CONTRIBUTING.md and all manual pages in HTML,
# with an index, and links from page to page:
#     scripts/html.sh DIRECTORY
set -eu
cd "$(dirname "$0")/.."
root=$PWD
mkdir -p "$1"
cd "$1"
rm -f ./*.html
texts=(README NEWS CONTRIBUTING)
# The order of the index, and from page to page: the overview first.
sections=(7 1 3 5)
mapfile -t pages < <(echo scrkit.7
	for section in "${sections[@]}"; do
		(cd "$root/man" && printf '%s\n' *."$section") | grep -vx scrkit.7
	done)
cp "$root/share/handbook.css" handbook.css
cp "$root/share/rescue.png" rescue.png
# Our pages, as an expression: mandoc links all that a page refers to.
ours=$(printf '|%s' "${pages[@]//./\\.}")

title_of() { # SECTION
	case $1 in
	1) echo "Commands" ;;
	3) echo "Functions of libscr" ;;
	5) echo "File formats and configuration" ;;
	*) echo "Overview" ;;
	esac
}

# The links on top of each page: $1 is the one before, $2 the next; or empty.
nav() {
	printf '<nav><a href="index.html">scrkit handbook</a>'
	[ -z "$1" ] || printf ' <a href="%s.html">&larr; %s</a>' "$1" "$1"
	[ -z "$2" ] || printf ' <a href="%s.html">%s &rarr;</a>' "$2" "$2"
	printf '</nav>\n'
}

head_of() { # TITLE
	printf '<!DOCTYPE html>\n<html lang="en">\n<head><meta charset="utf-8">\n'
	printf '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
	printf '<link rel="stylesheet" href="handbook.css">\n'
	printf '<title>%s</title></head>\n<body>\n' "$1"
}

all=("${texts[@]}" "${pages[@]}")
for i in "${!all[@]}"; do
	name=${all[i]} before='' after=${all[i + 1]-}
	[ "$i" = 0 ] || before=${all[i - 1]}
	if [ "$i" -lt "${#texts[@]}" ]; then
		head_of "$name"
		nav "$before" "$after"
		# Files of the project have the names that they have in README.
		cmark-gfm --unsafe -e table "$root/$name.md" | sed -E \
			-e 's|src="share/|src="|' \
			-e 's|<code>([A-Za-z_.-]+)\(([0-9])\)</code>|<a href="\1.\2.html"><code>\1(\2)</code></a>|g' \
			-e 's|<code>(README\|NEWS\|CONTRIBUTING)\.md</code>|<a href="\1.html">&</a>|g'
		printf '</body>\n</html>\n'
	else
		mandoc -Thtml -O 'style=handbook.css,man=%N.%S.html' \
			"$root/man/$name" | sed -E \
			-e '/NAMING_A_DATASET/{/id=/!s|href="#N|href="scrkit.7.html#N|;}' \
			-e "s#<a (class=\"Xr\" href=\"(${ours#|})\.html)#<A \\1#g" \
			-e 's|<a class="Xr"[^>]*>([^<]*)</a>|\1|g' -e 's|<A |<a |g' \
			-e 's|^<body>$|&\n'"$(nav "$before" "$after" | sed 's/[&|]/\\&/g')"'|'
	fi >"$name.html"
done

{
	head_of "scrkit handbook"
	echo '<h1>scrkit handbook</h1>'
	echo '<p>Where to begin: <a href="README.html">README</a>, then FIRST STEPS in'
	echo '<a href="scrkit.7.html">scrkit(7)</a>.</p>'
	echo '<h2>Texts</h2><ul>'
	printf '<li><a href="%s.html">%s</a></li>\n' README README NEWS NEWS \
		CONTRIBUTING CONTRIBUTING
	echo '</ul>'
	for section in "${sections[@]}"; do
		printf '<h2>%s (section %s)</h2><ul>\n' "$(title_of "$section")" "$section"
		for page in "${pages[@]}"; do
			[ "${page##*.}" = "$section" ] || continue
			printf '<li><a href="%s.html">%s(%s)</a>: %s</li>\n' "$page" \
				"${page%.*}" "$section" \
				"$(sed -n 's/^\.Nd //p' "$root/man/$page" |
					sed -e 's/\\(aq/'"'"'/g' -e 's/\\&//g')"
		done
		echo '</ul>'
	done
	printf '</body>\n</html>\n'
} >index.html
echo "$1/index.html"
