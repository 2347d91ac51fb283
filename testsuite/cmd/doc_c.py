#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Print an example in C of a page as a program text, to compile it.

    doc_c.py PAGE [N]

Without N: the number of examples.  An example is a display in EXAMPLES with a
line that ends in ";".  Its text follows the headers in the page's SYNOPSIS, MPI
and the common ones of C; statements without a function become one.
"""
import re
import sys

HEADERS = ("mpi.h", "stdio.h", "stdlib.h", "string.h")


def plain(text):
    """Text of a roff line."""
    text = text.replace(r"\&", "").replace(r"\-", "-").replace(r"\(aq", "'")
    return text.replace(r"\e", "\\")


def displays(lines):
    """(number of the first line, lines) of each display in EXAMPLES."""
    inside, shown, first = False, None, 0
    for number, line in enumerate(lines, 1):
        if line.startswith(".Sh "):
            inside = line == ".Sh EXAMPLES"
        elif inside and line.startswith(".Bd"):
            shown, first = [], number + 1
        elif line == ".Ed" and shown is not None:
            yield first, shown
            shown = None
        elif shown is not None:
            shown.append(plain(line))


def in_c(text):
    return any(re.search(r";( */\*.*\*/)?$", line) for line in text)


def headers(lines):
    found = [line.split()[1] for line in lines if line.startswith(".In ")]
    return [h for h in HEADERS if h not in found] + found


def main():
    with open(sys.argv[1], encoding="utf-8") as source:
        lines = source.read().split("\n")
    examples = [d for d in displays(lines) if in_c(d[1])]
    if len(sys.argv) < 3:
        print(len(examples))
        return
    first, text = examples[int(sys.argv[2]) - 1]
    for name in headers(lines):
        print("#include <%s>" % name)
    fragment = "{" not in text
    if fragment:
        print("void fragment(void);\nvoid fragment(void)\n{")
    # Warnings name the line of the page.
    print('#line %d "%s"' % (first, sys.argv[1].rsplit("/", 1)[-1]))
    print("\n".join(text))
    if fragment:
        print("}")


if __name__ == "__main__":
    main()
