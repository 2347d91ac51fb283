#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""minimal.py - minimal.c in Python: it counts, and a crash does not make it
start over.

    mpiexec -n 4 python3 minimal.py
"""
import scr

with scr.session():
    file = "%s/rank_{}".format(scr.rank())
    count = 0
    for restart in scr.restarts():
        with restart, open(restart.route(file % restart.name)) as f:
            count = int(f.read())
        if not restart.valid:  # a rank could not read its file
            count = 0
    if scr.rank() == 0:
        print("counting from", count)
    for count in range(count + 1, count + 4):
        name = "count.%d" % count
        try:
            with scr.output(name, scr.FLAG_CHECKPOINT) as out:
                with open(out.route(file % name), "w") as f:
                    print(count, file=f)
        except (OSError, scr.Error):
            pass  # on all ranks; the next checkpoint may succeed
