#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Metadata files, written without the project's own code.  By its name it is

  gen_craft --output FILE [--body FILE] [--nest N] [--count N] [--size N]
        write a tree as scr_inspect -m tree prints it, on stdin; or keys in
        each other, a count of keys that are not there, and a length in the
        header (formats.md 1.1).  Append what follows the tree in --body.
  gen_craft --temp-name NAME
        print the name of NAME's temporary file
  gen_meta --prefix DIR --index N
        write DIR/.scr/index.scr of N datasets: every seventh is an output,
        the others are checkpoints; every tenth is unfinished
  gen_halt_update [--rounds N] [--fcntl] FILE
        rewrite a halt file in a loop, as the library in a running job does
        after each checkpoint (formats.md 1.5, 3.6): in two halves with a pause
        between them, so that a reader without the lock sees an incomplete one
"""
import argparse
import fcntl
import os
import re
import struct
import sys
import time
import zlib

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)) + "/../campaign")
import meta  # noqa: E402

PAUSE = 0.0003
ESCAPES = {b"n": b"\n", b"t": b"\t"}


def from_printout(lines):
    """A key may begin with a blank, so a line can be indented by more than its
    depth.  \\n, \\t, \\\\ and \\xHH are as in C."""
    at = [{}]
    for line in lines:
        line = line.rstrip(b"\n")
        depth = min((len(line) - len(line.lstrip(b" "))) // 2, len(at))
        key = re.sub(rb"\\(x[0-9a-f]{2}|.)", lambda m: bytes.fromhex(m[1][1:].decode())
                     if m[1][1:] else ESCAPES.get(m[1], m[1]), line[2 * depth:])
        del at[depth:]
        at.append(at[-1].setdefault(key.decode("utf-8", "surrogateescape"), {}))
    return meta.encode(at[0])


def beyond_reason(o):
    size = o.size or 20 + 6 * o.nest + 4 + 4
    head = meta.MAGIC + struct.pack(">QI", size, 1) + b"\0\0\0\1d\0" * o.nest
    head += struct.pack(">I", o.count)
    return head + struct.pack(">I", zlib.crc32(head))


def temp_name(path):
    """FNV-1a, and its bits mixed as MurmurHash3 does."""
    h, most = 0xcbf29ce484222325, (1 << 64) - 1
    for byte in os.fsencode(path.rpartition("/")[2]):
        h = (h ^ byte) * 0x100000001b3 & most
    for factor in 0xff51afd7ed558ccd, 0xc4ceb9fe1a85ec53:
        h = (h ^ h >> 33) * factor & most
    return ".scrkit-%016x.tmp" % (h ^ h >> 33)


def craft(parser):
    for name in "--output", "--body", "--temp-name":
        parser.add_argument(name)
    for name in "--nest", "--count", "--size":
        parser.add_argument(name, type=int, default=0)
    o = parser.parse_args()
    if o.temp_name is not None:
        print(temp_name(o.temp_name))
        return
    out = (beyond_reason(o) if o.nest or o.count or o.size else
           from_printout(sys.stdin.buffer))
    if o.body:
        with open(o.body, "rb") as f:
            body = f.read()
        out += body[meta.image(body):]
    with open(o.output + ".new", "wb") as f:
        f.write(out)
    os.rename(o.output + ".new", o.output)


def index(parser):
    parser.add_argument("-p", "--prefix", required=True)
    parser.add_argument("--index", type=int, required=True)
    parser.add_argument("-q", action="store_true")
    o = parser.parse_args()

    def leaf(**values):
        return {k: {str(v): {}} for k, v in values.items()}

    def entry(i):
        when, out = 1700000000 + 60 * i, i % 7 == 0
        desc = leaf(ID=i, NAME="ckpt.%d" % i, FLAG_CKPT=int(not out),
                    FLAG_OUTPUT=int(out), CREATED=when * 1000000, USER="genuser",
                    JOBNAME="genjob", JOBID=1000, CLUSTER="gencluster",
                    **({} if out else {"CKPT": i}), FILES=8, SIZE=i * 4096, COMPLETE=1)
        return {**leaf(FLUSHED=time.strftime("%Y-%m-%dT%H:%M:%S", time.localtime(when)),
                       COMPLETE=int(i % 10 != 0)), "DSET": desc}
    ids = range(o.index, 0, -1)
    os.makedirs(o.prefix + "/.scr", exist_ok=True)
    with open(o.prefix + "/.scr/index.scr", "wb") as f:
        f.write(meta.encode({"VERSION": {"2": {}},
                             "NAME": {"ckpt.%d" % i: leaf(DSET=i) for i in ids},
                             "DSET": {str(i): entry(i) for i in ids}}))


def halt_update(parser):
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--fcntl", action="store_true")
    parser.add_argument("file")
    o = parser.parse_args()
    lock = fcntl.lockf if o.fcntl else fcntl.flock
    for _ in range(o.rounds):
        # The library takes a shared lock, too.
        with open(o.file, "r+b", buffering=0) as f:
            lock(f, fcntl.LOCK_SH)
            tree = meta.decode(f.read())
            left = int(meta.value(tree, "CheckpointsLeft"))
            tree["CheckpointsLeft"] = {str(max(left - 1, 0)): {}}
            out = meta.encode(tree)
            f.seek(0)
            f.write(out[:len(out) // 2])
            time.sleep(PAUSE)
            f.write(out[len(out) // 2:])
            f.truncate()
            lock(f, fcntl.LOCK_UN)
            os.fsync(f)
        time.sleep(PAUSE)


name = os.path.basename(sys.argv[0])
{"gen_craft": craft, "gen_meta": index, "gen_halt_update": halt_update}[name](
    argparse.ArgumentParser(prog=name, allow_abbrev=False))
