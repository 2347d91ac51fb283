#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The table of evidence: each witness of a dataset whole, missing, garbage, of another
dataset or of an older run, one and two at a time, and each set of missing ones; and each
state of the nodes of a job.  What every command that looks says of each is compared with
a rule and with the truth, which testsuite/campaign knows, never with what it said before.

    witnesses.py --bin DIR --gen DIR [--every N] [--only SHAPE]
"""
import argparse
import itertools
import os
import shutil
import sys
import tempfile
from multiprocessing import Pool

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + "/../campaign")
import campaign
import damage as damages
import shape as shapes
import tree as trees
from truth import Truth

STATES = ["missing", "garbage", "foreign", "older"]
BASE = dict(ranks=4, nodes=4, files=1, size="900,0", count=2, set=4, k=0, crc=False,
            state="summed", pack=False, flush_scr=True)
SHAPES = {
    "NONE": dict(scheme="NONE"),
    "SINGLE": dict(scheme="SINGLE"),
    "PARTNER": dict(scheme="PARTNER", k=1),
    "XOR": dict(scheme="XOR", k=1),
    "RS": dict(scheme="RS", k=2),
    "XOR without sums": dict(scheme="XOR", k=1, state="built"),
    "XOR packed": dict(scheme="XOR", k=1, pack=True),
}
LOOKS = ["scr_inspect -p p -d 1", "scr_index -p p --verify id:1",
         "scr_rebuild -p p --dry-run id:1", "scr_index -p p --dry-run --build id:1"]


class Fixed(shapes.Shape):
    """A shape that is not random."""

    def __init__(self, opts, tools, work):
        self.opts, self.number = dict(BASE, **opts), 0
        self.tree, self.sets = self.make(tools, work, 0)
        self.old, _ = self.make(tools, work, 50)


def witnesses(shape):
    """Name -> path: everything that testifies about rank 1."""
    ds = shape.sets[0]
    at = {"file": "ckpt.1/rank_1.ckpt", "filemap": ds.filemap(1),
          "redundancy": ds.type.get((1, False)), "rank2file": ds.meta + "rank2file",
          "part": ds.meta + "rank2file.0.0", "summary": ds.meta + "summary.scr",
          "index": ".scr/index.scr", "flush.scr": ".scr/flush.scr",
          "container": ds.meta + ".scr/ctr.0.scr", "packed": ds.meta + "packed.0.scr"}
    return {name: path for name, path in at.items() if path in shape.tree}


def hurt(shape, tree, path, state):
    """Damage it; False: there is no such damage."""
    ds, size = shape.sets[0], len(shape.tree[path].data)
    d = {"missing": ("delete", path), "garbage": ("garbage", path, size),
         "older": ("older", path)}.get(state)
    if state == "foreign":
        other = shape.sets[1]
        source = (other.meta + path[len(ds.meta):] if path.startswith(ds.meta) else
                  other.name + path[len(ds.name):] if path.startswith(ds.name) else None)
        d = ("foreign", path, source)
    return damages.apply(d, shape, tree, None) if d[-1] is not None else False


def rows(shape):
    """All rows of a shape: tuples of (witness, state)."""
    names = list(witnesses(shape))
    yield ()
    for name in names:
        for state in STATES:
            yield ((name, state),)
    for a, b in itertools.combinations(names, 2):
        for s, t in itertools.product(STATES, STATES):
            yield (a, s), (b, t)
    for n in range(3, len(names) + 1):
        for some in itertools.combinations(names, n):
            yield tuple((name, "missing") for name in some)


def rule(ds, t, row, strong):
    """The statuses that the truth allows: 0 whole, 1 unknown, 3 damaged, 4 lost."""
    plain = ds.scheme in ("NONE", "SINGLE")
    hurt, stale = {w for w, _ in row}, ("part", "older") in row and strong
    # A witness of another dataset or run contradicts the rest: this may be damage, as
    # the rest outvotes it, or nobody knows.
    odd = {w for w, s in row if s in ("foreign", "older")} - {"file", "container"}
    may = {1} if odd else set()
    if stale and plain:
        may.add(4)  # sums of other bytes, and nothing else tells
    # What is seen of the files: those that are not there, or have other sizes; with
    # all checks those, too, that a sum or the redundancy contradicts.
    seen = t.gone | (t.caught if strong else set())
    if seen and t.recoverable():
        return may | ({1, 3} if t.doubtful() else {3})
    if seen and not t.gone and not t.caught <= t.summed:
        return may | {1, 3}  # the redundancy differs: which of both is wrong?
    if seen:
        return may | ({4} if t.known else {1, 4})
    if stale:
        return may | {0, 1, 3}
    if not t.known:  # all is there, but nothing names it, or only an older part
        return {1, 3} | ({0} if ("part", "older") in row else set())
    # All is there.  The rest is damaged, but for what does not matter, or what this
    # look does not see.
    idle = {"flush.scr", "file", "container"}
    idle |= {w for w, s in row if (w, s) == ("rank2file", "older") or not strong and (
        (w, s) == ("part", "older") or w == "redundancy" and s != "missing")}
    free = {"filemap", "redundancy"} if plain else set()
    if hurt - idle - free:  # never built, as far as can be seen: its files are unknown
        return may | {3} | ({1} if {"summary", "index"} <= hurt and hurt & free else set())
    return may | ({0, 3} if hurt & free or odd else {0})


def allowed(ds, t, row, strong):
    may = rule(ds, t, row, strong)
    # The time of an older file tells, if its checksum is recorded.
    return may | rule(ds, t, row, True) if ("file", "older") in row else may


def try_row(tools, shape, row):
    """What is wrong with the answers to one row; None: there is no such row."""
    tree = dict(shape.tree)
    at = witnesses(shape)
    for witness, state in row:
        if not hurt(shape, tree, at[witness], state):
            return None
    t = Truth(shape.sets[0], shape.tree, tree)
    wrong = []
    for strong in ([], campaign.STRONG):
        may = allowed(shape.sets[0], t, row, strong)
        said = []
        for line in LOOKS:
            tools.put(tree)
            a = tools.shell(" ".join([line] + strong))
            after = tools.get()
            said.append(a.status)
            if after != tree:
                wrong.append("%s: changed %s" % (line, campaign.changes(tree, after)))
            if "Sanitizer" in a.err or "runtime error" in a.err:
                wrong.append(line + ": " + a.err)
        if said[0] == 3 and said[2] == 0 and not t.gone:
            said[2] = 3  # its part is whole
        if said[0] == 3 and said[3] == 0 and {"summary", "index"} <= {w for w, _ in row}:
            said[3] = 3  # it was never built, as far as can be seen, and can be
        if any(x not in may for x in said) or len(set(said)) > 1:
            wrong.append("%s%s: %s, not %s" % (
                "deep: " if strong else "", "inspect verify rebuild build",
                said, sorted(may)))
    return wrong


def run(job):
    options, name, picked = job
    tools = campaign.Tools(options.bin, options.gen, options.work + "/%d" % os.getpid())
    campaign.clear()
    shape = Fixed(SHAPES[name], tools, tools.work)
    count, bad = 0, []
    for row in picked(list(rows(shape))):
        wrong = try_row(tools, shape, row)
        if wrong is not None:
            count += 1
            bad += [(name, row, w) for w in wrong]
    return count, bad


# --- Nodes ------------------------------------------------------------------------

SSH = """#!/bin/sh
while case $1 in -o | -l | -p) shift 2 ;; -*) shift ;; *) false ;; esac; do :; done
case $1 in
*gone) echo "ssh: connect to host $1 port 22: No route to host" >&2; exit 255 ;;
*hung) echo "Connection timed out during banner exchange" >&2; exit 255 ;;
*denied) echo "$1: Permission denied (publickey)." >&2; exit 255 ;;
esac
node=${1%-*}
shift
exec sh -c "$(echo "$*" | sed "s,/local/,/nodes/$node/,g")"
"""
# What a node that held one rank turns out to be: it has its files, has none, is dead,
# could not be asked, or was not.
NODES = ["whole", "empty", "gone", "hung", "denied", "unasked"]
SCHEMES = {"SINGLE": 0, "XOR": 1, "RS": 2}


def node_rule(states, tolerated):
    """Lost is only what all nodes that could hold it were asked for."""
    have, need = states.count("whole"), len(states) - tolerated
    unknown = len([s for s in states if s in ("hung", "denied", "unasked")])
    if have >= need:
        return {0}
    if unknown and have + unknown >= need:
        return {1}
    # Where each rank ran need not be known; and if no node answers at all, it may be
    # the network.
    return {1, 4} if unknown or set(states) == {"gone"} else {4}


def try_nodes(tools, scheme, states):
    clear()
    tools.must("gen_dataset", "-q", "-p", "p", "-n", 4, "-m", 4, "--layout", "cache",
               "--nodes-dir", "nodes", "-t", scheme, *(["-k", "2"] if scheme == "RS" else []),
               "-s", 1000, "--lose", "", "-i", 1, "--recorded-prefix", tools.work + "/p")
    for i, s in enumerate(states):
        if s == "empty":
            shutil.rmtree("nodes/node%d/cache/genuser/scr.1000/scr.dataset.1" % i)
    asked = ["node%d-%s" % (i, s) for i, s in enumerate(states) if s != "unasked"]
    a = tools.run("scr_postrun", "-p", "p", "-r", "ssh", "-w", ",".join(asked), "-J", 1000,
                  "--cachedir", tools.work + "/local/cache", "--cntldir",
                  tools.work + "/local/cntl", "--plan")
    may = node_rule(states, SCHEMES[scheme])
    return [] if a.status in may else ["scr_postrun --plan: %d, not %s: %s" % (
        a.status, sorted(may), a.err)]


def clear():
    campaign.clear()
    shutil.rmtree("nodes", ignore_errors=True)


def run_nodes(job):
    options, scheme, picked = job
    tools = campaign.Tools(options.bin, options.gen, options.work + "/%d" % os.getpid())
    os.makedirs("stub", exist_ok=True)
    with open("stub/ssh", "w") as f:
        f.write(SSH)
    os.chmod("stub/ssh", 0o755)
    tools.env["PATH"] = tools.work + "/stub:" + tools.env["PATH"]
    rows_ = [x for x in itertools.combinations_with_replacement(NODES, 4)
             if x[0] != "unasked"]
    count, bad = 0, []
    for states in picked(rows_):
        count += 1
        bad += [("nodes, " + scheme, [("node", s) for s in states], w)
                for w in try_nodes(tools, scheme, states)]
    clear()
    return count, bad


# --- All of it ---


class Picked:
    def __init__(self, first, every):
        self.first, self.every = first, every

    def __call__(self, all_):
        return all_[self.first::self.every]


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--bin", required=True)
    p.add_argument("--gen", required=True)
    p.add_argument("--every", type=int, default=1)
    p.add_argument("--only", default="")
    o = p.parse_args()
    os.umask(0o022)
    o.bin, o.gen = os.path.abspath(o.bin), os.path.abspath(o.gen)
    o.work = tempfile.mkdtemp(prefix="witnesses.", dir=os.environ.get("TMPDIR"))
    total, answers, failures = 0, 0, []
    try:
        with Pool(os.cpu_count()) as pool:
            for count, bad in pool.imap_unordered(run, [
                    (o, name, Picked(i % o.every, o.every))
                    for i, name in enumerate(SHAPES) if o.only in name]):
                total += count
                answers += 8 * count
                failures += bad
            for count, bad in pool.imap_unordered(run_nodes, [
                    (o, name, Picked(i % o.every, 2 * o.every - 1))
                    for i, name in enumerate(SCHEMES) if o.only in "nodes"]):
                total += count
                answers += count
                failures += bad
    finally:
        shutil.rmtree(o.work, ignore_errors=True)
    for name, row, w in failures:
        print("%s: %s: %s" % (name, ", ".join("%s %s" % x for x in row) or "whole", w))
    print("%d rows, %d answers, %d wrong" % (total, answers, len(failures)))
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
