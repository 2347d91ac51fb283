#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Compare the times of two commands, which run in turn, so that other load on
the machine affects both.

  pairs.py NAME GOAL ROUNDS [-w] [-s CMD] [-t CMD] -a CMD -b CMD
  pairs.py NAME GOAL          pairs that were measured elsewhere, on stdin
  pairs.py peak CMD...        the peak resident memory of a command, in KiB

Runs ROUNDS times, after one round that does not count: `-s` (set-up before a),
a, `-t` (set-up before b), b, each by /bin/sh -c.  A pair on stdin is a line
"OURS REFERENCE [OURS REFERENCE]" in seconds and processor seconds.

Prints one TSV line: name, median seconds of a and b (wall), median of the
ratios a/b with least and greatest (wall), median ratio (processor time), goal,
verdict.  GOAL "-": none.  A goal is met if the wall or the processor ratio
meets it, because on a busy machine the wall ratio means little.  With -w, and
for pairs on stdin, only the wall ratio counts: other processes do the work, or
ranks wait for each other."""
import argparse
import resource
import subprocess
import sys
import time
from statistics import median


def children():
    return resource.getrusage(resource.RUSAGE_CHILDREN)


def run(cmd):
    """Wall and processor seconds of a shell command; None: of nothing."""
    wall, before = time.monotonic(), children()
    if cmd and subprocess.call(["/bin/sh", "-c", cmd]) != 0:
        sys.exit(f"pairs: failed: {cmd}")
    after = children()
    return (time.monotonic() - wall, after.ru_utime + after.ru_stime -
            before.ru_utime - before.ru_stime)


def one_round(o):
    run(o.s)
    a = run(o.a)
    run(o.t)
    b = run(o.b)
    return a[0], b[0], a[1], b[1]


def main():
    if sys.argv[1:2] == ["peak"]:
        status = subprocess.call(sys.argv[2:])
        print(f"peak\t{children().ru_maxrss}")
        return status
    parser = argparse.ArgumentParser()
    parser.add_argument("name")
    parser.add_argument("goal")
    parser.add_argument("rounds", type=int, nargs="?", default=0)
    parser.add_argument("-w", action="store_true")
    for option in "-s", "-t", "-a", "-b":
        parser.add_argument(option)
    o = parser.parse_args()
    if o.a is not None:
        rows = [one_round(o) for _ in range(o.rounds + 1)][1:]
    else:
        rows = [[float(x) for x in line.split()] for line in sys.stdin]
        o.w = True
    if not rows:
        print(f"{o.name}: no result: MISSED")
        return 1
    walls = [r[0] / r[1] for r in rows]
    cpus = [r[2] / r[3] for r in rows if len(r) > 2 and r[3] > 0]
    cpu = median(cpus) if cpus else None
    met = o.goal != "-" and (
        median(walls) <= float(o.goal) or
        (not o.w and cpu is not None and cpu <= float(o.goal)))
    print(o.name, f"{median(r[0] for r in rows):.4f}",
          f"{median(r[1] for r in rows):.4f}", f"{median(walls):.2f}",
          f"{min(walls):.2f}..{max(walls):.2f}",
          "-" if cpu is None else f"{cpu:.2f}", o.goal,
          "-" if o.goal == "-" else "met" if met else "MISSED", sep="\t")
    return 0


sys.exit(main())
