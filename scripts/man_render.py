#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Do man pages read the same in mandoc and in groff, and are quotes balanced?

    scripts/man_render.py PAGE...

Prints what differs, and exits with 1.  Without one of the two formatters only
the quotes are checked.
"""
import difflib
import re
import shutil
import subprocess
import sys

WIDTH = 700  # columns: no line is folded in the middle of a quotation


def rendered(command, page):
    """The words of a page as formatted, without header and footer."""
    text = subprocess.run(command + [page], check=True, capture_output=True,
                          text=True).stdout
    text = re.sub("\x1b\\[[0-9;]*m|.\b", "", text)
    lines = [line for line in text.split("\n") if line.strip()]
    return lines[1:-1]


def words(lines):
    # Both write dashes and hyphens, but not the same ones.
    text = " ".join(lines).replace("\u2014", "-").replace("\u2013", "-")
    return text.replace("\u2010", "-").split()


def quotes(page, lines):
    """Quotation marks of one kind inside each other, or never closed."""
    bad = 0
    for line in lines:
        for opening, closing in (("\u2018", "\u2019"), ("\u201c", "\u201d")):
            inside = "[^%s%s]*" % (opening, closing)
            for found in re.findall(opening + inside + opening +
                                    "|" + closing * 2, line):
                print("%s: quotes: %s" % (page, found[-70:]))
                bad = 1
    return bad


def main():
    bad = 0
    both = shutil.which("mandoc") and shutil.which("groff")
    for page in sys.argv[1:]:
        with open(page, encoding="utf-8") as source:
            if source.read(200).split("\n")[0].startswith(".so "):
                continue
        mandoc = groff = None
        if shutil.which("mandoc"):
            mandoc = rendered(["mandoc", "-Tutf8", "-Owidth=%d" % WIDTH], page)
            bad |= quotes(page, mandoc)
        if both:
            groff = rendered(["groff", "-mdoc", "-Tutf8", "-P-cbou",
                              "-rLL=%dn" % WIDTH, "-rHY=0"], page)
            for line in difflib.unified_diff(words(mandoc), words(groff),
                                             "mandoc", "groff", lineterm="",
                                             n=1):
                print("%s: %s" % (page, line))
                bad = 1
    sys.exit(bad)


if __name__ == "__main__":
    main()
