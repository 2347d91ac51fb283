#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Write an FTI-FF file of layout F with many blocks or containers.

fti_file.py OUT BLOCKS VARIABLES: each block has a container of each variable;
those of the last block are half full.  The checkpoint's id is 3.
"""
import hashlib
import struct
import sys

out, blocks, variables = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
data, records, sums = b"", b"", b""
known = {}
for b in range(blocks):
    containers, dbsize = b"", 0
    for v in range(variables):
        part, dptr = known.get(v, (0, 0))
        size = 16 * (1 + (7 * v + b) % 5)
        used = size // 2 if b == blocks - 1 else size
        chunk = bytes((v + b + k) % 251 for k in range(used))
        digest = hashlib.md5(chunk).digest()
        containers += struct.pack("<ii??QQqq", v + 1, part, True, False, dptr,
                                  len(data), used, size) + digest
        sums += digest
        data += chunk + bytes(size - used)
        known[v] = (part + 1, dptr + size)
        dbsize += size
    records += struct.pack("<iq", variables, dbsize) + containers
meta, size = len(records) + 106, len(data) + len(records) + 106
checksum = hashlib.md5(sums).hexdigest().encode() + bytes(1)
numbers = (size, meta, len(data), size, -1, -1)
digest = hashlib.md5(checksum + struct.pack("<I6q", 7, *numbers)).digest()
with open(out, "wb") as f:
    f.write(data + records + checksum + digest +
            struct.pack("<i6qI", 3, *numbers, 7) + bytes(1))
