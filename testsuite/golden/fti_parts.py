#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""fti_parts.py FILE: of the parts of FILE that the lines "ID OFFSET SIZE" on
standard input name, those of one id joined, print "ID SHA256", by id."""
import hashlib
import sys

with open(sys.argv[1], "rb") as f:
    data = f.read()
sums = {}
for line in sys.stdin:
    number, at, size = (int(word) for word in line.split())
    sums.setdefault(number, hashlib.sha256()).update(data[at : at + size])
for number in sorted(sums):
    print(number, sums[number].hexdigest())
