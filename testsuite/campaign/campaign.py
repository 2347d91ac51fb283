#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Random prefixes with one to four damages of life each, and what the commands say and
do about them.  The truth is known: see truth.py.  A case is a number: the same seed
and number make the same case.

    campaign.py [--cases N] [--seed S] [--case NUMBER] [--jobs N] [--seconds T] [--part K/N]
"""
import argparse
import json
import os
import random
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import textwrap
import time
import zlib
from collections import namedtuple
from multiprocessing import Pool

sys.dont_write_bytecode = True
import damage as damages
import meta
import shape as shapes
import tree as trees
from truth import Truth

PER_SHAPE = 12
USER = 1234
STEPS = 5
STRONG = ["--deep", "--checksums"]

Answer = namedtuple("Answer", "status out err")
WORDS = {0: "whole", 1: "unknown", 3: "damaged", 4: "lost"}


class Tools:
    """Runs the commands in a directory, where the prefix is `p`."""

    def __init__(self, bin_dir, gen_dir, work):
        self.bin, self.gen, self.work = bin_dir, gen_dir, work
        self.user = None
        self.count = 0
        self.env = {"PATH": bin_dir + ":/usr/bin:/bin", "SCR_USER_NAME": "genuser",
                    "USER": "genuser", "TZ": "UTC", "LC_ALL": "C",
                    "SCRKIT_SYSTEM_CONF": "/nonexistent"}
        for name in ("ASAN_OPTIONS", "UBSAN_OPTIONS", "LSAN_OPTIONS"):
            if name in os.environ:
                self.env[name] = os.environ[name]
        os.makedirs(work, exist_ok=True)
        os.chmod(work, 0o755)
        os.chdir(work)
        self.pid = 0
        signal.signal(signal.SIGALRM, self.too_long)

    def too_long(self, *_):
        if self.pid:
            os.kill(self.pid, signal.SIGKILL)

    def run(self, name, *args):
        path = (self.gen if name.startswith("gen_") else self.bin) + "/" + name
        argv = [name, *map(str, args)]
        if self.user:
            argv = ["setpriv", "--reuid", str(self.user), "--regid", str(self.user),
                    "--clear-groups", path] + argv[1:]
            path = shutil.which("setpriv")
        return self.spawn(path, argv)

    def spawn(self, path, argv):
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
        self.count += 1
        signal.alarm(30)
        self.pid = os.posix_spawn(path, argv, self.env, file_actions=[
            (os.POSIX_SPAWN_OPEN, 0, "/dev/null", os.O_RDONLY, 0),
            (os.POSIX_SPAWN_OPEN, 1, "../out." + os.path.basename(self.work), flags, 0o600),
            (os.POSIX_SPAWN_OPEN, 2, "../err." + os.path.basename(self.work), flags, 0o600)])
        _, status = os.waitpid(self.pid, 0)
        self.pid = 0
        signal.alarm(0)
        text = [trees.read("../%s.%s" % (w, os.path.basename(self.work))).decode(
            "utf-8", "replace") for w in ("out", "err")]
        return Answer(os.waitstatus_to_exitcode(status), *text)

    def must(self, name, *args):
        a = self.run(name, *args)
        if a.status:
            raise RuntimeError("%s %s: status %d\n%s" % (
                name, " ".join(map(str, args)), a.status, a.err))

    def shell(self, line):
        """A line that a command printed."""
        words = shlex.split(line)
        if words and re.fullmatch(r"scr_\w+", words[0]) and not set("&|;<>") & set(line):
            return self.run(words[0], *words[1:])
        return self.spawn("/bin/sh", ["sh", "-c", line])

    def put(self, tree):
        trees.restore("p", tree, self.user)

    def get(self):
        return trees.scan("p")

    def on_tree(self, tree, *command):
        """Change a tree by a command."""
        self.put(tree)
        ok = self.run(*command).status == 0
        tree.clear()
        tree.update(self.get())
        return ok


# --- A case -----------------------------------------------------------------------

Finding = namedtuple("Finding", "rule command text")


def next_lines(answer):
    """The commands that an answer names."""
    found = []
    for line in (answer.out + "\n" + answer.err).split("\n"):
        m = re.match(r"(?:scr_\w+: )?\s*next:\s*(.*\S)", line) or \
            re.search(r"; next: (.*\S)", line)
        if m and m.group(1) not in found:
            found.append(m.group(1))
    return found


def verb(line):
    """The kind of a command, without prefix and dataset."""
    words = [w for w in shlex.split(line) if not re.fullmatch(
        r"p|\d+|(id|name):\S+|ckpt\.\d+|/\S*", w)]
    return " ".join(w for w in words if w != "-p")


class Case:
    every = False  # act in all ways

    def __init__(self, tools, shape, tree, hit, rng):
        self.tools, self.shape, self.tree, self.rng = tools, shape, tree, rng
        self.hit = hit  # the kinds of damage
        self.findings = []
        self.truth = {d.id: Truth(d, shape.tree, tree) for d in shape.sets}
        self.index = shape.tree.get(".scr/index.scr")
        self.ran = {}  # (tree, command) -> answer, tree afterwards
        self.log = []

    def find(self, rule, command, text=""):
        self.findings.append(Finding(rule, verb(command), text))

    def do(self, line, tree):
        """Run it on this tree; keep what came of it."""
        key = (id(tree), line)
        if key in self.ran:
            return self.ran[key][:2]
        self.tools.put(tree)
        answer = self.tools.shell(line)
        after = self.tools.get()
        if trees.same(after, tree):
            after = tree
        self.ran[key] = answer, after, tree
        self.log.append("%s -> %d\n%s%s" % (line, answer.status, answer.out, answer.err))
        said = answer.out + answer.err
        if "Sanitizer" in said or "runtime error:" in said:
            self.find("g sanitizer", line, said)
        elif answer.status == -signal.SIGKILL:
            self.find("g does not end", line)
        elif answer.status not in (0, 1, 2, 3, 4):
            self.find("g crash", line, "status %d" % answer.status)
        return answer, after

    def stale(self):
        """Is there an older map with its checksum, which is as good as what
        contradicts it?"""
        return self.hit & {"older part", "older filemap", "older segmap"}

    # --- Looking ---

    def look(self, ds):
        """All ways to ask for the state of a dataset, weak and strong."""
        t = self.truth[ds.id]
        for strong in ([], STRONG):
            opts = " ".join([""] + strong)
            said = {}
            for line in ("scr_inspect -p p -d %d" % ds.id,
                         "scr_index -p p --verify id:%d" % ds.id,
                         "scr_rebuild -p p --dry-run id:%d" % ds.id,
                         "scr_index -p p --dry-run --build id:%d" % ds.id):
                line += opts
                a, after = self.do(line, self.tree)
                if after is not self.tree:
                    self.find("c a look changes something", line,
                              changes(self.tree, after))
                said[line] = a
                self.judge(ds, t, line, a, strong)
            self.agree(ds, said, opts)

    def judge(self, ds, t, line, a, strong):
        if a.status == 4 and not (self.stale() and ds.scheme in ("NONE", "SINGLE")):
            if t.right:
                self.find("b lost, all bytes are there", line, a.err)
            elif t.recoverable():
                self.find("b lost, can be recovered", line, a.err)
        if a.status in (3, 4) and "--dry-run" not in line and not next_lines(a) and \
                not t.doubtful():
            self.find("e names no command", line, a.out + a.err)
        if a.status == 0 and "--dry-run" not in line:
            if t.gone and not t.recoverable():
                self.find("a whole, bytes are gone", line, name_some(t.gone))
            elif strong and t.caught:
                self.find("a whole, other bytes", line, name_some(t.caught))
            elif "verify" in line and not ds.opts["pack"] and not t.listed_right():
                self.find("a whole, not what a job fetches", line)

    def agree(self, ds, said, opts):
        """The four commands give one verdict."""
        words = dict(zip(("inspect", "verify", "rebuild", "build"), said.values()))
        status = {w: a.status for w, a in words.items() if "unfinished" not in a.out}
        o, t = ds.opts, self.truth[ds.id]
        if o["state"] == "raw" or "index drop" in self.hit or (
                "index" in self.hit and not t.has_summary()):
            # In no index: nothing is damaged, but it has to be built.
            ready = {0 if x == 3 else x for x in status.values()}
            if len(ready) == 1:
                return
        if o["state"] in ("flushed", "bare") and status["rebuild"] == 1:
            del status["rebuild"]  # it has nothing to go by, and says so
        elif status["rebuild"] == 0 and not t.gone | (t.caught if opts.strip() else set()) and (
                "index" in self.hit or any(
                    not t.intact(p) for p in ds.files if damages.role(p, ds) in (
                        "summary.scr", "rank2file", "part", "segmap", "container",
                        *(["filemap"] if ds.scheme == "NONE" else [])))):
            del status["rebuild"]  # its part is whole
        if len(set(status.values())) > 1:
            self.find("f " + " ".join("%s=%s" % (w, WORDS.get(x, x))
                                      for w, x in status.items()), opts.strip() or "-")

    def overview(self, ds):
        """What is said of all datasets is what is said of each."""
        if len(self.shape.sets) > 1:
            return
        for all_, one in (("scr_inspect -p p", "scr_inspect -p p -d 1"),
                          ("scr_index -p p --verify", "scr_index -p p --verify id:1")):
            a, after = self.do(all_, self.tree)
            b, _ = self.do(one, self.tree)
            if after is not self.tree:
                self.find("c a look changes something", all_, changes(self.tree, after))
            listed = ds.opts["state"] != "raw" and "index drop" not in self.hit
            if a.status != b.status and (
                    listed and "index" not in self.hit or "--verify" not in all_):
                self.find("f all datasets %s, this one %s" % (
                    WORDS.get(a.status, a.status), WORDS.get(b.status, b.status)), all_,
                    a.err)

    # --- Acting ---

    def acts(self, ds):
        n = ds.id
        lines = ["scr_index -p p --build %d", "scr_index -p p --build %d --checksums",
                 "scr_index -p p --build %d --deep --checksums", "scr_rebuild -p p %d",
                 "scr_rebuild -p p %d --deep --checksums"]
        some = lines if self.every else self.rng.sample(lines, 2)
        if ds.opts["pack"]:
            some += ["scr_container -p p unpack %d"]
        if not ds.opts["pack"] and self.rng.random() < 0.3:
            some += [self.rng.choice(["scr_rebuild -p p --protect xor %d",
                                      "scr_index -p p --current %d"])]
        others = [o.id for o in self.shape.sets if o is not ds]
        some += [self.rng.choice(["scr_index -p p --delete %d", "scr_index -p p --drop %d",
                                  "scr_index -p p --prune --keep 1"])]
        if others:
            some += [self.rng.choice(["scr_index -p p --delete %d" % self.rng.choice(others),
                                      "scr_index -p p --prune --keep 1"])]
        for line in some:
            line = line % n if "%d" in line else line
            a, after = self.do(line, self.tree)
            self.kept(line, a, self.tree, after)
            self.built(line, a, ds, self.tree, after)

    def kept(self, line, a, before, after):
        """Nothing that was right is altered or deleted."""
        doomed = re.search(r"(?:--delete (?:id:|ckpt\.)?|^rm \S*/scr\.dataset\.)(\d+)",
                           line)
        doomed = int(doomed.group(1)) if doomed else None
        prune = "--prune" in line
        good, left = [], []
        for ds in self.shape.sets:
            was, now = self.truth_of(ds, before), self.truth_of(ds, after)
            if was.recoverable() or was.right:
                good.append(ds.id)
            if now.recoverable() or now.right:
                left.append(ds.id)
            if ds.id == doomed or prune:
                continue
            for p in ds.data:
                if p not in was.bad and p in now.bad:
                    self.find("c right bytes %s" % ("deleted" if p in now.gone else
                                                    "altered"), line, p)
                    break
            for p in ds.files:
                if p in ds.data or not was.intact(p):
                    continue
                new = trees.resolve(after, p)
                if new is not None and new.data == trees.resolve(before, p).data:
                    continue
                r = damages.role(p, ds)
                if r.startswith("map-red") and not was.maps_solvable():
                    continue  # of new filemaps
                if "red" in r and "--protect" in line:
                    continue  # asked for
                # Written anew, perhaps under another name.
                if r in ("part", "rank2file", "summary.scr", "copy", "segmap") and (
                        now.recoverable() or now.listed_right()) or \
                        "scr_container" in line and now.right:
                    continue
                if r in ("filemap", "red", "map-red", "red-desc", "map-red-desc",
                         "container", "red-container") or new is None:
                    self.find("c right %s %s" % (r, "altered" if new else "deleted"),
                              line, p)
                    break
            # Checksums that are new are right, unless nothing can tell.
            for p, e in after.items():
                if p.startswith(ds.meta + "rank2file.") and e.kind == "f" and \
                        before.get(p) != e:
                    bad = wrong_sums(ds, e.data) - was.missed
                    if bad and not (was.unsure() and bad <= was.gone):
                        self.find("c wrong checksum recorded", line, name_some(bad))
        if good and not left and doomed != good[0] and not line.startswith("mv ") and \
                not all(
                self.truth_of(d, after).missed for d in self.shape.sets
                if d.name in after):
            self.find("c the last good dataset is gone", line)

    def built(self, line, a, ds, before, after):
        if a.status != 0 or "--dry-run" in line or not re.search(
                r"--build|scr_rebuild|unpack|--current", line):
            return
        m = re.search(r" (?:id:|ckpt\.)?(\d+)(?: |$)", line)
        ds = next((d for d in self.shape.sets if m and d.id == int(m.group(1))), ds)
        was, now = self.truth_of(ds, before), self.truth_of(ds, after)
        wrong = now.gone | {p for p in now.other if p in was.caught and
                            ("--checksums" in line and "--deep" in line or
                             "--protect" in line and p in was.summed) or
                            p in was.gone and not was.unsure()}
        if wrong:
            self.find("d status 0, bytes are wrong", line, name_some(wrong))
        elif "--build" in line:
            check = "scr_index -p p --verify id:%d" % ds.id
            b, _ = self.do(check, after)
            if b.status != 0:
                self.find("d status 0, then --verify says %s" %
                          WORDS.get(b.status, b.status), line, b.out + b.err)

    # --- Following ---

    def follow(self, ds):
        """Each command that the looks and acts named, to its end."""
        starts = []
        for (_, line), (a, after, before) in list(self.ran.items()):
            if before is not self.tree:
                continue
            for step in next_lines(a):
                if (step, after) not in [(s, x) for s, x, _ in starts]:
                    starts.append((step, after, line))
        done = set()
        for step, state, line in starts:
            key = (step, digest(state))
            if key not in done:
                done.add(key)
                self.chain(ds, step, state, line)

    def chain(self, ds, step, tree, origin):
        t = self.truth_of(ds, self.tree)
        taken, seen = [], set()
        while step:
            key = (step, digest(tree))
            if key in seen:
                self.find("e loop", origin, " ; ".join(taken + [step]))
                return
            seen.add(key)
            taken.append(step)
            if len(taken) > STEPS:
                self.find("e too many steps", origin, " ; ".join(taken))
                return
            if step.startswith("scr_postrun"):
                break
            a, after = self.do(step, tree)
            m = re.search(r"--(?:delete|drop) (?:id:)?(?:ckpt\.)?(\d+)", step)
            if m:
                victim = [d for d in self.shape.sets if d.id == int(m.group(1))]
                v = victim and self.truth_of(victim[0], tree)
                if v and (v.recoverable() or v.right) and "--delete" in step:
                    self.find("e advice deletes what can be had", origin,
                              " ; ".join(taken))
                    return
            if a.status == 2:
                self.find("e advice is a usage error", origin, step + "\n" + a.err)
                return
            self.kept(step, a, tree, after)
            self.built(step, a, ds, tree, after)
            if a.status == 1 and (
                    "then run this again" in a.err and
                    self.hit & {"mode", "modedir", "link"} or
                    "a symbolic link blocks the path" in a.err):
                return  # a clear stop: the user has to change a mode, or a link
            tree, steps = after, next_lines(a)
            step = steps[0] if steps else None
            if step is None:  # who acts at night looks again
                b, _ = self.do("scr_inspect -p p -d %d --deep --checksums" % ds.id, tree)
                step = next(iter(next_lines(b)), None)
        if not (t.recoverable() and t.described()) or \
                self.hit & {"mode", "modedir", "link", "dirlink"}:
            return
        now = self.truth_of(ds, tree)
        check = "scr_index -p p --verify id:%d --deep --checksums" % ds.id
        a, _ = self.do(check, tree)
        if now.right and (a.status == 1 and self.stale() or
                          a.status == 3 and now.doubtful()):
            return
        # Only rank2file has checksums, and they are those of another run.
        if a.status == 1 and "older part" in self.hit and not ds.opts["crc"]:
            return
        # What is wrong in a renamed directory shows when it is back.
        if "moved" in self.hit and now.doubtful() and not now.solvable and a.status in (1, 3):
            return
        if not now.right or a.status != 0:
            self.find("e ends %s" % (WORDS.get(a.status, a.status) if now.right else
                                     "with bytes missing"), origin,
                      " ; ".join(taken) + "\n" + a.err)

    def truth_of(self, ds, tree):
        if tree is self.tree:
            return self.truth[ds.id]
        key = (ds.id, id(tree))
        if key not in self.ran:
            self.ran[key] = (Truth(ds, self.shape.tree, tree), tree, None)
        return self.ran[key][0]

    def run(self, ds):
        self.look(ds)
        self.overview(ds)
        self.acts(ds)
        self.follow(ds)


def digest(tree):
    return hash(tuple(sorted((p, e.kind, e.data) for p, e in tree.items()
                             if not p.startswith((".scr/index.lock", ".scr/log")))))


def changes(a, b):
    return ", ".join(sorted(p for p in a.keys() | b.keys() if a.get(p) != b.get(p)))


def name_some(paths):
    return ", ".join(sorted(paths)[:3])


def wrong_sums(ds, data):
    """Files of which a part of rank2file has a checksum of other bytes."""
    return {name for name, attrs in shapes.named(meta.decode(data))
            if name in ds.data and "CRC" in attrs and
            int(meta.value(attrs, "CRC"), 0) != zlib.crc32(ds.data[name])}


# --- The campaign -----------------------------------------------------------------

def random_of(*words):
    return random.Random(":".join(map(str, words)))


def make_case(shape, number, seed, tools):
    """The damages of a case, and the dataset that they concern."""
    rng = random_of(seed, "case", number)
    ds = rng.choice(shape.sets)
    tree, list_ = dict(shape.tree), []
    # One of each shape is not damaged: nothing may be said of it.
    for _ in range(rng.choice([1, 1, 1, 2, 2, 3, 4]) if number % PER_SHAPE else 0):
        for _ in range(20):
            d = damages.invent(rng, shape, tree, ds)
            if d and damages.apply(d, shape, tree, tools):
                list_.append(d)
                break
    return ds, list_, tree, rng


def try_case(shape, ds, list_, tools, number, seed):
    """Run it with these damages only."""
    tree = dict(shape.tree)
    tools.user = None
    for d in list_:
        if not damages.apply(d, shape, tree, tools):
            return None
    if os.getuid() == 0 and any(d[0].startswith("mode") for d in list_):
        tools.user = USER
        clear()
        os.mkdir("p")
        os.chown("p", USER, USER)
    case = Case(tools, shape, tree, {d[0] for d in list_} | {words_of(d, ds) for d in list_},
                random_of(seed, "acts", number))
    case.run(ds)
    if tools.user:
        clear()
        os.mkdir("p")
        tools.user = None
    return case


def clear():
    shutil.rmtree("p", ignore_errors=True)
    shutil.rmtree("beside", ignore_errors=True)


def shrink(shape, ds, list_, tools, number, seed, wanted):
    """The fewest of the damages that break the same rule."""
    small = list(list_)
    for d in list_:
        if len(small) > 1:
            rest = [x for x in small if x is not d]
            case = try_case(shape, ds, rest, tools, number, seed)
            if case and any(f.rule == wanted.rule for f in case.findings):
                small = rest
    return small


def words_of(damage, ds):
    """A damage by the role of its file, to group what is alike."""
    if damage[0] in ("index", "flush"):
        return "%s %s" % damage[:2]
    if damage[0] in ("rank", "olddata", "moved"):
        return damage[0]
    if damage[0] in ("dirlink", "modedir"):
        return damage[0] + {ds.name: " data", ds.meta[:-1]: " meta"}.get(damage[1], " .scr")
    return "%s %s" % (damage[0], damages.role(damage[1], ds))


def rows_of(path):
    with open(path) as f:
        return [json.loads(line) for line in f if line.strip() and line[0] != "#"]


def run_shape(job):
    options, number, cases = job
    if options.until and time.time() > options.until:
        return [], 0
    tools = Tools(options.bin, options.gen, options.work + "/%08d" % os.getpid())
    clear()
    row = rows_of(options.once)[number] if options.once else None
    rng = random_of(options.seed, "shape", number)
    shape = shapes.Shape(number, row["shape"] if row else shapes.choose(rng), tools,
                         tools.work)
    results = []
    for n in cases:
        if options.until and time.time() > options.until:
            break
        if row:
            ds = next(d for d in shape.sets if d.id == row["dataset"])
            list_ = [tuple(d) for d in row["damages"]]
        else:
            ds, list_, _, _ = make_case(shape, n, options.seed, tools)
        if options.row:
            print(json.dumps({"shape": shape.opts, "dataset": ds.id, "damages": list_}))
        Case.every = row is not None
        case = try_case(shape, ds, list_, tools, n, options.seed)
        if options.keep:
            tools.put(case.tree)
            for top in ("p", "beside"):
                if os.path.isdir(top):
                    shutil.copytree(top, options.keep + "/" + top, symlinks=True)
        found = {}
        for f in case.findings:
            found.setdefault(f[:2], f)
        out, shrunk = [], {}
        for f in found.values():
            small = list_
            if options.shrink:
                if f.rule not in shrunk:
                    shrunk[f.rule] = shrink(shape, ds, list_, tools, n, options.seed, f)
                small = shrunk[f.rule]
            kinds = " + ".join(sorted(words_of(d, ds) for d in small)) or "no damage"
            out.append((f.rule, f.command, kinds, shape.words(), ds.id, small, f.text))
        if options.verbose:
            case.log[:0] = [shape.words()] + ["dataset %d: %s" % (
                ds.id, " ".join(map(str, d))) for d in list_] + ["%r\n" % case.truth[ds.id]]
        results.append((n, out, case.log if options.verbose else []))
    return results, tools.count


def main():
    here = os.path.dirname(os.path.abspath(__file__))
    tree = os.path.abspath(here + "/../../build/plain")
    p = argparse.ArgumentParser()
    p.add_argument("--cases", type=int, default=1000)
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--case", type=int, help="only this one, with all that is said")
    p.add_argument("--jobs", type=int, default=os.cpu_count())
    p.add_argument("--part", default="0/1", help="K/N: one of N parts of the cases")
    p.add_argument("--seconds", type=int, default=0, help="stop after this time")
    p.add_argument("--shrink", action="store_true", help="find the smallest damages")
    p.add_argument("--verbose", action="store_true")
    p.add_argument("--keep", metavar="DIR", type=os.path.abspath,
                   help="write the prefix of --case to DIR/p")
    p.add_argument("--once", metavar="FILE", type=os.path.abspath,
                   help="instead of random cases, those of this file, a JSON line each")
    p.add_argument("--row", action="store_true", help="print the cases as such lines")
    p.add_argument("--expected", help="a table of cases of seed 1 that break a rule "
                   "as is known")
    p.add_argument("--record", help="write such a table")
    p.add_argument("--report", help="write the kinds of findings to this file")
    p.add_argument("--bin", default=os.environ.get("OPEN_BIN") or tree + "/bin")
    p.add_argument("--gen", default=os.environ.get("GEN") or tree + "/gen")
    o = p.parse_args()
    os.umask(0o022)
    o.bin, o.gen = os.path.abspath(o.bin), os.path.abspath(o.gen)
    part, of = map(int, o.part.split("/"))
    o.until = time.time() + o.seconds if o.seconds else 0
    base = os.environ.get("TMPDIR") or "/dev/shm"
    o.work = tempfile.mkdtemp(prefix="campaign.", dir=base)
    os.chmod(o.work, 0o755)
    begun = time.time()
    if o.once:
        count = len(rows_of(o.once))
        o.verbose = o.case is not None
        jobs = [(o, k, [k]) for k in range(count)
                if o.case == k or o.case is None and k % of == part]
    elif o.case is not None:
        o.verbose = True
        jobs = [(o, o.case // PER_SHAPE, [o.case])]
    else:
        jobs = [(o, k, list(range(k * PER_SHAPE, min(o.cases, (k + 1) * PER_SHAPE))))
                for k in range((o.cases + PER_SHAPE - 1) // PER_SHAPE) if k % of == part]
    kinds, total, bad, runs = {}, 0, 0, 0
    try:
        with Pool(o.jobs) as pool:
            for results, count in pool.imap_unordered(run_shape, jobs):
                runs += count
                for n, found, log in results:
                    total += 1
                    bad += bool(found)
                    if log and (found or o.case is not None):
                        print("\n".join(log))
                    for f in found:
                        kinds.setdefault(f[:3], []).append((n, *f[3:]))
    finally:
        shutil.rmtree(o.work, ignore_errors=True)
    known = read_expected(o.expected if o.seed == 1 else None)
    seen = {(k[0][0], c[0]) for k, cases in kinds.items() for c in cases}
    news = {k: [c for c in cases if (k[0][0], c[0]) not in known]
            for k, cases in kinds.items()}
    news = {k: cases for k, cases in news.items() if cases}
    text = describe(news, o)
    if o.report:
        with open(o.report, "w") as f:
            f.write(text)
    else:
        print(text, end="")
    gone = sorted(x for x in known - seen if x[1] < total)
    if gone and total == o.cases:
        print("no longer seen: " + ", ".join("%s %d" % x for x in gone))
    if o.record:
        record(o.record, seen)
    print("%d cases, %d with findings of %d kinds, %d of them unknown; %d commands, %d s" % (
        total, bad, len(kinds), len(news), runs, time.time() - begun))
    return 1 if news else 0


def read_expected(path):
    """Rows `RULE CASE CASE ...`: what is known to break a rule, by its letter."""
    known = set()
    with open(path or os.devnull) as f:
        for line in f:
            if line.strip() and not line.startswith("#"):
                rule, *cases = line.split()
                known |= {(rule, int(c)) for c in cases}
    return known


def record(path, seen):
    with open(path, "w") as f:
        f.write("# Cases of seed 1 that still break a rule, by its letter, to become empty.\n"
                "# Any other case that breaks one fails.  Written by --record.\n")
        for rule in sorted({r for r, _ in seen}):
            f.write(textwrap.fill(" ".join(
                str(n) for r, n in sorted(seen) if r == rule), 78,
                initial_indent=rule + " ", subsequent_indent=rule + " ") + "\n")


def describe(kinds, o):
    """A paragraph for each rule and kind of damages: the commands that break it, and
    the smallest case."""
    groups = {}
    for (rule, command, what), cases in kinds.items():
        g = groups.setdefault((rule, what), ({}, []))
        g[0][command] = len(cases)
        g[1].extend(cases)
    out, last = [], None

    def size(item):
        (rule, what), (_, cases) = item
        return rule[0], len(what.split(" + ")), rule, -len(cases), what
    for (rule, what), (commands, cases) in sorted(groups.items(), key=size):
        n, shape, ident, list_, text = min(cases, key=lambda c: (len(c[3]), c[0]))
        if last != rule[0]:
            last = rule[0]
            out.append("\n## %s\n\n" % RULES[last])
        out.append("- **%s**: %s (%d cases)\n" % (rule, what, len({c[0] for c in cases})))
        out += ["  - %s\n" % c for c in sorted(commands)]
        out.append("  - `--seed %d --case %d`: %s; dataset %d: %s\n" % (
            o.seed, n, shape, ident, ", ".join(" ".join(map(str, d)) for d in list_)))
        out += ["    | " + line + "\n" for line in text.strip().split("\n")[:5] if line]
    return "".join(out)


RULES = {
    "a": "(a) whole, or status 0, with other bytes",
    "b": "(b) lost, though it can be had",
    "c": "(c) something right altered or deleted",
    "d": "(d) status 0 of a building command, and not right",
    "e": "(e) next: loops, is too long, or does not reach what can be reached",
    "f": "(f) inspect, verify and dry runs contradict one another",
    "g": "(g) sanitizers, crashes, hangs, usage errors",
}


if __name__ == "__main__":
    sys.exit(main())
