#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# check-options.sh MANDIR BINARY... - do the man pages document the options
# that the commands have?  For each `BINARY --dump-options` (opt.h) and
# MANDIR/NAME.1: every option that --help shows has to be in an `.It Fl`
# entry, and every option in such an entry has to exist.  One line for each
# that is not so, and exit status 1.

set -eu

[ $# -ge 2 ] || {
	echo "usage: ${0##*/} MANDIR BINARY..." >&2
	exit 2
}
mandir=$1
shift

# The options in the list entries of a man page, one on a line.  They are
# arguments of Fl, up to the next macro: `.It Fl b Ar ID , Fl -build Ns = Ns
# Ar ID`, `.It Fl q , -quiet`, and on lines of their own between Xo and Xc.
documented()
{
	awk '
	function flags(first,    i, word, dashes) {
		dashes = ""
		for (i = first; i <= NF; i++) {
			word = $i
			if (word == "Fl") {
				# "Fl Fl name" has two dashes
				dashes = before == "Fl" ? dashes "-" : "-"
			} else if (word ~ /^[A-Z][a-z]$/) {
				dashes = ""
			} else if (dashes != "" && word !~ /^[],.:;()|?!\[]$/) {
				gsub(/\\&/, "", word)
				gsub(/\\-/, "-", word)
				sub(/=.*/, "", word)
				print dashes word
			}
			before = word
		}
	}
	/^\.It / {
		before = ""
		flags(2)
	}
	/^\.It .*Xo/ { inside = 1; next }
	/^\.Xc/ { inside = 0 }
	inside && /^\./ {
		sub(/^\./, "")
		before = ""
		flags(1)
	}' "$1" | sort -u
}

# The options of a dump, one on a line: the shown ones, or all.
listed()
{
	awk -F '\t' -v all="$1" '$1 != "verb" && (all || $5 == "shown") {
		if ($1 != "-")
			print "-" $1
		if ($2 != "-")
			print "--" $2
	}' | sort -u
}

# What binary $1 says of its options, and of those of its verbs.
dump()
{
	"$1" --dump-options || return 1
	for verb in $("$1" --dump-options |
		awk -F '\t' '$1 == "verb" && $2 != "-" { print $2 }'); do
		"$1" "$verb" --dump-options || return 1
	done
}

# Lines of $1 that are not in $2, with $3 before and $4 behind them.
missing()
{
	printf '%s\n' "$1" | while IFS= read -r option; do
		[ -n "$option" ] || continue
		printf '%s\n' "$2" | grep -Fqx -e "$option" ||
			printf '%s%s%s\n' "$3" "$option" "$4"
	done
}

problems=
for binary in "$@"; do
	name=${binary##*/}
	page=$mandir/$name.1
	dump=$(dump "$binary") || {
		echo "${0##*/}: $binary --dump-options failed" >&2
		exit 1
	}
	if [ ! -r "$page" ]; then
		problems="$problems$name: $page is missing
"
		continue
	fi
	entries=$(documented "$page")
	shown=$(printf '%s\n' "$dump" | listed '')
	all=$(printf '%s\n' "$dump" | listed 1)
	found=$(
		missing "$shown" "$entries" "$name: option " " is not in $page"
		missing "$entries" "$all" "$name: $page documents " \
			", which the command does not have"
	)
	[ -z "$found" ] || problems="$problems$found
"
done
printf '%s' "$problems"
[ -z "$problems" ]
