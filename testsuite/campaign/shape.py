# SPDX-License-Identifier: BSD-3-Clause
"""Random prefixes: what the generator and the commands make, and all that is known of
it."""
import os
import re
import shutil

import meta
import tree as trees

TYPES = {"SINGLE": "single", "PARTNER": "partner", "XOR": "xor", "RS": "rs"}


class Dataset:
    """One dataset as it was made: its files, sets and metadata."""

    def __init__(self, ident, opts, made):
        self.id, self.name, self.opts = ident, "ckpt.%d" % ident, opts
        self.scheme, self.k, self.n = opts["scheme"], opts["k"], opts["ranks"]
        self.meta = ".scr/scr.dataset.%d/" % ident
        self.data = {p: e.data for p, e in made.items()
                     if p.startswith(self.name + "/") and e.kind == "f"}
        self.of = {r: [] for r in range(self.n)}  # in the order of the code
        self.sets = []  # lists of ranks
        self.chunks = {}  # (set number, map?) -> CHUNK
        self.type = {}  # (rank, map?) -> path of the redundancy file
        self.desc = {}  # the same of the descriptor
        self.code = {}  # the bytes of redundancy files
        self.extents = {}  # path -> [(container, offset, length)], if packed
        self.crcs = {}  # path -> metadata files with its checksum
        self.sizes = {}  # path -> metadata files with its size
        for path in self.data:
            self.of[self.rank(path)].append(path)
        if self.scheme != "NONE":
            self.find_sets(made)
        for r in self.of:
            self.of[r].sort(key=self.order.get if self.scheme != "NONE" else None)

    def rank(self, path):
        return int(re.search(r"rank_(\d+)", path).group(1))

    def find_sets(self, made):
        groups, self.order = {}, {}
        pattern = re.compile(r"redd?esc(map)?\.er\.(\d+)\.(\w+\.grp.*\.)?redset$")
        for path, e in made.items():
            m = pattern.search(path) if path.startswith(self.meta) else None
            if not m:
                continue
            rank, is_map = int(m.group(2)), m.group(1) is not None
            if not m.group(3):
                self.desc[rank, is_map] = path
                continue
            self.type[rank, is_map] = path
            self.code[path] = e.data
            head = meta.decode(e.data)
            member = meta.value(head, "RANK")
            own = head["DESC"][member]
            group = int(meta.value(own["DESC"], "GROUP"))
            groups.setdefault(group, {})[int(member)] = rank
            if "CHUNK" in head:
                self.chunks[group, is_map] = int(meta.value(head, "CHUNK"))
            for i, names in own["FILE"].items() if not is_map else ():
                for name in names:
                    base = name.rpartition("/")[2]
                    self.order[self.name + "/" + base] = int(i)
        for g in sorted(groups):
            self.sets.append([groups[g][m] for m in sorted(groups[g])])
        self.chunks = {(i, m): self.chunks.get((g, m)) for i, g in
                       enumerate(sorted(groups)) for m in (False, True)}

    def filemap(self, rank):
        return self.meta + "filemap_%d" % rank

    def look_at(self, tree):
        """What the finished prefix has: checksums, segments of packed files."""
        self.files = [p for p in tree if tree[p].kind == "f" and
                      (p.startswith(self.meta) or p in self.data)]
        for path in self.files:
            if not path.startswith(self.meta):
                continue
            for name, attrs in named(meta.decode(tree[path].data), self.name):
                if name not in self.data and self.meta + name not in self.code:
                    continue
                name = name if name in self.data else self.meta + name
                if "SIZE" in attrs:
                    self.sizes.setdefault(name, []).append(path)
                if "CRC" in attrs:
                    self.crcs.setdefault(name, []).append(path)
                if "SEG" in attrs:
                    self.extents[name] = self.segments(attrs)

    def segments(self, attrs):
        return [(self.meta + meta.value(s, "FILE"), int(meta.value(s, "OFFSET")),
                 int(meta.value(s, "LENGTH")))
                for _, s in sorted(attrs["SEG"].items(), key=lambda x: int(x[0]))]

    def bytes_now(self, tree, path):
        """The bytes of a file as they can be had, from a file or its containers;
        None: there is no such file, or its container is too short."""
        e = trees.resolve(tree, path)
        if e is not None or path not in self.extents:
            return e.data if e is not None else None
        now = self.joined(tree, self.extents[path])
        # A repack gives files other places, and writes a map of them.
        if path in self.data and now != self.data[path] and \
                path in (map_ := self.mapped(tree)):
            again = self.joined(tree, map_[path])
            now = again if again == self.data[path] else now
        return now

    def joined(self, tree, extents):
        out = b""
        for ctr, off, length in extents:
            e = trees.resolve(tree, ctr)
            part = e.data[off:off + length] if e else b""
            if len(part) != length:
                return None
            out += part
        return out

    def mapped(self, tree):
        """The places of files in containers, as rank2file says now."""
        out = {}
        # Its directory may be a link.
        for base in {p.rpartition("/")[2] for p in tree if "/rank2file." in p}:
            part = trees.resolve(tree, self.meta + base)
            for name, attrs in named(meta.decode(part.data)) if part else ():
                if "SEG" in attrs:
                    out[name] = self.segments(attrs)
        return out

def named(tree, dir=""):
    """The files that a filemap, a part of rank2file or a redundancy file names, and
    what it says of them."""
    if tree is None:
        return
    for member in tree.get("DESC", {}).values():
        for names in member.get("FILE", {}).values():
            for name, sub in names.items():
                yield dir + name[name.rindex("/"):], sub
    for name, sub in tree.get("META", {}).items():
        yield name, sub
    for name, sub in tree.get("FILE", {}).items():
        m = sub.get("META")
        if m is not None and meta.value(m, "PATH") is not None:
            path = meta.value(m, "PATH") + "/" + meta.value(m, "NAME")
            yield path[path.rindex("/ckpt.") + 1:] if "/ckpt." in path else path, m
    for r in tree.get("RANK", {}).values():
        for name, sub in r.get("FILE", {}).items():
            yield name, sub


def recorded(tree, ds):
    """What rank2file lists: {rank: names}; None: it is incomplete."""
    def load(suffix):
        e = trees.resolve(tree, ds.meta + "rank2file" + suffix)
        return meta.decode(e.data) if e else None
    out = {}
    for sub in (load("") or {}).get("RANK", {}).values():
        part = load(meta.value(sub, "FILE") or "")
        if not part:
            return None
        for r, t in part.get("RANK", {}).items():
            out[int(r)] = sorted(t.get("FILE", {}))
    return out if len(out) == ds.n else None


def choose(rng):
    """The options of a shape."""
    o = {"scheme": rng.choice(["NONE", "SINGLE", "PARTNER", "PARTNER", "XOR", "XOR",
                               "XOR", "RS", "RS", "RS"])}
    o["ranks"] = rng.choice([2, 3, 4, 4, 4, 5, 6, 8])
    halved = o["ranks"] % 2 == 0 and o["ranks"] >= 4 and rng.random() < 0.3
    o["nodes"] = o["ranks"] // 2 if halved else o["ranks"]
    o["k"] = {"NONE": 0, "SINGLE": 0, "XOR": 1}.get(o["scheme"], 0)
    if o["scheme"] in ("PARTNER", "RS"):
        o["k"] = min(rng.choice([1, 2, 2, 3]), o["nodes"] - 1)
    o["set"] = rng.choice([2, 3, 8, 8, 8])
    o["set"] = max(o["set"], o["k"] + 1)
    o["files"] = rng.choice([1, 1, 2, 3])
    o["size"] = "%d,%d" % (rng.choice([1, 60, 300, 900, 3000]),
                           rng.choice([0, 0, 40, 500]))
    o["crc"] = rng.random() < 0.4
    o["count"] = rng.choice([1, 1, 2, 2, 3])
    # How each dataset came to the prefix.
    o["state"] = rng.choice(["raw", "built", "built", "built", "summed", "summed",
                             "flushed", "bare"])
    o["pack"] = o["state"] in ("built", "summed") and rng.random() < 0.2
    o["flush_scr"] = rng.random() < 0.5
    return o


class Shape:
    """A prefix: its tree, its datasets, and older versions of their files."""

    def __init__(self, number, opts, tools, work):
        self.opts = opts
        self.number = number
        self.tree, self.sets = self.make(tools, work, 0)
        # The same datasets as an earlier run of the job left them.
        self.old, _ = self.make(tools, work, 50)

    def make(self, tools, work, age):
        o = self.opts
        prefix = work + "/p"
        shutil.rmtree(prefix, ignore_errors=True)
        sets = []
        for i in range(1, o["count"] + 1):
            args = ["-q", "-p", "p", "-n", o["ranks"], "-m", o["nodes"],
                    "-t", o["scheme"], "--set-size", o["set"], "-f", o["files"],
                    "-s", o["size"], "-i", i, "--seed", i + age,
                    "--time", 1700000000 + 1000 * i - 100000 * age,
                    "--recorded-prefix", prefix]
            args += ["-k", o["k"]] if o["k"] else []
            args += ["--crc"] if o["crc"] else []
            tools.must("gen_dataset", *args)
            sets.append(Dataset(i, o, trees.scan(prefix)))
        for ds in sets:
            self.finish(tools, prefix, ds)
        if not o["flush_scr"]:
            os.unlink(prefix + "/.scr/flush.scr")
        tree = trees.scan(prefix)
        for ds in sets:
            ds.look_at(tree)
        return tree, sets

    def finish(self, tools, prefix, ds):
        o = self.opts
        if o["state"] == "raw":
            return
        sums = ["--checksums"] if o["state"] == "summed" else []
        tools.must("scr_index", "-q", "-p", "p", "--build", ds.id, *sums)
        dir = prefix + "/" + ds.meta
        if o["state"] in ("flushed", "bare"):
            for name in os.listdir(dir):
                if name.startswith(("filemap_", "redd")):
                    os.unlink(dir + name)
        if o["state"] == "bare":  # as LLNL's library flushes: names only
            for name in os.listdir(dir):
                if name.startswith("rank2file."):
                    t = meta.decode(trees.read(dir + name))
                    for r in t["RANK"].values():
                        r["FILE"] = {f: {} for f in r["FILE"]}
                        r.pop("FILES", None)
                    with open(dir + name, "wb") as f:
                        f.write(meta.encode(t))
        if o["pack"]:
            args = ["--with-redundancy"] if ds.id % 2 == 0 else []
            tools.must("scr_container", "-q", "-p", "p", "pack", "--size", 2000,
                       *args, ds.id)

    def words(self):
        o = self.opts
        return ("%s%s %d ranks/%d nodes set %d, %d files of %s, %s%s%s%s, %d dataset%s" % (
            o["scheme"], o["k"] if o["scheme"] in ("RS", "PARTNER") else "",
            o["ranks"], o["nodes"], o["set"], o["files"], o["size"], o["state"],
            ", crc" if o["crc"] else "", ", packed" if o["pack"] else "",
            "" if o["flush_scr"] else ", no flush.scr", o["count"],
            "s" if o["count"] > 1 else ""))
