# SPDX-License-Identifier: BSD-3-Clause
"""What is true of a damaged dataset, from its original bytes, what the scheme
tolerates, and what is left."""
import meta
import shape as shapes
import tree as trees


class Truth:
    """Of one dataset in one tree.

    right    all bytes of all files are there
    solvable they are, or follow from what is left and provably right
    known    which files it has follows from filemaps or rank2file
    caught   files with other bytes that a witness contradicts
    missed   those that no witness contradicts
    """

    def __init__(self, ds, was, tree):
        self.ds, self.was, self.tree = ds, was, tree
        now = {p: ds.bytes_now(tree, p) for p in ds.data}
        self.now = now
        self.bad = {p for p in ds.data if now[p] != ds.data[p]}
        self.other = {p for p in self.bad if now[p] is not None and
                      len(now[p]) == len(ds.data[p])}
        self.gone = self.bad - self.other
        # A size that no witness knows, but for the total.
        if sum(len(x or b"") for x in now.values()) == sum(map(len, ds.data.values())):
            self.other |= {p for p in self.gone if now[p] is not None and not any(
                self.intact(m) for m in ds.sizes.get(p, ()))}
            self.gone = self.bad - self.other
        self.right = not self.bad
        self.summed = {p for p in self.other if self.has_sum(p)}
        self.contradicted = self.find_contradictions()
        self.caught = {p for p in self.other if p in self.summed or
                       p in self.contradicted}
        self.missed = self.other - self.caught
        self.solvable = self.moved() or (
            all(self.set_solvable(i) for i in range(len(ds.sets)))
            if ds.sets else self.right)
        self.known = self.names_known()

    def moved(self):
        """Are all files in a directory that somebody renamed?"""
        at = self.ds.name + ".old"
        return at in self.tree and all(
            (e := self.tree.get(at + p[len(self.ds.name):])) and
            e.data == self.ds.data[p] for p in self.bad)

    def unsure(self):
        """Is there anything wrong that no witness tells from what is right, so that
        files computed from it may be wrong?"""
        ds = self.ds
        return self.missed or any(
            self.red(r) == "other" and any(p in self.gone for q in ranks for p in ds.of[q])
            for ranks in ds.sets for r in ranks)

    def doubtful(self):
        """Do data and redundancy differ, and nothing tells which is right?"""
        return bool(self.other - self.summed) or any(
            self.red(r) == "other" for ranks in self.ds.sets for r in ranks if not all(
                self.has_sum(p) for q in ranks for p in self.ds.of[q]))

    def intact(self, path):
        """Is this file of the dataset as it was, perhaps behind a link?"""
        now, was = trees.resolve(self.tree, path), self.was.get(path)
        return now is not None and was is not None and now.data == was.data and \
            now.mode & 0o400 != 0

    def has_sum(self, path):
        return any(self.intact(m) for m in self.ds.crcs.get(path, ()))

    def red(self, rank, is_map=False):
        """The redundancy file of a rank: "right"; "gone": it is not there, or shows
        that it is damaged; "other": only its body is."""
        path = self.ds.type.get((rank, is_map))
        was, now = self.ds.code.get(path), self.ds.bytes_now(self.tree, path)
        if now is not None and was is not None and not self.has_sum(path):
            now = now[:len(was)]  # nobody reads what follows
        if was == now:
            return "right"
        if was is None or now is None or len(was) != len(now) or self.has_sum(path):
            return "gone"
        end = meta.image(was)
        return "other" if was[:end] == now[:end] else "gone"

    def set_solvable(self, number):
        """Do all files of the set follow, byte by byte, from what is known to be right?"""
        ds, n = self.ds, len(self.ds.sets[number])
        ranks = ds.sets[number]
        if not any(p in self.bad for r in ranks for p in ds.of[r]):
            return True
        if ds.scheme == "SINGLE":
            return False
        red = [self.red(r) for r in ranks]
        if ds.scheme == "PARTNER":
            return "other" not in red and all(
                p not in self.bad or (p in self.gone or p in self.summed) and any(
                    red[(m + d) % n] == "right" for d in range(1, ds.k + 1))
                for m in range(n) for p in ds.of[ranks[m]])
        lost = {r for r, x in zip(ranks, red) if x == "gone"}
        doubt = {r for r, x in zip(ranks, red) if x == "other"}
        for r in ranks:
            for p in ds.of[r]:
                if p in self.other:
                    (lost if p in self.summed else doubt).add(r)
        if red.count("gone") > ds.k or doubt and len(lost) + 2 * len(doubt - lost) > ds.k:
            return False
        chunk = ds.chunks[number, False]
        for pieces in meta.stripes(ds.scheme, n, ds.k, chunk):
            # What is lost counts once, what is wrong somewhere twice.
            weight = bytearray(chunk)
            for m, is_red, off, length in pieces:
                if is_red:
                    add(weight, 0, length, {"gone": 1, "other": 2}.get(red[m], 0))
                    continue
                for p, lo, hi in self.within(ranks[m], off, length):
                    add(weight, lo, hi, 0 if p not in self.bad else
                        1 if p in self.gone or p in self.summed else 2)
            if max(weight) > ds.k:
                return False
        return True

    def within(self, rank, off, length):
        """The files in a piece of a rank's data, and where in the piece they are."""
        at = 0
        for p in self.ds.of[rank]:
            size = len(self.ds.data[p])
            lo, hi = max(off, at), min(off + length, at + size)
            if lo < hi:
                yield p, lo - off, hi - off
            at += size

    def __repr__(self):
        return ("bad %s, summed %s, caught %s, missed %s; solvable %s, known %s, "
                "described %s, unsure %s" % (
                    sorted(self.bad), sorted(self.summed), sorted(self.caught),
                    sorted(self.missed), self.solvable, self.known, self.described(),
                    bool(self.unsure())))

    def find_contradictions(self):
        """Files with other bytes in a stripe that shows it."""
        ds, found = self.ds, set()
        if not self.other:
            return found
        for i, ranks in enumerate(ds.sets):
            if ds.scheme == "PARTNER":
                n = len(ranks)
                for m in range(n):
                    wrong = [p for p in ds.of[ranks[m]] if p in self.other]
                    whole = not any(p in self.gone for p in ds.of[ranks[m]])
                    if wrong and whole and any(
                            self.red(ranks[(m + d) % n]) == "right"
                            for d in range(1, ds.k + 1)):
                        found.update(wrong)
            elif ds.scheme in ("XOR", "RS"):
                found |= self.stripe_contradictions(ranks, ds.chunks[i, False])
        return found

    def stripe_contradictions(self, ranks, chunk):
        """Files with other bytes in stripes that do not add up.  Wrong bytes hide
        where all that is left is computed from them, or by accident."""
        ds, found = self.ds, set()
        n = len(ranks)
        red = [self.red(r) for r in ranks]
        for pieces in meta.stripes(ds.scheme, n, ds.k, chunk):
            wrong, changed = set(), []  # by how much, as a number; None: lost
            for m, is_red, off, length in pieces:
                rank = ranks[m]
                if is_red:
                    path = ds.type.get((rank, False))
                    changed.append((m, off // chunk, None if red[m] == "gone" else diff(
                        ds.code[path], ds.bytes_now(self.tree, path),
                        meta.image(ds.code[path]) + off, length)))
                    continue
                total = 0
                for p, lo, hi in self.within(rank, off, length):
                    if p in self.gone:
                        total = None
                        break
                    before = ds.of[rank][:ds.of[rank].index(p)]
                    at = off + lo - sum(len(ds.data[q]) for q in before)
                    d = diff(ds.data[p], self.now[p], at, hi - lo) if p in self.other else 0
                    if d:
                        wrong.add(p)
                    total |= d << 8 * lo
                changed.append((m, None, total))
            if wrong and not meta.adds_up(ds.scheme, n, ds.k, chunk, changed):
                found |= wrong
        return found

    def names_known(self):
        ds = self.ds
        if self.maps_solvable():
            return True
        part = ds.meta + "rank2file"
        listed = [p for p in self.was if p.startswith(part)]
        if listed and all(self.intact(p) for p in listed):
            return True
        if ds.opts["pack"]:
            copies = [p for p in self.was if p.startswith(ds.meta + "copy.")]
            return bool(copies) and all(self.intact(p) for p in copies)
        return False

    def maps_solvable(self):
        """Do all filemaps follow from what is left of them?"""
        ds = self.ds
        maps = {r for r in ds.of if self.intact(ds.filemap(r))}
        if ds.filemap(0) not in self.was and any(
                self.intact(p) for p in self.was if "packed." in p and
                p.startswith(ds.meta)):
            return True  # they are in the map of the containers
        if not ds.sets:
            return len(maps) == ds.n
        for ranks in ds.sets:
            lost = {r for r in ranks if r not in maps}
            if not lost:
                continue
            bad = {r for r in ranks if self.red(r, True) != "right"}
            if ds.scheme == "PARTNER":
                n = len(ranks)
                if not all(any(ranks[(m + d) % n] not in bad
                               for d in range(1, ds.k + 1))
                           for m in range(n) if ranks[m] in lost):
                    return False
            elif len(lost | bad) > ds.k:
                return False
        return True

    def described(self):
        return any(self.intact(p) for p in (
            self.ds.meta + "summary.scr", ".scr/flush.scr", ".scr/index.scr"))

    def has_summary(self):
        """Can it be read, whatever it says?"""
        e = trees.resolve(self.tree, self.ds.meta + "summary.scr")
        return e is not None and e.mode & 0o400 != 0 and meta.decode(e.data) is not None

    def recoverable(self):
        return self.known and self.solvable

    def listed_right(self):
        """Does rank2file, from which the library fetches, name the right files?"""
        ds = self.ds
        return shapes.recorded(self.tree, ds) == {
            r: sorted(f) for r, f in ds.of.items()}


def add(weight, lo, hi, what):
    if what:
        weight[lo:hi] = bytes(min(x + what, 200) for x in weight[lo:hi])


def diff(a, b, off, length):
    x = int.from_bytes(a[off:off + length], "little")
    return x ^ int.from_bytes(b[off:off + length], "little")
