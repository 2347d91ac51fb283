#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Print the commands of README or of a page's EXAMPLES, to run them.

    doc_commands.py FILE

A command is an indented line "$ COMMAND"; "> MORE" continues it.  Each is
printed as a line "LINE<TAB>COMMAND", commands of one example together and an
empty line after each example.  In the command a line break is "\\n".  Before it
are the lines of its output, as "=<TAB>TEXT".
"""
import re
import sys


def plain(text):
    """Text of a roff line."""
    text = text.replace(r"\&", "").replace(r"\-", "-").replace(r"\(aq", "'")
    return text.replace(r"\e", "\\")


def of_page(lines):
    """(number, text) of each displayed line in EXAMPLES; None between two
    displays."""
    inside = display = False
    for number, line in enumerate(lines, 1):
        if line.startswith(".Sh "):
            inside = line == ".Sh EXAMPLES"
        elif inside and line.startswith(".Dl "):
            yield number, plain(line[4:])
            yield None
        elif inside and line.startswith(".Bd"):
            display = True
        elif line == ".Ed":
            display = False
            yield None
        elif inside and display:
            yield number, plain(line)


def of_text(lines):
    for number, line in enumerate(lines, 1):
        if line.startswith("    "):
            yield number, line[4:]
        elif line.strip():
            yield None


def main():
    with open(sys.argv[1], encoding="utf-8") as source:
        lines = source.read().split("\n")
    page = not sys.argv[1].endswith(".md")
    example = []
    for item in list(of_page(lines) if page else of_text(lines)) + [None]:
        if item is None:
            if example:
                for number, command, output in example:
                    for line in output:
                        print("=\t" + line)
                    print("%d\t%s" % (number, command))
                print()
            example = []
            continue
        number, text = item
        if re.match(r"\$ ", text):
            example.append((number, text[2:], []))
        elif re.match("> ", text) and example:
            first, command, output = example[-1]
            example[-1] = first, command + "\\n" + text[2:], output
        elif example and text.strip() != "...":
            example[-1][2].append(text)


if __name__ == "__main__":
    main()
