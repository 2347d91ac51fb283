#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Carry out the change requests of CONTRIBUTING.md, to see what each costs.

change_requests.py [REQUEST...]

Each request is carried out in a copy of the tree, built, and shown to work.
A line for each: the request, the files that had to change, and what was seen.
Exits with 1 if a request does not work or needs more than two files.
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import zlib

TOP = pathlib.Path(__file__).resolve().parents[1]
BUILD = "build/plain"


class Tree:
    """A copy of the tree with its objects; remembers what was changed."""

    def __init__(self, top):
        self.top = top
        self.changed = []
        skip = shutil.ignore_patterns(".git", "address*", "portable*", "coverage*")
        shutil.copytree(TOP, top, symlinks=True, ignore=skip, dirs_exist_ok=True)

    def write(self, path, text):
        (self.top / path).write_text(text)
        if path not in self.changed:
            self.changed.append(path)

    def edit(self, path, old, new):
        text = (self.top / path).read_text()
        if old not in text:
            sys.exit(f"{path}: lacks what the request changes: {old!r}")
        self.write(path, text.replace(old, new, 1))

    def copied(self, path, to, *names):
        text = (self.top / path).read_text()
        for old, new in names:
            text = text.replace(old, new)
        self.write(to, text)

    def make(self, *commands):
        jobs = f"-j{os.cpu_count()}"
        subprocess.run(["make", jobs] + [f"{BUILD}/{c}" for c in commands],
                       cwd=self.top, check=True)

    def run(self, *words, env=None, status=0):
        path = f"{self.top / BUILD}/bin:{self.top / BUILD}/gen:{os.environ['PATH']}"
        done = subprocess.run(words, cwd=self.top / "work", text=True,
                              env={**os.environ, "PATH": path, "LC_ALL": "C",
                                   "SCR_USER_NAME": "genuser", **(env or {})},
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        if done.returncode != status:
            sys.exit(f"{words[0]}: status {done.returncode}: {done.stdout}")
        return done.stdout

    def dataset(self, kind):
        (self.top / "work").mkdir()
        self.run("gen_dataset", "-q", "-p", "p", "-n", "4", "-m", "4", "-s",
                 "3000", "-t", kind)
        self.run("scr_index", "-q", "-p", "p", "--build", "1")
        return self.top / "work/p"


def rewrite(path, old, new):
    """Replace text of equal length in a kvtree file, with its checksum."""
    data = bytearray(path.read_bytes())
    size = int.from_bytes(data[8:16], "big")
    assert len(old) == len(new) and old in data[:size]
    image = bytes(data[:size - 4]).replace(old, new)
    data[:size] = image + zlib.crc32(image).to_bytes(4, "big")
    path.write_bytes(data)


def scheme(t):
    """A redundancy scheme: MIRRORS, the copies of PARTNER by another name."""
    line = '\tX(PARTNER, partner, "REPLICAS", 0, 0, COPIES), \\\n'
    t.edit("lib/meta/redset.h", line,
           line + line.replace("PARTNER", "MIRRORS").replace("partner", "mirrors"))
    t.copied("lib/scheme/scheme_partner.c", "lib/scheme/scheme_mirrors.c",
             ("scheme_partner", "scheme_mirrors"))
    t.make("bin/scr_rebuild", "bin/scr_index", "bin/scr_inspect")
    prefix = t.dataset("PARTNER")
    for file in list((prefix / ".scr/scr.dataset.1").glob("reddesc*.redset")):
        rewrite(file, b"PARTNER\0", b"MIRRORS\0")
        file.rename(file.with_name(file.name.replace("partner", "mirrors")))
    lost = prefix / "ckpt.1/rank_1.ckpt"
    was = lost.read_bytes()
    lost.unlink()
    t.run("scr_rebuild", "-p", "p", "1")
    assert lost.read_bytes() == was
    shown = t.run("scr_inspect", "-p", "p", "1")
    return "a lost file is rebuilt; " + re.search(r"MIRRORS.*", shown)[0]


def column(t):
    """A column of scr_index --list and its JSON: who wrote the dataset."""
    path = "lib/report/list.c"
    t.edit(path, '\t{ "fetched", "FETCHED" },\n',
           '\t{ "user", "USER" },\n\t{ "fetched", "FETCHED" },\n')
    t.edit(path, '\tadd_text(t, e->fetched, "");\n',
           '\tadd_text(t, d->user, "");\n\tadd_text(t, e->fetched, "");\n')
    t.make("bin/scr_index")
    t.dataset("XOR")
    shown = t.run("scr_index", "-p", "p", "--list", "-o", "id,user")
    assert re.search(r"USER\n.* genuser *\n", shown), shown
    assert '"user": "genuser"' in t.run("scr_index", "-p", "p", "--list", "--json")
    assert "USER" not in t.run("scr_index", "-p", "p", "--list")
    return "-o id,user shows genuser, LLNL's list is unchanged"


def resmgr(t):
    """A resource manager: OAR."""
    t.edit("lib/site/resmgr.h", "X(pbs)", "X(pbs) X(oar)")
    t.write("lib/site/resmgr_oar.c", """\
#include "error.h"
#include "hostlist.h"
#include "site/resmgr_impl.h"

static int
oar_nodes(struct resmgr *r, struct hostlist *out, struct error *err)
{
	const char *list = resmgr_env("OAR_NODES");

	(void)r;
	return list == NULL ? error_set(err, ERROR_ABSENT, "no OAR_NODES")
			    : hostlist_add(out, list, err);
}

const struct resmgr_ops resmgr_oar = {
	.name = "oar",
	.id_variables = { "OAR_JOB_ID" },
	.nodes = oar_nodes,
};
""")
    t.make("bin/scr_env")
    (t.top / "work").mkdir()
    env = {"OAR_JOB_ID": "77", "OAR_NODES": "n[1-3]", "SCR_JOB_ID": "",
           "SCRKIT_RESMGR": ""}
    assert t.run("scr_env", "job-id", env=env).strip() == "77"
    nodes = t.run("scr_env", "nodes", env=env).strip()
    assert nodes, nodes
    return f"job 77 is detected, its nodes are {nodes}"


def temporary(t):
    """Another way to name temporary files."""
    t.edit("lib/temp.c", '#define PREFIX ".scrkit-"', '#define PREFIX ".~scrkit."')
    t.make("bin/scr_index")
    prefix = t.dataset("XOR")
    calls = t.run("strace", "-f", "-e", "trace=rename,renameat,renameat2",
                  "scr_index", "-p", "p", "--current", "1")
    made = re.search(r'"(\.~scrkit\.[0-9a-f]+\.tmp)"', calls)[1]
    left = prefix / ".scr/scr.dataset.1" / made
    left.write_text("left by a process that was killed")
    t.run("scr_index", "-q", "-p", "p", "--delete", "1")
    assert not left.exists() and not left.parent.exists()
    return f"{made} is made, and one left over goes with its dataset"


def key(t):
    """A key of the summary: HOST."""
    t.edit("lib/meta/dataset.c", '\t{ "USER", FIELD_TEXT, AT(user), .json = "user" },\n',
           '\t{ "USER", FIELD_TEXT, AT(user), .json = "user" },\n'
           '\t{ "HOST", FIELD_TEXT, AT(host), .json = "host" },\n')
    t.edit("lib/meta/dataset.h", "*user", "*user, *host")
    t.make("bin/scr_index", "bin/scr_inspect")
    prefix = t.dataset("XOR")
    rewrite(prefix / ".scr/scr.dataset.1/summary.scr", b"USER\0", b"HOST\0")
    (prefix / ".scr/index.scr").unlink()
    shown = t.run("scr_index", "-p", "p", "--list", "--json", status=3)
    assert '"host": "genuser"' in shown
    t.run("scr_index", "-q", "-p", "p", "--current", "1")
    assert b"HOST\0" in (prefix / ".scr/index.scr").read_bytes()
    return "read from the summary, kept in the index, shown in JSON"


REQUESTS = {"scheme": scheme, "column": column, "resmgr": resmgr,
            "temporary": temporary, "key": key}


def main(names):
    bad = False

    subprocess.run(["make", f"-j{os.cpu_count()}", "programs",
                    f"{BUILD}/gen/gen_dataset"], cwd=TOP, check=True)
    for name in names or REQUESTS:
        with tempfile.TemporaryDirectory() as work:
            tree = Tree(pathlib.Path(work) / "tree")
            seen = REQUESTS[name](tree)
        bad |= len(tree.changed) > 2
        print(f"{name}: {len(tree.changed)}: {' '.join(tree.changed)}: {seen}",
              flush=True)
    return bad


sys.exit(main(sys.argv[1:]))
