# SPDX-License-Identifier: BSD-3-Clause
"""Directory trees as values: {path: entry}, read, compared and put back."""
import os
import stat
from collections import namedtuple

# kind: "f", "d", "l"; data: the bytes of a file, the target of a link.
BESIDE = "../beside"
Entry = namedtuple("Entry", "kind mode data mtime")


def scan(root):
    """The tree below a directory, and that beside it to which links may lead.  All of it
    can be read: this is root, or nothing has mode 0 but files of its own."""
    tree = {}
    for top in ("", BESIDE + "/"):
        todo = [top] if os.path.isdir(os.path.join(root, top)) else []
        if top and todo:
            tree[BESIDE] = Entry("d", 0o755, b"", 0)
        while todo:
            at = todo.pop()
            with os.scandir(os.path.join(root, at)) as entries:
                for e in entries:
                    path = at + e.name
                    st = e.stat(follow_symlinks=False)
                    mode = stat.S_IMODE(st.st_mode)
                    if stat.S_ISDIR(st.st_mode):
                        tree[path] = Entry("d", mode, b"", 0)
                        todo.append(path + "/")
                    elif stat.S_ISLNK(st.st_mode):
                        tree[path] = Entry("l", 0, os.readlink(e.path), 0)
                    else:
                        tree[path] = Entry("f", mode, read(e.path), st.st_mtime_ns)
    return tree


def read(path):
    fd = os.open(path, os.O_RDONLY)
    try:
        return os.read(fd, 1 << 24)
    finally:
        os.close(fd)


def same(a, b):
    """Are both trees one, but for the times of directories?"""
    return a == b


def restore(root, want, owner=None, now=None):
    """Make the tree below `root` this one; files that are right stay untouched."""
    now = scan(root) if now is None else now
    for path in sorted(now, reverse=True):
        old, new = now[path], want.get(path)
        if new is None or new.kind != old.kind or (
                old.kind != "d" and new != old):
            full = os.path.join(root, path)
            os.rmdir(full) if old.kind == "d" else os.unlink(full)
    for path in sorted(want):
        new, old = want[path], now.get(path)
        if new == old:
            continue
        full = os.path.join(root, path)
        if new.kind == "l":
            os.symlink(new.data, full)
        elif new.kind == "d":
            if old is None or old.kind != "d":
                os.mkdir(full)
            os.chmod(full, new.mode)
        else:
            fd = os.open(full, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            os.write(fd, new.data)
            os.fchmod(fd, new.mode)
            os.close(fd)
            os.utime(full, ns=(new.mtime, new.mtime))
        if owner:
            os.lchown(full, owner, owner)


def resolve(tree, path):
    """The file that a path names, through links inside the tree; None: no file."""
    parts, at, hops = path.split("/"), "", 0
    while parts:
        part = parts.pop(0)
        if part in ("", "."):
            continue
        if part == "..":
            at = at.rpartition("/")[0] if at else ".."
            continue
        here = at + "/" + part if at else part
        e = tree.get(here)
        if e is None:
            return None
        if e.kind == "l":
            hops += 1
            if hops > 20 or e.data.startswith("/"):
                return None
            parts = e.data.split("/") + parts
        else:
            at = here
    e = tree.get(at)
    return e if e is not None and e.kind == "f" else None
