# SPDX-License-Identifier: BSD-3-Clause
"""What happens to prefixes.  A damage is a tuple of words and numbers, so that a case
can be printed and repeated without its random numbers."""
import os

import tree as trees

Entry = trees.Entry


def role(path, ds):
    """What a file is to its dataset."""
    if not path.startswith(ds.meta):
        return "data" if path in ds.data else "other"
    base = path[len(ds.meta):]
    for start, word in (("filemap_", "filemap"), ("reddescmap", "map-red"),
                        ("reddesc", "red"), ("rank2file.", "part"),
                        ("copy.", "copy"), ("packed", "segmap"),
                        (".scr/ctr", "container"), (".scr/red", "red-container")):
        if base.startswith(start):
            is_desc = "red" in word and base.count(".") == 3
            return word + ("-desc" if is_desc else "")
    return base


WEIGHTS = {"data": 10, "filemap": 4, "map-red": 2, "map-red-desc": 1, "red": 5,
           "red-desc": 2, "rank2file": 2, "part": 4, "summary.scr": 3,
           "container": 8, "red-container": 5, "segmap": 3, "copy": 2}
KINDS = ["delete"] * 5 + ["cut"] * 2 + ["flip"] * 5 + ["older"] * 3 + ["swap"] * 2 + [
    "foreign"] * 3 + ["garbage"] * 2 + ["empty", "dir", "link", "dangling", "mode",
                                        "longer", "rank", "rank", "index", "index",
                                        "flush", "olddata", "moved", "dirlink",
                                        "modedir", "swapmeta"]


def pick_file(rng, tree, ds):
    by = {}
    for p in ds.files:
        if p in tree and tree[p].kind == "f":
            by.setdefault(role(p, ds), []).append(p)
    roles = [r for r in by if r in WEIGHTS]
    return roles and rng.choice(by[rng.choices(roles, [WEIGHTS[r] for r in roles])[0]])


def invent(rng, shape, tree, ds):
    """A random damage of this dataset, or None."""
    kind = rng.choice(KINDS)
    path = pick_file(rng, tree, ds)
    if not path:
        return None
    size = len(tree[path].data)
    if kind in ("delete", "dir", "link", "dangling", "mode", "empty"):
        return kind, path
    if kind in ("cut", "longer"):
        return (kind, path, rng.randrange(size) if kind == "cut" else
                rng.choice([1, 40])) if size else None
    if kind == "flip":
        return ("flip", path, rng.randrange(size), rng.choice([1, 1, 4, 30])
                ) if size else None
    if kind == "garbage":
        return "garbage", path, rng.choice([10, size or 1])
    if kind == "older":
        return ("older", path) if path in shape.old else None
    if kind == "swap":
        others = [p for p in ds.data if p != path and p in tree and
                  tree[p].kind == "f"]
        if path not in ds.data or not others:
            return None
        even = [p for p in others if len(tree[p].data) == size]
        return "swap", path, rng.choice(even if even and rng.random() < 0.7 else others)
    if kind == "foreign":
        others = [d for d in shape.sets if d is not ds]
        if not others:
            return None
        o = rng.choice(others)
        source = (o.meta + path[len(ds.meta):] if path.startswith(ds.meta) else
                  o.name + path[len(ds.name):])
        return ("foreign", path, source) if source in tree else None
    if kind == "rank":
        return "rank", ds.id, rng.randrange(ds.n)
    if kind == "index":
        return "index", rng.choice(["delete", "garbage", "cut", "drop"]), ds.id
    if kind == "flush":
        return "flush", rng.choice(["delete", "garbage", "older"])
    if kind == "olddata":  # all the files of one rank, or of all, of an earlier run
        return "olddata", ds.id, rng.choice([-1, rng.randrange(ds.n)])
    if kind == "moved":
        return "moved", ds.name
    if kind == "dirlink":
        return "dirlink", rng.choice([ds.name, ds.name, ds.meta[:-1], ".scr"])
    if kind == "modedir":
        return "modedir", rng.choice([ds.name, ds.meta[:-1]])
    if kind == "swapmeta":
        others = [p for p in ds.files if p != path and role(p, ds) == role(path, ds)]
        return ("swap", path, rng.choice(others)) if others else None


def apply(damage, shape, tree, tools):
    """Do it to a tree; False: it cannot be, after the others."""
    kind, path = damage[0], damage[1]
    by_id = {d.id: d for d in shape.sets}
    if kind.startswith("mode") and os.getuid() != 0:
        return False  # this program has to read it
    if kind in ("delete", "dir", "link", "dangling", "mode", "empty", "cut", "longer",
                "flip", "garbage", "older", "swap", "foreign"):
        e = tree.get(path)
        if e is None or e.kind != "f":
            return False
    if kind == "delete":
        del tree[path]
    elif kind == "cut":
        tree[path] = e._replace(data=e.data[:damage[2]])
    elif kind == "longer":
        tree[path] = e._replace(data=e.data + b"x" * damage[2])
    elif kind == "empty":
        tree[path] = e._replace(data=b"")
    elif kind == "flip":
        at, n = damage[2], damage[3]
        part = bytes(b ^ 0x55 for b in e.data[at:at + n])
        tree[path] = e._replace(data=e.data[:at] + part + e.data[at + len(part):])
    elif kind == "garbage":
        tree[path] = e._replace(data=(b"\x17garbage" * (damage[2] // 8 + 1))[:damage[2]])
    elif kind == "older":
        if shape.old[path] == e:
            return False
        tree[path] = shape.old[path]
    elif kind in ("swap", "foreign"):
        f = tree.get(damage[2])
        if f is None or f.kind != "f" or f.data == e.data:
            return False
        tree[path] = f
        if kind == "swap":
            tree[damage[2]] = e
    elif kind == "dir":
        tree[path] = Entry("d", 0o755, b"", 0)
    elif kind == "link":  # moved elsewhere on the prefix
        tree["elsewhere"] = Entry("d", 0o755, b"", 0)
        to = "elsewhere/" + path.replace("/", "_")
        tree[to] = e
        tree[path] = Entry("l", 0, "../" * path.count("/") + to, 0)
    elif kind == "dangling":
        tree[path] = Entry("l", 0, "nowhere", 0)
    elif kind == "mode":
        tree[path] = e._replace(mode=0)
    elif kind == "rank":
        ds, r = by_id[path], damage[2]
        gone = [p for p in tree if (p in ds.data and ds.rank(p) == r) or
                p == ds.filemap(r) or p in [ds.type.get((r, m)) for m in (0, 1)] or
                p in [ds.desc.get((r, m)) for m in (0, 1)]]
        for p in gone:
            del tree[p]
        return bool(gone)
    elif kind in ("index", "flush"):  # `path` says what happens to it
        at = ".scr/%s.scr" % kind
        e = tree.get(at)
        if e is None:
            return False
        if path == "delete":
            del tree[at]
        elif path == "drop":
            return tools.on_tree(tree, "scr_index", "-q", "-p", "p", "--drop",
                                 "id:%d" % damage[2])
        elif path == "older":
            tree[at] = shape.old[at]
        else:
            tree[at] = e._replace(data=b"garbage" * 30 if path == "garbage" else
                                  e.data[:len(e.data) // 2])
    elif kind == "olddata":
        ds = by_id[path]
        files = [p for p in ds.data if p in tree and p in shape.old and
                 damage[2] in (-1, ds.rank(p))]
        for p in files:
            tree[p] = shape.old[p]
        return bool(files)
    elif kind == "moved":
        if path not in tree:
            return False
        move(tree, path, path + ".old")
    elif kind == "dirlink":  # to another file system, as a user does who has no space
        if path not in tree or tree[path].kind != "d":
            return False
        to = trees.BESIDE + "/" + path.replace("/", "_")
        tree[trees.BESIDE] = Entry("d", 0o755, b"", 0)
        move(tree, path, to)
        tree[path] = Entry("l", 0, "../" * path.count("/") + to, 0)
    elif kind == "modedir":
        if path not in tree or tree[path].kind != "d":
            return False
        tree[path] = tree[path]._replace(mode=0)
    return True


def move(tree, path, to):
    for p in [p for p in tree if p == path or p.startswith(path + "/")]:
        tree[to + p[len(path):]] = tree.pop(p)
