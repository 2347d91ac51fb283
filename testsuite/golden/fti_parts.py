#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Of the parts of files that the lines "ID OFFSET SIZE FILE" on standard input
name, those of one id joined, print "FILE ID SHA256", by id."""
import hashlib
import sys

data, sums = {}, {}
for line in sys.stdin:
    number, at, size, name = line.rstrip("\n").split(" ", 3)
    if name not in data:
        with open(name, "rb") as f:
            data[name] = f.read()
        sums[name] = {}
    part = data[name][int(at) : int(at) + int(size)]
    sums[name].setdefault(int(number), hashlib.sha256()).update(part)
for name, found in sums.items():
    for number in sorted(found):
        print(name, number, found[number].hexdigest())
