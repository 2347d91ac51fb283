# SPDX-License-Identifier: BSD-3-Clause
# bounds.py COUNT: put extreme numbers into the fields of metadata files, and run
# commands.  Each must end soon, with a documented status, and write no file that is
# longer than the dataset.  The known cases, then COUNT random ones; 0: every field.
import glob
import os
import random
import resource
import shutil
import subprocess
import sys
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + "/../campaign")
import meta

BIG = [2**31 - 1, 2**32 - 1, 2**32, 2**40, 2**46, 2**62, 2**63 - 1, 2**64 - 1]
SECONDS = 10
GEN = os.environ["GEN"] + "/gen_dataset -q --prefix %s --ranks 4 --files 2 --size 0,500 "
BUILT = "; scr_index -q -p %s --checksums --build 1"
PACKED = GEN + "--type XOR" + BUILT + "; scr_container -q -p %s pack --size 300 "
BASES = {
    "xor": GEN + "--type XOR" + BUILT,
    "rs": GEN + "--type RS -k 2 --lose 1",
    "partner": GEN + "--type PARTNER" + BUILT,
    "single": GEN + "--type SINGLE",
    "packed": PACKED + "1",
    "all": PACKED + "--with-redundancy 1",
}
COMMANDS = [
    "scr_inspect -p p --deep --checksums 1",
    "scr_index -p p --list",
    "scr_index -p p --verify 1",
    "scr_container -p p verify 1",
    "scr_archive -p p export -q -o out.tar 1",
    "scr_rebuild -p p 1",
    "scr_index -p p --build 1",
]
# Base, key, part of the names of the files in which its first number changes, number.
KNOWN = [
    ("xor", "CHUNK", "reddesc", 2**40),
    ("rs", "CHUNK", "reddesc", 2**40),
    ("xor", "SIZE", "rank2file", 2**50),
    ("packed", "OFFSET", "rank2file", 2**62),
    ("packed", "LENGTH", "rank2file", 2**62),
    ("all", "OFFSET", "packed", 2**62),
]


def numbers(tree, key=""):
    """(key above, its tree, the number) of every number."""
    for k, below in list(tree.items()):
        if k.lstrip("-").isdigit():
            yield key, tree, k
        yield from numbers(below, k)


def trees(prefix, part):
    """Path, tree and what is behind it, of the metadata files."""
    for path in sorted(glob.glob(prefix + "/.scr/**", recursive=True)) + sorted(
        glob.glob(prefix + "/.scr/*/.scr/*")
    ):
        if os.path.isfile(path) and part in path:
            with open(path, "rb") as f:
                data = f.read()
            tree = meta.decode(data)
            if tree is not None:
                yield path, tree, data[meta.image(data):]


def put(path, tree, rest, place, number, value):
    """Write the tree with another number there, in its order."""
    items = [(str(value) if k == number else k, v) for k, v in place.items()]
    place.clear()
    place.update(items)
    with open(path, "wb") as f:
        f.write(meta.encode(tree) + rest)


def limit():
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))


def run(base, what, change):
    """Change a copy of the base, and run the commands.  Returns the failures."""
    bad = 0
    shutil.rmtree("p", ignore_errors=True)
    shutil.copytree("base_" + base, "p", symlinks=True)
    if not change("p"):
        sys.exit("%s: %s: no such field" % (base, what))
    for command in COMMANDS:
        start = time.monotonic()
        try:
            done = subprocess.run(
                command.split(),
                capture_output=True,
                timeout=SECONDS,
                preexec_fn=limit,
            )
            status, text = done.returncode, done.stderr.decode(errors="replace")
        except subprocess.TimeoutExpired:
            status, text = "hangs", ""
        if status not in (0, 1, 2, 3, 4) or "memory" in text:
            took = time.monotonic() - start
            print(base, what, command, status, "%.1f s" % took, text[:200])
            bad += 1
    return bad


def in_each(key, part, value):
    def change(prefix):
        found = 0
        for path, tree, rest in trees(prefix, part):
            at = [n for n in numbers(tree) if n[0] == key]
            for _, place, number in at[:1]:
                put(path, tree, rest, place, number, value)
                found += 1
        return found > 0

    return change


def in_one(name, index, value):
    def change(prefix):
        for path, tree, rest in trees(prefix, name):
            put(path, tree, rest, *list(numbers(tree))[index][1:], value)
            return True
        return False

    return change


def fields(base):
    """Every number in every file: (what, function that changes it)."""
    for path, tree, _ in trees("base_" + base, ""):
        name = path[len("base_" + base) :]
        for index, (above, _, _) in enumerate(numbers(tree)):
            for value in BIG:
                yield (
                    "%s: number %d, %s = %d" % (name, index, above, value),
                    in_one(name, index, value),
                )


def main():
    count, bad, seed = int(sys.argv[1]), 0, random.randrange(10**6)
    cases = []
    for base, command in BASES.items():
        name = "base_" + base
        command = command.replace("%s", name)
        subprocess.run(command, shell=True, check=True, stderr=subprocess.DEVNULL)
        cases += [(base, what, change) for what, change in fields(base)]
    print("%d numbers, seed %d" % (len(cases) // len(BIG), seed))
    if count > 0:
        cases = random.Random(seed).sample(cases, count)
    for base, key, part, value in KNOWN:
        what = "%s = %d in each %s" % (key, value, part)
        cases.append((base, what, in_each(key, part, value)))
    for base, what, change in cases:
        bad += run(base, what, change)
    print("%d cases, %d commands, %d bad" % (len(cases), len(COMMANDS), bad))
    return bad > 0


sys.exit(main())
