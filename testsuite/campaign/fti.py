#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Random checkpoints of FTI with one to four damages of life each, and what scr_fti
says and does about them.  The truth is known.  A case is a number: the same seed and
number make the same case.

    fti.py [--cases N] [--seed S] [--case NUMBER] [--jobs N] [--seconds T] [--form F]
    fti.py --sweep [--cases N] [--seed S]

Asserted: never whole with other bytes at the strongest check; never lost if a copy,
parity or repair gives the bytes; nothing right altered; after status 0 of a rebuild
all right; what is called rebuildable is rebuilt; each next: followed ends well.
"""
import argparse
import hashlib
import json
import os
import random
import re
import shlex
import shutil
import struct
import subprocess
import sys
import tempfile
import time
from collections import Counter
from multiprocessing import Pool

EXEC = "2026-01-01_00-00-00"
STEPS = 5
TIME = 1_790_000_000_000_000_000

# Layouts: bytes of the metadata, block and container records; of numbers.
LAYOUTS = {"A": (96, 12, 64, "q"), "B": (90, 12, 62, "q"), "C": (110, 12, 62, "q"),
           "D": (110, 12, 58, "q"), "E": (82, 8, 50, "i"), "F": (106, 12, 58, "q")}


def container(layout, var, at, data, part=0, dptr=0, room=0):
    """With `room` an emptied one, which keeps an old sum."""
    number = LAYOUTS[layout][3]
    out = struct.pack("<i", var)
    if layout in "ABC":
        out += struct.pack("<i", var - 1)
    out += struct.pack("<i?", part, room == 0)
    out += bytes(3) if layout == "A" else bytes(1)
    out += struct.pack("<QQ", dptr, at)
    out += struct.pack("<2" + number, len(data), room or len(data))
    return out + hashlib.md5(data).digest()


def ff_file(layout, parts, when):
    """A file of FTI-FF with one container for each variable; checkpoint 1."""
    meta, block, record, number = LAYOUTS[layout]
    first = layout in "AB"
    head = block + len(parts) * record
    at, records = (meta + head if first else 0), b""
    for i, data in enumerate(parts):
        records += container(layout, i + 1, at, data)
        at += len(data)
    body = b"".join(parts)
    dbsize = len(body) + (head if first else 0)
    blocks = struct.pack("<i" + number, len(parts), dbsize) + records
    size = meta + len(blocks) + len(body)
    if layout == "A":
        checksum = hashlib.md5(blocks + body)
    elif layout == "B":
        checksum = hashlib.md5(body)
    else:
        checksum = hashlib.md5(b"".join(hashlib.md5(p).digest() for p in parts))
    checksum = checksum.hexdigest().encode() + bytes(1)
    sizes = [size] if first else [size, meta + len(blocks), len(body)]
    numbers = sizes + [size, -1, -1]  # fs, maxFs, ptFs
    stamp = struct.pack("<q", when) if layout in "ABCD" else struct.pack(
        "<I", when & 0xffffffff)
    digest = hashlib.md5(checksum + stamp + struct.pack(
        "<%d%s" % (len(numbers), number), *numbers)).digest()
    out = checksum + digest
    if layout == "A":
        out += bytes(7)
    elif not first:
        out += struct.pack("<i", 1)
    out += struct.pack("<%d%s" % (len(numbers), number), *numbers) + stamp
    out += bytes(meta - len(out))
    return out + blocks + body if first else body + blocks + out


def shrunk_file(layout, parts, when):
    """The same of C to F; variables have become smaller, and each has a second
    container, which is empty."""
    meta, block, record, number = LAYOUTS[layout]
    at, records = 0, b""
    for i, data in enumerate(parts):
        records += container(layout, i + 1, at, data)
        at += len(data)
    first = struct.pack("<i" + number, len(parts), at) + records
    records = b""
    for i, data in enumerate(parts):
        records += container(layout, i + 1, at, b"", 1, len(data), 7 + i)
        at += 7 + i
    rest = sum(7 + i for i in range(len(parts)))
    data = b"".join(parts) + bytes(rest)
    out = data + first + struct.pack("<i" + number, len(parts), rest) + records
    size = len(out) + meta
    return seal(layout, out + bytes(33 + 16) + struct.pack("<i", 1) + struct.pack(
        "<6" + number, size, size - len(data), len(data), size, -1, -1) + (
            struct.pack("<q", when) if layout in "CD" else struct.pack(
                "<I", when & 0xffffffff)) + bytes(1), False)


def seal(layout, data, stale):
    """Set the sums of such a file: as it should be, or as FTI writes it, which sums
    what emptied containers have kept."""
    meta, block, record, number = LAYOUTS[layout]
    head = len(data) - meta
    start = struct.unpack_from("<" + number, data, head + 53 + 2 * struct.calcsize(
        number))[0]
    out, sums, at = bytearray(data), b"", start
    while at < head:
        count = struct.unpack_from("<i", data, at)[0]
        at += block
        for _ in range(count):
            flags = at + (12 if layout == "C" else 8)
            if stale and not out[flags]:
                out[at + record - 16:at + record] = hashlib.md5(
                    b"old %d" % at).digest()
            if stale or out[flags]:
                sums += out[at + record - 16:at + record]
            at += record
    checksum = hashlib.md5(sums).hexdigest().encode() + bytes(1)
    numbers = struct.unpack_from("<6" + number, data, head + 53)
    stamp = data[head + 53 + 6 * struct.calcsize(number):-1]
    digest = hashlib.md5(checksum + stamp + struct.pack(
        "<6" + number, *numbers[:4], numbers[5], numbers[4])).digest()
    out[head:head + 49] = checksum + digest
    return bytes(out)


# --- A shape: one checkpoint, and one of an older run at the same places ---


class Shape:
    def __init__(self, scr_fti, work, form, level, k, nodes, per_node):
        self.form, self.shrunk = form.replace("shrunk ", ""), form.startswith("shrunk")
        self.level, self.k = level, k
        self.nodes, self.per_node = nodes, per_node
        self.n = nodes * per_node
        self.record = 0 if form == "posix" else LAYOUTS[self.form][0]
        self.base = self.build(scr_fti, work, 0)
        self.older = self.build(scr_fti, work, 1)
        self.intact = set()
        for tree in (self.base, self.older):
            self.intact |= {hashlib.md5(d).digest() for p, d in tree.items()
                            if "/Ckpt1-" in p}

    def __str__(self):
        return "%s%s L%d, %d nodes of %d, groups of %d" % (
            "shrunk " * self.shrunk, self.form, self.level, self.nodes, self.per_node, self.k)

    def dir(self, node, level):
        if level == 4:
            return "Global/%s/l4" % EXEC
        return "Local/node%d/%s/l%d" % (node, EXEC, level)

    def own(self, r):
        return "%s/Ckpt1-Rank%d.fti" % (self.dir(r // self.per_node, self.level), r)

    def member(self, r):
        return r // self.per_node % self.k

    def neighbour(self, r, step):
        node = r // self.per_node
        first = node - node % self.k
        return (first + (node - first + step) % self.k) * self.per_node + (
            r % self.per_node)

    def copy(self, r):
        right = self.neighbour(r, 1)
        return "%s/Ckpt1-Pcof%d.fti" % (self.dir(right // self.per_node, 2), right)

    def parity(self, r):
        return "%s/Ckpt1-RSed%d.fti" % (self.dir(r // self.per_node, 3), r)

    def sector(self, r):
        return "Meta/%s/l%d/sector0-group%d.fti" % (EXEC, self.level, r)

    def group(self, r):
        return [self.neighbour(r, i) for i in range(self.k)]

    def build(self, scr_fti, work, run):
        rng = random.Random("%s %d" % (self, run))
        sizes = random.Random(str(self))
        files, first = {}, 1 if self.level in (2, 3) else self.level
        files["config.fti"] = (
            "[basic]\nhead = 0\nnode_size = %d\nckpt_dir = ./Local\n"
            "glbl_dir = ./Global\nmeta_dir = ./Meta\ngroup_size = %d\nckpt_io = %d\n"
            "[restart]\nfailure = 1\nexec_id = %s\n[advanced]\nlocal_test = 1\n" % (
                self.per_node, self.k, 1 if self.form == "posix" else 3,
                EXEC)).encode()
        files["Meta/%s/Topology.fti" % EXEC] = ("[topology]\n" + "".join(
            "%d = node%d\n" % (i, i) for i in range(self.nodes))).encode()
        content = {}
        for r in range(self.n):
            parts = [rng.randbytes(sizes.randrange(1, 400)) for _ in range(2)]
            content[r] = parts
            name = "%s/Ckpt1-Rank%d.fti" % (self.dir(r // self.per_node, first), r)
            write = shrunk_file if self.shrunk else ff_file
            files[name] = (b"".join(parts) if self.form == "posix" else write(
                self.form, parts,
                TIME - run * 7_200_000_000_000 + rng.randrange(1 << 30)))
        if self.form == "posix":
            self.describe(files, content, first)
        at = os.path.join(work, "build")
        shutil.rmtree(at, ignore_errors=True)
        write_tree(at, files)
        if self.level in (2, 3):
            subprocess.run([scr_fti, "protect", "-q", "--level", str(self.level), at],
                           check=True)
            for name in [p for p in files if "/l1/" in p]:
                os.unlink(os.path.join(at, name))
        if self.shrunk:
            files = {p: seal(self.form, d, True) if "Rank" in p else d
                     for p, d in read_tree(at).items() if "RSed" not in p}
            shutil.rmtree(at)
            write_tree(at, files)
            subprocess.run([scr_fti, "rebuild", "-q", at], check=True)
        return read_tree(at)

    def describe(self, files, content, level):
        for s in range(self.nodes // self.k):
            for g in range(self.per_node):
                ranks = [(s * self.k + m) * self.per_node + g for m in range(self.k)]
                most = max(sum(map(len, content[r])) for r in ranks)
                text = "[ckpt_info]\nckpt_type = full\nckpt_id = 1\n"
                for m, r in enumerate(ranks):
                    body = b"".join(content[r])
                    text += ("[%d]\nckpt_file_name = Ckpt1-Rank%d.fti\n"
                             "ckpt_file_size = %d\nckpt_file_maxs = %d\n"
                             "ckpt_checksum = %s\n" % (
                                 m, r, len(body), most,
                                 hashlib.md5(body).hexdigest()))
                    at = 0
                    for i, part in enumerate(content[r]):
                        text += ("var%d_id = %d\nvar%d_size = %d\nvar%d_pos = %d\n" % (
                            i, i + 1, i, len(part), i, at))
                        at += len(part)
                files["Meta/%s/l%d/sector%d-group%d.fti" % (
                    EXEC, level, s, g)] = text.encode()


SHAPES = [(form, level, k, nodes, per)
          for form in ("A", "B", "C", "D", "E", "F", "posix")
          for level in (1, 2, 3, 4)
          for k, nodes, per in ((4, 4, 1), (2, 2, 2), (3, 6, 1), (4, 4, 2))]
SHAPES += [("shrunk " + form, 3, k, nodes, per) for form in "CDEF"
           for k, nodes, per in ((4, 4, 1), (2, 2, 2), (3, 6, 1), (4, 4, 2))]


def read_tree(root):
    out = {}
    for at, _, names in os.walk(root):
        for name in names:
            path = os.path.join(at, name)
            if name.startswith(".scrkit") or not os.path.isfile(path):
                continue
            mode = os.stat(path).st_mode
            if not mode & 0o400:
                os.chmod(path, 0o400)
            with open(path, "rb") as f:
                out[os.path.relpath(path, root)] = f.read()
            if not mode & 0o400:
                os.chmod(path, mode & 0o7777)
    return out


def write_tree(root, files):
    for path, data in files.items():
        full = os.path.join(root, path)
        os.makedirs(os.path.dirname(full), exist_ok=True)
        with open(full, "wb") as f:
            f.write(data)


# --- Damages ---


def unprotected(shape, path, at):
    """Bytes that no sum of a file of FTI-FF covers."""
    size = len(shape.base[path])
    if shape.form == "posix" or "RSed" in path:
        return False
    if shape.shrunk:
        return True
    meta, block, record, _ = LAYOUTS[shape.form]
    start = 0 if shape.form in "AB" else size - meta
    if start <= at < start + meta:
        if shape.form == "A":
            return 49 <= at - start < 56
        return at == start + meta - 1 or (
            shape.form not in "AB" and 49 <= at - start < 53)
    first = meta if shape.form in "AB" else size - meta - block - 2 * record
    if shape.form != "A" and first + block <= at < first + block + 2 * record:
        place = (at - first - block) % record
        flags = 12 if shape.form in "BC" else 8
        return place < 4 or (shape.form in "BC" and place < 8) or place == flags + 1
    return False


def invent(rng, shape, tree):
    """A random damage, as a list of (path, bytes or None), and its words."""
    kind = rng.choice(["delete"] * 4 + ["cut"] * 2 + ["flip"] * 6 + ["older"] * 3 +
                      ["swap", "over", "node", "foreign", "foreign", "rank"])
    if kind in ("node", "foreign"):
        node = rng.randrange(shape.nodes)
        paths = [p for p in shape.base if p.startswith("Local/node%d/" % node)]
        return "%s %d" % (kind, node), [
            (p, None if kind == "node" else shape.older[p]) for p in paths]
    if kind == "rank":
        r = rng.randrange(shape.n)
        return "rank %d" % r, [(p, None) for p in (
            shape.own(r), shape.parity(r)) if p in tree]
    names = sorted(p for p in tree if "/Ckpt1-" in p)
    if rng.random() < 0.12:
        names = sorted(p for p in tree if p.startswith("Meta/"))
    if not names:
        return "", []
    path = rng.choice(names)
    data = tree[path]
    if kind == "delete":
        return "delete " + path, [(path, None)]
    if kind == "cut" and data:
        size = rng.randrange(len(data)) if rng.random() < 0.7 else len(data) - 1
        return "cut %s %d" % (path, size), [(path, data[:size])]
    if kind == "flip" and data:
        at = rng.randrange(len(data))
        bit = 1 << rng.randrange(8)
        if path.startswith("Meta/") and rng.random() < 0.6:
            at = max(data.find(b"checksum = "), 0) + 11 + rng.randrange(20)
            bit = 1
        if at >= len(data):
            return "", []
        return "flip %s %d %d" % (path, at, bit), [
            (path, data[:at] + bytes([data[at] ^ bit]) + data[at + 1:])]
    if kind == "older" and "/Ckpt1-" in path:
        return "older " + path, [(path, shape.older[path])]
    if kind in ("swap", "over") and "/Ckpt1-" in path:
        alike = [p for p in names if p != path and p in tree and
                 os.path.basename(p)[:10] == os.path.basename(path)[:10]]
        if alike:
            other = rng.choice(alike)
            return "%s %s %s" % (kind, path, other), [(path, tree[other])] + (
                [(other, data)] if kind == "swap" else [])
    return "", []


# --- The truth ---


class Truth:
    def __init__(self, shape, tree, weak):
        self.shape, self.tree, self.weak = shape, tree, weak
        s = shape
        self.meta = all(tree.get(p) == s.base[p] for p in s.base
                        if p.startswith("Meta/") and "sector" in p)

    def right(self, path, tree=None):
        s, data = self.shape, (self.tree if tree is None else tree).get(path)
        want = s.base[path]
        if data is None or "RSed" not in path:
            return data == want
        return len(data) == len(want) and data[:len(data) - s.record] == want[
            :len(want) - s.record]

    def exact(self, path):
        return self.tree.get(path) == self.shape.base[path]

    def other(self, path):
        """Is it intact, but wrong?"""
        data = self.tree.get(path)
        if data is None or self.right(path):
            return False
        older = self.shape.older.get(path, b"")
        return path in self.weak or (self.shape.form != "posix" and (
            hashlib.md5(data).digest() in self.shape.intact or
            # No sum tells it from that of the older run.
            (len(data) == len(older) and all(
                a == b or unprotected(self.shape, path, i)
                for i, (a, b) in enumerate(zip(data, older))))))

    def members(self, r):
        return [f(q) for q in self.shape.group(r)
                for f in (self.shape.own, self.shape.parity)]

    def recoverable(self):
        s = self.shape
        for r in range(s.n):
            if self.exact(s.own(r)):
                continue
            if s.level == 2 and self.exact(s.copy(r)):
                continue
            if s.level == 3 and sum(map(self.exact, self.members(r))) >= s.k:
                continue
            return False
        return True

    def foreign_group(self):
        """The files of the older run, or wrong ones that fit each other, are enough:
        nobody can see it."""
        s = self.shape
        for r in range(s.n):
            if s.level == 2 and self.other(s.own(r)) and self.tree.get(
                    s.own(r)) == self.tree.get(s.copy(r)):
                return True
            if s.level == 3 and sum(map(self.other, self.members(r))) >= s.k:
                return True
        return False

    def witnessed(self, r):
        """Does anything contradict the wrong file of this rank?"""
        s, path = self.shape, self.shape.own(r)
        if s.level == 2:
            return self.exact(s.copy(r))
        if s.level == 3:
            m = self.members(r)
            n = sum(self.exact(p) or self.other(p) for p in m)
            data = [s.own(q) for q in s.group(r)]
            return n > s.k or (n == s.k and not all(
                self.exact(p) or self.other(p) for p in data))
        return any(self.tree.get(s.own(q)) == self.tree[path]
                   for q in range(s.n) if q != r)

    def all_right(self, tree=None):
        s = self.shape
        return all(self.right(s.own(r), tree) for r in range(s.n))

    def unseen(self):
        """A wrong file that nothing contradicts."""
        s = self.shape
        return any(self.other(s.own(r)) and not self.witnessed(r) or
                   s.level == 2 and self.other(s.copy(r)) and not (
                       self.exact(s.own(r)) or self.other(s.own(r)))
                   for r in range(s.n))


# --- A case ---


class Failure(Exception):
    pass


class Case:
    def __init__(self, scr_fti, work, shape, number, seed):
        self.scr_fti, self.shape = scr_fti, shape
        self.root = os.path.join(work, "c")
        self.log = []
        rng = random.Random("%d %d" % (seed, number))
        tree, weak = dict(shape.base), set()
        for _ in range(rng.choice([1, 1, 2, 2, 3, 4])):
            words, changes = invent(rng, shape, tree)
            if not changes:
                continue
            self.log.append(words)
            for path, data in changes:
                if data is None:
                    tree.pop(path, None)
                else:
                    tree[path] = data
            if words.startswith("flip"):
                path, at = words.split()[1:3]
                before = shape.base.get(path, b"")
                if "/Ckpt1-" in path and len(before) == len(tree[path]) and (
                        unprotected(shape, path, int(at))):
                    weak.add(path)
        # More than one damage of such a file: a sum may see it.
        weak = {p for p in weak if sum(p in w for w in self.log) == 1}
        self.tree = tree
        self.truth = Truth(shape, tree, weak)

    def run(self, *args):
        p = subprocess.run([self.scr_fti, *args], capture_output=True, text=True,
                           errors="replace", timeout=60)
        self.log.append("$ scr_fti %s -> %d %s" % (
            " ".join(args), p.returncode, (p.stderr or p.stdout * (p.stdout[:1] != "{")).strip()[:300]))
        if p.returncode not in (0, 1, 2, 3, 4) or "Sanitizer" in p.stderr:
            raise Failure("status %d: %s" % (p.returncode, p.stderr))
        return p

    def scan(self, *options):
        p = self.run("scan", "--json", *options, self.root)
        if p.returncode in (0, 1, 3, 4) and p.stdout.startswith("{"):
            answer = json.loads(p.stdout)
            sets = [c for e in answer.get("executions", []) for c in e["fti_checkpoints"]]
            if len(sets) == 1:
                self.log[-1] += " %s: %s" % (sets[0]["state"], sets[0].get("reason"))
                return sets[0]["state"], answer.get("next"), p.returncode
        return "unknown", None, p.returncode

    def check(self, condition, words):
        if not condition:
            raise Failure(words)

    def kept(self):
        """Is all that was right still right?"""
        now = read_tree(self.root)
        for p in self.shape.base:
            if self.tree.get(p) == self.shape.base[p]:
                self.check(self.truth.right(p, now), "altered: " + p)
        return now

    def play(self):
        s, t = self.shape, self.truth
        shutil.rmtree(self.root, ignore_errors=True)
        write_tree(self.root, self.tree)
        if not any("/Ckpt1-" in p for p in self.tree) or t.foreign_group():
            return "skipped"
        for options in ((), ("--checksums",)):
            state, following, status = self.scan(*options)
            self.check(state != "lost" or not t.recoverable(),
                       "lost, and could be recovered")
        self.check(state != "whole" or t.all_right() or t.unseen(),
                   "whole, with other bytes")
        self.check(state != "whole" or status in (0, 3), "whole, and status")
        if t.unseen():
            return "unseen"
        if s.level in (2, 3):
            p = self.run("rebuild", "--checksums", self.root)
            now = self.kept()
            again, _, _ = self.scan("--checksums")
            if p.returncode == 0:
                self.check(t.all_right(now), "status 0, and files are wrong")
                self.check(again in ("whole", "refused"), "status 0, then " + again)
            self.check(state != "rebuildable" or again in ("whole", "refused"),
                       "rebuildable, but not rebuilt")
            shutil.rmtree(self.root)
            write_tree(self.root, self.tree)
            self.run("rebuild", self.root)
            self.kept()
            shutil.rmtree(self.root)
            write_tree(self.root, self.tree)
        first, (state, now) = state, self.follow(state, following)
        mended = ("rebuildable", "whole") + ("refused",) * s.shrunk
        if first in mended and t.recoverable() and t.meta:
            self.check(state == "whole" and t.all_right(now),
                       "next: ends with " + state)
        return first

    def follow(self, state, following):
        """Run each next: to its end.  The state then, and the files."""
        seen, now = set(), read_tree(self.root)
        while following is not None:
            step = following + hashlib.md5(repr(sorted(now.items())).encode()
                                           ).hexdigest()
            self.check(step not in seen, "next: goes round")
            self.check(len(seen) < STEPS, "next: has no end")
            seen.add(step)
            words = shlex.split(following)
            if words[0] == "scr_fti":
                self.run(*words[1:])
            else:
                subprocess.run(words, check=True)
            now = self.kept()
            state, following, _ = self.scan("--checksums")
        return state, now

    def body(self, path, data):
        """The bytes of a file that are in no record."""
        meta, block, record, _ = LAYOUTS[self.shape.form]
        size = meta if "RSed" in path else meta + block + 2 * record
        return data[size:] if self.shape.form in "AB" and "RSed" not in path else data[
            :len(data) - size]

    def play_flip(self, path):
        """One bit of a record of this file is wrong: it comes back bit for bit, unless
        no sum covers it; or the checkpoint is unknown.  Metadata stay as they are,
        but for a checksum of parity that they lack."""
        shutil.rmtree(self.root, ignore_errors=True)
        write_tree(self.root, self.tree)
        state, following, _ = self.scan()
        self.check(state != "lost", "lost, and no data was read")
        self.check(state != "unknown" or self.shape.level in (2, 3) or following or
                   self.scan("--checksums")[0] == state, "no next: to --checksums")
        state, following, _ = self.scan("--checksums")
        self.check(state != "lost", "lost")
        state, now = self.follow(state, following)
        if path.startswith("Meta/"):
            same = ini(self.shape.base[path], self.shape.level) <= ini(
                now[path], self.shape.level)
            self.check(state != "lost" and (now[path] == self.tree[path] or same),
                       "metadata: " + state)
            self.check(state != "whole" or same or not self.log[-1].endswith(": None"),
                       "whole, without a reason")
            return state
        self.check(state in ("whole", "unknown"), "next: ends with " + state)
        self.check(state == "unknown" or path in self.truth.weak or
                   self.truth.right(path, now), "whole, and not as before")
        self.check(self.body(path, now[path]) == self.body(
            path, self.shape.base[path]), "other data")
        return state


# --- The sweep: each bit of the records of a file ---


def flips():
    """(shape, kind of file, offset in its records, bit) of all."""
    for form, (meta, block, record, _) in sorted(LAYOUTS.items()):
        for level, kind in ((1, "own"), (2, "own"), (2, "copy"), (3, "own"),
                            (3, "parity"), (4, "own")):
            size = meta if kind == "parity" else meta + block + 2 * record
            for bit in range(8 * size):
                yield (form, level, 2, 2, 1), kind, bit // 8, 1 << bit % 8
            # Whole fields, or parts of two.
            for at in range(size):
                for fill in (b"\0" * 4, b"\xff" * 4, b"\0" * 8, b"\xff" * 8,
                             b"\x7f" + b"\xff" * 3):
                    yield (form, level, 2, 2, 1), kind, at, fill[:size - at]
    for level in (1, 2, 3, 4):
        for bit in range(8 * 480):
            yield ("posix", level, 4, 4, 2), "values", bit // 8, 1 << bit % 8


# Those that were found by other seeds, and mended: advice that went round, or lost.
FOUND = [((form, level, 2, 2, 1), "own", at, fill) for form, level, at, fill in (
    ("A", 4, 169, b"\0" * 4), ("C", 4, 228, b"\0" * 4), ("E", 1, 31, b"\xff" * 8),
    ("E", 1, 162, b"\0" * 8), ("E", 1, 180, b"\0" * 8))]


def values(shape, path):
    """Where metadata have the names, sizes and sums of files, with their keys."""
    return [at for m in re.finditer(rb"^(?:ckpt_file|ckpt_check|rsed)\w+ *= *(.*)",
                                    shape.base[path], re.M)
            for at in range(m.start(), m.end(1))]


def ini(data, level):
    """What FTI reads in metadata of this level: (section, key, value).  Only level 3 has
    parity."""
    out, section = set(), b""
    for line in data.splitlines():
        key, _, value = line.partition(b"=")
        key = key.strip().lower()
        if line.startswith(b"["):
            section = line.strip()
        elif level == 3 or not (key.startswith(b"rsed") or key == b"ckpt_file_maxs"):
            out.add((section, key, value.strip().lstrip(b"0")))
    return out


def flip(task):
    key, kind, at, bit = task
    work = os.path.join(WORK, str(os.getpid()))
    os.makedirs(work, exist_ok=True)
    if key not in KNOWN:
        KNOWN[key] = Shape(OPTIONS.scr_fti, work, *key)
    shape = KNOWN[key]
    path = {"own": shape.own, "copy": shape.copy, "parity": shape.parity,
            "values": shape.sector}[kind](1)
    data = shape.base[path]
    if kind == "values":
        at = values(shape, path)[at]
    elif kind == "parity":
        at += len(data) - shape.record
    elif shape.form not in "AB":
        meta, block, record, _ = LAYOUTS[shape.form]
        at += len(data) - meta - block - 2 * record
    case = Case(OPTIONS.scr_fti, work, shape, 0, 0)
    fill = bit if isinstance(bit, bytes) else bytes([data[at] ^ bit])
    fill = fill[:len(data) - at]
    case.log = ["set %s %d %s" % (path, at, fill.hex())]
    case.tree = dict(shape.base)
    case.tree[path] = data[:at] + fill + data[at + len(fill):]
    # Of a whole field behind the checksum of the file no sum is left.
    case.truth = Truth(shape, case.tree, {path} if isinstance(bit, bytes) or unprotected(
        shape, path, at) else set())
    try:
        return case.play_flip(path), None
    except (Failure, subprocess.SubprocessError, json.JSONDecodeError) as e:
        return "failed", "%s\n  %s\n  %s" % (shape, "\n  ".join(case.log), e)


def sweep():
    tasks = list(flips())
    if OPTIONS.cases < len(tasks):
        tasks = FOUND + random.Random(OPTIONS.seed).sample(tasks, OPTIONS.cases)
    states = Counter()
    with Pool(OPTIONS.jobs) as pool:
        for state, why in pool.imap_unordered(flip, tasks, 20):
            states[state] += 1
            if why is not None:
                print(why, flush=True)
    print("%d flips; %s" % (len(tasks), ", ".join(
        "%s %d" % s for s in sorted(states.items()))))
    return states["failed"] > 0


# --- Main ---

OPTIONS = None
WORK = None
KNOWN = {}


def one(number):
    rng = random.Random("shape %d %d" % (OPTIONS.seed, number // 20))
    key = rng.choice([s for s in SHAPES if OPTIONS.form in s[0]])
    work = os.path.join(WORK, str(os.getpid()))
    os.makedirs(work, exist_ok=True)
    if key not in KNOWN:
        KNOWN[key] = Shape(OPTIONS.scr_fti, work, *key)
    case = Case(OPTIONS.scr_fti, work, KNOWN[key], number, OPTIONS.seed)
    try:
        return number, case.play(), None
    except (Failure, subprocess.SubprocessError, json.JSONDecodeError) as e:
        return number, "failed", "%s\n  %s\n  %s" % (
            KNOWN[key], "\n  ".join(case.log), e)


def main():
    global OPTIONS, WORK
    p = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    p.add_argument("--sweep", action="store_true",
                   help="flips of so many bits of records instead")
    p.add_argument("--cases", type=int, default=200)
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--case", type=int, help="only this one, and leave its files")
    p.add_argument("--jobs", type=int, default=os.cpu_count())
    p.add_argument("--seconds", type=float, help="stop after so long")
    p.add_argument("--form", default="", help="only these shapes: shrunk, posix, A ...")
    p.add_argument("--bin", default=os.environ.get("BIN", "build/plain/bin"))
    OPTIONS = p.parse_args()
    OPTIONS.scr_fti = os.path.abspath(os.path.join(OPTIONS.bin, "scr_fti"))
    WORK = tempfile.mkdtemp(prefix="fti-campaign.", dir=os.environ.get("TMPDIR"))
    if OPTIONS.sweep:
        wrong = sweep()
        shutil.rmtree(WORK)
        return wrong
    states, failed, start = Counter(), 0, time.monotonic()
    if OPTIONS.case is not None:
        number, state, why = one(OPTIONS.case)
        print("case %d: %s\n  %s\nfiles: %s" % (number, state, why, WORK))
        return why is not None
    with Pool(OPTIONS.jobs) as pool:
        for number, state, why in pool.imap_unordered(one, range(OPTIONS.cases), 20):
            states[state] += 1
            if why is not None:
                failed += 1
                print("case %d, seed %d: %s" % (number, OPTIONS.seed, why), flush=True)
            if OPTIONS.seconds and time.monotonic() - start > OPTIONS.seconds:
                pool.terminate()
                break
    shutil.rmtree(WORK)
    print("%d cases, %d failed; %s; %.0f s" % (
        sum(states.values()), failed,
        ", ".join("%s %d" % s for s in sorted(states.items())),
        time.monotonic() - start))
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
