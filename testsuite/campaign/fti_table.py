#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The table of evidence of a checkpoint of FTI: every combination of the states of its
witnesses, the verdict that follows, and whether the commands of scr_fti say it.

    fti_table.py [--sample N] [--seed S] [--jobs N] [--only WORDS] [--row NUMBER]

A witness is the file of a rank, its copy, parity, the same file at another level, the
metadata of the group, Topology.fti or config.fti.  Compared: the words and the status
of scan (also without --checksums, when it must not say more), of restart, and of
rebuild, whose dry run must promise what the run does, with and without --checksums.
Nothing right is altered, and each next: is followed to its end: what can be recovered
is whole then.
"""
import argparse
import json
import os
import random
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from itertools import product
from multiprocessing import Pool

import fti
from fti import LAYOUTS, Case, Failure, Shape, Truth, read_tree, write_tree

RIGHT, MISSING, CUT, FLIPPED, RECORD, OLDER, RANK, CLOSED, PLACE, DANGLING, LINK = (
    "right missing cut flipped record older rank closed place dangling link".split())
FILE = (RIGHT, MISSING, CUT, FLIPPED, RECORD, OLDER, RANK, CLOSED, PLACE, DANGLING, LINK)
SOME = (RIGHT, MISSING, FLIPPED, OLDER, RANK, CLOSED)
META = (RIGHT, MISSING, CUT, "size", "name", "sum", OLDER, "group", CLOSED)
STATUS = {"whole": 0, "refused": 3, "rebuildable": 3, "lost": 4, "unknown": 1}

# What the state of a file is evidence of.  A sum of POSIX files covers all of them.
# What is cut has no records, and in A a sum is over the other: no sum disproves the data.
GONE, OPEN, MENDABLE, FOREIGN, UNASKED = "gone open mendable foreign unasked".split()


def evidence(shape, path, state):
    if state in (RIGHT, LINK):
        return RIGHT
    if state in (CLOSED, PLACE, DANGLING):
        return UNASKED
    if state == RECORD and "RSed" not in path and shape.form != "posix":
        return MENDABLE
    if state in (OLDER, RANK) and shape.form != "posix":
        return FOREIGN
    if "RSed" not in path and shape.form != "posix" and (
            state == CUT or (state == FLIPPED and shape.form == "A")):
        return OPEN
    return GONE


def dated(shape):
    return shape.form in "ABCD"


# --- The verdicts: a set of words, of which one must be said ---


def alone(shape, files, states):
    """A file without a partner: of an older one only its time tells."""
    (e,), (s,) = evidences(shape, files, states), states
    return {RIGHT: {"whole"}, GONE: {"lost"}, OPEN: {"unknown"}, MENDABLE: {"refused"},
            UNASKED: {"unknown"}, FOREIGN: {
                "whole" if s == OLDER and not dated(shape) else "unknown"}}[e]


def evidences(shape, files, states):
    return [evidence(shape, p, s) for p, s in zip(files, states)]


def copied(shape, files, states):
    """A file and its copy.  Of two that are intact and differ, nobody knows which is
    right; who cannot be asked may be right."""
    own, copy = evidences(shape, files, states)
    blind = not dated(shape) and OLDER in states  # may pass for right
    if {own, copy} == {RIGHT, FOREIGN}:
        return {"unknown"}
    if own == RIGHT:
        return {"whole"}
    if own == FOREIGN:
        return {"whole", "rebuildable", "unknown"} if blind else {"unknown"}
    if copy == RIGHT:
        return {"unknown" if own == UNASKED else "rebuildable"}
    if MENDABLE in (own, copy):
        return {"refused"} | ({"unknown"} if UNASKED in (own, copy) else set()) | (
            {"rebuildable", "unknown"} if copy == FOREIGN else set())
    if copy == FOREIGN:
        return {"rebuildable", "unknown"} if blind else {"unknown"}
    return {"unknown"} if UNASKED in (own, copy) or OPEN in (own, copy) else {"lost"}


def coded(shape, files, states):
    """k data and k parity files: any k of one run give all.  If files of two runs can be
    told apart, nobody knows which are right."""
    found = evidences(shape, files, states)
    k = len(found) // 2
    data = set(range(k))
    right = {i for i, e in enumerate(found) if e == RIGHT}
    older = {i for i, s in enumerate(states) if s == OLDER and found[i] == FOREIGN}
    strange = any(s == RANK and e == FOREIGN for s, e in zip(states, found))
    asked = UNASKED not in found

    def given(by):
        """Some of `by` give all; who cannot be asked stays."""
        left = data - by
        return {"whole" if not left else "unknown" if all(
            found[i] == UNASKED for i in left) else "rebuildable"}

    intact = [e in (RIGHT, FOREIGN, MENDABLE) for e in found]
    if asked and sum(intact) < k and not all(intact[:k]):
        # If no file agrees with the metadata, these are perhaps wrong.
        return {"unknown" if OPEN in found else "lost"} | ({"unknown"} if {
            MENDABLE, FOREIGN} & set(found) or (
            shape.form == "posix" and not right) else set())
    if not older and not strange:
        if len(right) >= k:
            return given(right)
        if all(found[i] in (RIGHT, MENDABLE) for i in data):
            return {"refused"}
        return {"unknown"}
    if strange or MENDABLE in found:
        # Also if those that are not right fit each other, as of two nodes that were
        # swapped.
        return {"unknown", "refused"} | given(right) | (
            {"rebuildable", "whole"} if max(len(older), states.count(RANK)) >= k
            else set()) | (
                set() if len(right) >= k else {"lost"}) | (
                    {"whole"} if all(intact[:k]) and not right - data else set())
    both = right | older
    if len(both) < k:
        return {"unknown"}
    if not right or (len(both) == k and both == data):
        return {"unknown"} if right and dated(shape) else given(both)
    return {"unknown"}


def elsewhere(shape, files, states):
    """A file of level 4, and the same one at other levels, none of which is a copy that
    FTI keeps there: those are named, and not read."""
    own = evidence(shape, files[0], states[0])
    if own == GONE and set(states[1:]) == {MISSING}:
        return {"lost"}
    return {"unknown"} if own == GONE else alone(shape, files[:1], states[:1])


def described(rule):
    """The metadata of the group come first.  FTI refuses a file whose name, size or sum
    is another there, and it is no loss."""
    def judge(shape, files, states):
        meta, rest = states[0], (files[1:], states[1:])
        want = rule(shape, *rest)
        if meta == RIGHT or meta in ("size", "name", "sum"):
            return want | ({"refused", "whole", "unknown"} if meta != RIGHT else set())
        return {"unknown"} | want & {"lost"}
    return judge


def configured(shape, files, states):
    """Topology.fti and config.fti, then the file: what they say of the geometry cannot
    lose it, nor make another file right."""
    want = alone(shape, files[2:], states[2:])
    return want | {"unknown"} if "lost" in want or states[1] not in (
        RIGHT, MISSING) else want


# --- The states ---


class Special:
    """What is no plain file that can be read: its state, and its data."""

    def __init__(self, kind, data):
        self.kind, self.data = kind, data


def config(shape, state):
    words = shape.base["config.fti"]
    if state == "nodes":
        return words.replace(b"node_size = %d" % shape.per_node,
                             b"node_size = %d" % (shape.per_node + 1))
    return words.replace(b"group_size = %d" % shape.k, b"group_size = %d" % (
        2 if shape.k != 2 else 4))


def spoil(shape, tree, path, state):
    data = shape.base[path]
    if state == MISSING:
        del tree[path]
    elif state == CUT:
        tree[path] = data[:len(data) // 2]
    elif state == OLDER:
        tree[path] = shape.older[path]
    elif state in (CLOSED, PLACE, DANGLING, LINK):
        tree[path] = Special(state, data)
    elif state == RANK:
        tree[path] = shape.base[shape.another(path)]
    elif state in ("nodes", "groups"):
        tree[path] = config(shape, state)
    elif state == "empty":
        tree[path] = b""
    elif state == "group":
        tree[path] = shape.base[path.replace("group0", "group1")]
    elif state in ("size", "name", "sum"):
        key = {"size": b"ckpt_file_size = ", "name": b"ckpt_file_name = C",
               "sum": b"ckpt_checksum = "}[state]
        at = data.index(key) + len(key)
        tree[path] = data[:at] + bytes([data[at] ^ 1]) + data[at + 1:]
    elif state in (FLIPPED, RECORD):
        first = shape.form in "AB" and "RSed" not in path
        head = 0 if first else len(data) - shape.record
        at = head + 40 if state == RECORD and shape.record else (
            len(data) - 9 if first else len(data) // 4)
        tree[path] = data[:at] + bytes([data[at] ^ 16]) + data[at + 1:]


class Group(Shape):
    """A shape whose first group is looked at, with files at other levels if wanted."""

    def another(self, path):
        """The file of the same kind of another rank: its neighbour's."""
        for kind in (self.own, self.copy, self.parity):
            for r in range(self.n):
                if kind(r) == path:
                    return kind(self.neighbour(r, 1))
        for level in ("l1", "lL4Dir"):
            for r in range(self.n):
                if self.beside(r, level) == path:
                    return self.beside(self.neighbour(r, 1), level)
        raise KeyError(path)

    def beside(self, r, level):
        """The file of level 4 of the rank, on its node."""
        return "Local/node%d/%s/%s/Ckpt1-Rank%d.fti" % (
            r // self.per_node, fti.EXEC, level, r)

    def build(self, scr_fti, work, run):
        tree = super().build(scr_fti, work, run)
        if self.level == 4 and self.k == 2:
            for r in range(self.n):
                for level in ("l1", "lL4Dir"):
                    tree[self.beside(r, level)] = tree[self.own(r)]
            for path in [p for p in tree if "/l4/sector" in p]:
                tree[path.replace("/l4/", "/l1/")] = tree[path]
        return tree


TOPOLOGY = "Meta/%s/Topology.fti" % fti.EXEC
LONE, PAIRS = (4, 4, 1), (2, 2, 2)


def files_of(shape, words):
    """The paths that the words name."""
    return [{"own": shape.own(0), "own2": shape.own(shape.neighbour(0, 1)),
             "copy": shape.copy(0), "parity": shape.parity(0),
             "parity2": shape.parity(shape.neighbour(0, 1)),
             "replica": shape.beside(0, "lL4Dir"), "l1": shape.beside(0, "l1"),
             "sector": shape.sector(0), "topology": TOPOLOGY,
             "config": "config.fti"}[w] for w in words.split()]


def tables():
    """(shape, the witnesses, the states of each, the rule)."""
    for form in (*"ABCDEF", "posix"):
        for level in (1, 4):
            yield (form, level, *LONE), "own", [FILE], alone
    for form in ("D", "posix"):
        yield ((form, 1, *LONE), "topology config own",
               [(RIGHT, MISSING, "empty", CUT, CLOSED),
                (RIGHT, MISSING, "empty", CUT, CLOSED, "nodes", "groups"),
                (RIGHT, MISSING, FLIPPED, CLOSED)], configured)
    for form in ("A", "D", "F", "posix"):
        yield (form, 2, *LONE), "own copy", [FILE, FILE], copied
    yield ("F", 2, *PAIRS), "own copy", [FILE, FILE], copied
    for form, states in (("F", (RIGHT, MISSING, FLIPPED, RECORD, OLDER, RANK, CLOSED)),
                         ("A", SOME), ("posix", SOME)):
        yield (form, 3, 2, 2, 1), "own own2 parity parity2", (
            [states] * 2 + [states + (CUT,)] * 2), coded
    for form in ("D", "F", "posix"):
        yield (form, 4, *PAIRS), "own l1 replica", [FILE, SOME, SOME], elsewhere
    some = (RIGHT, MISSING, FLIPPED, CLOSED)
    for level in (1, 4):
        yield ("posix", level, 4, 4, 2), "sector own", [META, SOME], described(alone)
    yield ("posix", 2, *PAIRS), "sector own copy", [META, some, some], described(copied)
    yield (("posix", 3, *PAIRS), "sector own own2 parity parity2",
           [META, some[:3], some[:2], some[:2], some[:2]], described(coded))


# --- A row ---


def put(root, tree):
    shutil.rmtree(root, ignore_errors=True)
    write_tree(root, {p: d for p, d in tree.items() if not isinstance(d, Special)})
    for path, special in tree.items():
        full = os.path.join(root, path)
        if not isinstance(special, Special):
            continue
        os.makedirs(os.path.dirname(full), exist_ok=True)
        if special.kind == PLACE:
            os.mkdir(full)
        elif special.kind in (LINK, DANGLING):
            to = "%s.%s.%s" % (root, special.kind, os.path.basename(path))
            if special.kind == LINK:
                with open(to, "wb") as f:
                    f.write(special.data)
            os.symlink(to, full)
        else:
            with open(full, "wb") as f:
                f.write(special.data)
            os.chmod(full, 0)


class Row(Case):
    def __init__(self, shape, tree, work):
        self.scr_fti, self.shape, self.tree, self.log = OPTIONS.scr_fti, shape, tree, []
        self.root = os.path.join(work, "c")
        self.truth = Truth(shape, {
            p: d.data if isinstance(d, Special) else d for p, d in tree.items()
            if not isinstance(d, Special) or d.kind == LINK}, set())

    def scan(self, *options):
        """Of several levels, the state of the one that is looked at."""
        p = self.run("scan", "--json", *options, self.root)
        answer = json.loads(p.stdout) if p.stdout.startswith("{") else {}
        sets = {c["level"]: c for e in answer.get("executions", [])
                for c in e["fti_checkpoints"]}
        at = sets.get("L%d" % self.shape.level, {"state": "unknown"})
        self.log[-1] += " %s: %s" % (at["state"], at.get("reason"))
        worst = max([STATUS[c["state"]] for c in sets.values()], key=[0, 3, 1, 4].index,
                    default=1)
        if worst != STATUS[at["state"]]:
            self.check(p.returncode == worst, "scan: status %d" % p.returncode)
            return at["state"], answer.get("next"), STATUS[at["state"]]
        return at["state"], answer.get("next"), p.returncode

    def right(self, path, now):
        special = self.tree.get(path)
        return self.truth.right(path, now) or (
            isinstance(special, Special) and now.get(path) == special.data)

    def kept(self):
        now = read_tree(self.root)
        for p in self.shape.base if not self.truth.foreign_group() else ():
            if self.tree.get(p) == self.shape.base[p] or isinstance(
                    self.tree.get(p), Special) and self.tree[p].kind in (CLOSED, LINK):
                self.check(self.right(p, now), "altered: " + p)
        return now

    def rebuild(self, found, *options):
        """What the dry run promises, the run does.  The status."""
        put(self.root, self.tree)
        promise = self.run("rebuild", "-n", *options, self.root).returncode
        now = read_tree(self.root)
        self.check(all(self.tree.get(p) == d or isinstance(self.tree.get(p), Special)
                       for p, d in now.items()), "a dry run writes")
        done = self.run("rebuild", *options, self.root).returncode
        # What is refused is repaired, not rebuilt.
        self.check(done == (0 if promise == 3 and found != "refused" else promise) or
                   found == "refused" and (promise, done) == (3, 0) or
                   self.spoilt and (promise, done) == (3, 3),
                   "the dry run ended %d, the run %d" % (promise, done))
        now = self.kept()
        if done == 0 and "--checksums" in options:
            self.check(self.truth.all_right(now) or self.blind,
                       "status 0, and files are wrong")
        return promise

    def play(self, want, mendable):
        put(self.root, self.tree)
        weak, _, _ = found, _, _ = self.scan()
        self.check(found != "lost" or found in want, "without --checksums: lost")
        found, following, status = self.scan("--checksums")
        self.check(found in want, "expected " + " or ".join(sorted(want)))
        topology = 3 * (TOPOLOGY not in self.tree and status == 3)
        self.check(status == max(STATUS[found], topology), "status %d" % status)
        if self.shape.level in (1, 2, 3, 4):
            p = self.run("restart", "-n", "--select", "1", "--level",
                         str(self.shape.level), self.root)
            self.check(p.returncode == max(STATUS[found], topology) or (
                found == "whole" and p.returncode == 3 and not topology == 0),
                "restart: %d" % p.returncode)
        if self.shape.level in (2, 3) or found == "rebuildable":
            promise = self.rebuild(found, "--checksums")
            self.check(found != "rebuildable" or promise == 3 or any(
                isinstance(d, Special) for d in self.tree.values()),
                "rebuildable, but the dry run ended %d" % promise)
            self.check(promise != 3 or found in ("rebuildable", "whole", "refused"),
                       "%s, and the dry run promises" % found)
            self.rebuild(weak)
        put(self.root, self.tree)
        state, now = self.follow(found, following)
        if mendable and found != "unknown":
            self.check(state == "whole" and self.truth.all_right(now),
                       "next: ends with " + state)
        return found


def row(task):
    number, states = task
    key, words, _, rule = TABLES[number]
    work = os.path.join(OPTIONS.work, str(os.getpid()))
    os.makedirs(work, exist_ok=True)
    if key not in KNOWN:
        KNOWN[key] = Group(OPTIONS.scr_fti, work, *key)
    shape, tree = KNOWN[key], dict(KNOWN[key].base)
    files = files_of(shape, words)
    for path, state in zip(files, states):
        spoil(shape, tree, path, state)
    case = Row(shape, tree, work)
    case.blind = case.truth.unseen() or case.truth.foreign_group() or (
        OLDER in states and not dated(shape))
    want = rule(shape, files, states)
    # Only the user can correct metadata; and move a link to nothing, or a directory in a
    # file's place.
    case.spoilt = bool({"size", "name", "sum"} & set(states))
    mendable = case.truth.recoverable() and not (
        {DANGLING, PLACE} & set(states) or case.blind or case.spoilt)
    try:
        return case.play(want, mendable), None
    except (Failure, subprocess.SubprocessError, ValueError) as e:
        return "wrong", "%s: %s\n  %s\n  %s" % (
            shape, ", ".join("%s %s" % w for w in zip(words.split(), states)),
            "\n  ".join(case.log), e)


OPTIONS = None
KNOWN = {}
TABLES = list(tables())


def rows():
    out = [(i, c) for i, (_, _, states, _) in enumerate(TABLES) for c in product(*states)]
    # The two nodes of a group of L3 are alike; without any file there is no checkpoint.
    return [(i, c) for i, c in out if TABLES[i][3] != coded or (
        c[0::2] <= c[1::2] and set(c) != {MISSING})]


def main():
    global OPTIONS
    p = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    p.add_argument("--sample", type=int, help="only so many rows, of all kinds")
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--only", default="", help="rows whose text matches")
    p.add_argument("--row", type=int, help="only this one, and leave its files")
    p.add_argument("--jobs", type=int, default=os.cpu_count())
    p.add_argument("--bin", default=os.environ.get("BIN", "build/plain/bin"))
    OPTIONS = fti.OPTIONS = p.parse_args()
    OPTIONS.scr_fti = os.path.abspath(os.path.join(OPTIONS.bin, "scr_fti"))
    OPTIONS.work = tempfile.mkdtemp(prefix="fti-table.", dir=os.environ.get("TMPDIR"))
    tasks = rows()
    total = len(tasks)
    if OPTIONS.only:
        tasks = [t for t in tasks if re.search(OPTIONS.only, "%d: %s L%d %s: %s" % (
            t[0], *TABLES[t[0]][0][:2], TABLES[t[0]][1], " ".join(t[1])))]
    if OPTIONS.row is not None:
        tasks = [tasks[OPTIONS.row]]
    if OPTIONS.sample is not None and OPTIONS.sample < len(tasks):
        tasks = random.Random(OPTIONS.seed).sample(tasks, OPTIONS.sample)
    states = Counter()
    with Pool(OPTIONS.jobs) as pool:
        for state, why in pool.imap_unordered(row, tasks, 8):
            states[state] += 1
            if why is not None:
                print(why, flush=True)
    if OPTIONS.row is None:
        shutil.rmtree(OPTIONS.work)
    wrong = states.pop("wrong", 0)
    print("%d of %d combinations, %d wrong; %s" % (len(tasks), total, wrong, ", ".join(
        "%s %d" % s for s in sorted(states.items()))))
    return wrong > 0


if __name__ == "__main__":
    sys.exit(main())
