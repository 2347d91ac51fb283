# SPDX-License-Identifier: BSD-3-Clause
"""The metadata formats, read without the project's own code."""
import functools
import operator
import struct
import zlib

MAGIC = b"\x95\x1f\xc3\xf5\x00\x01\x00\x01"


def image(data):
    """The length of the kvtree at the start of a file; None: it is none."""
    if len(data) < 28 or not data.startswith(MAGIC):
        return None
    size, = struct.unpack_from(">Q", data, 8)
    if size < 28 or size > len(data):
        return None
    crc, = struct.unpack_from(">I", data, size - 4)
    return size if zlib.crc32(data[:size - 4]) == crc else None


def decode(data):
    """A kvtree as nested dictionaries; None: it is none."""
    end = image(data)
    if end is None:
        return None

    def table(at):
        count, = struct.unpack_from(">I", data, at)
        at += 4
        out = {}
        for _ in range(count):
            nul = data.index(b"\0", at)
            key = data[at:nul].decode("utf-8", "surrogateescape")
            out[key], at = table(nul + 1)
        return out, at

    try:
        return table(20)[0]
    except (ValueError, struct.error, RecursionError):
        return None


def encode(tree):
    def table(t):
        return struct.pack(">I", len(t)) + b"".join(
            k.encode("utf-8", "surrogateescape") + b"\0" + table(v)
            for k, v in t.items())
    body = table(tree)
    head = MAGIC + struct.pack(">QI", 24 + len(body), 1) + body
    return head + struct.pack(">I", zlib.crc32(head))


def value(tree, *keys):
    for k in keys:
        tree = tree.get(k, {})
    return next(iter(tree), None)


# --- Where the bytes of a stripe are -------------------------------------------
# A piece is (member, is it redundancy, offset, length) of a member's data, its
# files one after the other, or of the body of its redundancy file.

def stripes(scheme, n, k, chunk):
    """All stripes of a set; each one survives the loss of k of its pieces.  For
    PARTNER see there: its stripes have two or more copies of the same bytes."""
    for s in range(n):
        pieces = []
        for m in range(n):
            check = (s - m) % n
            if scheme == "XOR":
                where = (True, 0) if m == s else (False, s if s < m else s - 1)
            elif check < k:
                where = (True, check)
            else:
                d = s - (k if s > m else 0) - (m + k - n if m + k > n else 0)
                where = (False, d)
            pieces.append((m, where[0], where[1] * chunk, chunk))
        yield pieces


def multiply(a, b):
    """In the field of the code (formats.md 5.7)."""
    out = 0
    while b:
        out ^= a * (b & 1)
        a, b = a << 1 ^ (0x11d if a & 0x80 else 0), b >> 1
    return out


@functools.lru_cache(None)
def tables():
    """Products, and inverses; made when they are needed, which most runs do not."""
    times = [bytes(multiply(a, b) for b in range(256)) for a in range(256)]
    return times, [row.find(1) for row in times]


def weight(points, i, y):
    """Of the value at points[i], in the value at y of the polynomial."""
    times, inverse = tables()
    out = 1
    for j, x in enumerate(points):
        if j != i:
            out = times[out][times[y ^ x][inverse[points[i] ^ x]]]
    return out


def adds_up(scheme, n, k, chunk, changes):
    """Are changes of the pieces of a stripe those of another valid stripe?  A change
    is (member, check piece or None, number of `chunk` bytes or None: lost).  A stripe
    of RS is a polynomial of n - k coefficients: its value at m is the data of member
    m, or 0 if that holds a check piece; at n + i it is check piece i."""
    left = [(m if check is None else n + check, change.to_bytes(chunk, "little"))
            for m, check, change in changes if change is not None]
    if len(left) <= n - k:
        return True
    if scheme == "XOR":
        return not any(map(lambda *b: functools.reduce(operator.xor, b), *(v for _, v in left)))
    zeros = [m for m, check, _ in changes if check is not None]
    known = [x for x, _ in left[:n - k]] + zeros
    for y, value in left[n - k:]:
        must = [0] * chunk
        for i, (_, v) in enumerate(left[:n - k]):
            times = tables()[0][weight(known, i, y)]
            must = [a ^ times[b] for a, b in zip(must, v)]
        if bytes(must) != value:
            return False
    return True
