#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# check-options.sh MANDIR BINARY... - do the man pages document the options of
# the commands?  Compares `BINARY --dump-options` (opt.h) with MANDIR/NAME.1:
# every option in --help must have an `.It Fl` entry, and every option in such
# an entry must exist.  Prints one line for each violation; the exit status is
# then 1.

set -eu

[ $# -ge 2 ] || {
	echo "usage: ${0##*/} MANDIR BINARY..." >&2
	exit 2
}
mandir=$1
shift

# The options in the list entries of a man page, one on a line: the arguments of
# Fl up to the next macro.  Examples: `.It Fl b Ar ID , Fl -build Ns = Ns Ar
# ID`, `.It Fl q , -quiet`; also on separate lines between Xo and Xc.
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

# The options of a dump, one on a line: those in --help, or all.
listed()
{
	awk -F '\t' -v all="$1" '$1 != "verb" && (all || $5 == "shown") {
		if ($1 != "-")
			print "-" $1
		if ($2 != "-")
			print "--" $2
	}' | sort -u
}

# The option dump of binary $1 and of its verbs.
dump()
{
	"$1" --dump-options || return 1
	for verb in $("$1" --dump-options |
		awk -F '\t' '$1 == "verb" && $2 != "-" { print $2 }'); do
		"$1" "$verb" --dump-options || return 1
	done
}

# Print the lines of $1 that are not in $2, between $3 and $4.
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
