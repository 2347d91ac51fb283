#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""heat.py [STEPS [MILLISECONDS]] - heat.c in Python: an MPI program that uses
libscr for all that it writes.  It computes how heat spreads in a rod.  Each
rank has a piece of the rod.

    mpiexec -n 4 python3 heat.py

Kill it and start it again: it restarts from its newest checkpoint, and its
result is the same, bit by bit.  Its files are those of heat.c: each of the two
restarts from a checkpoint of the other.

It needs neither mpi4py nor numpy; numpy makes it faster.  scr.py is found where
PYTHONPATH says, or was installed by pip; pydoc3 scr explains each call.
"""
import array
import struct
import sys
import time

import scr

try:
    import numpy
except ImportError:
    numpy = None

CELLS = 10000  # of a rank


class Rod:
    """The piece of this rank: the computation, which knows nothing of
    checkpoints."""

    def __init__(self):
        self.rank, self.ranks = scr.rank(), scr.size()
        self.step = 0  # steps that are computed
        cells = range(self.rank * CELLS + 1, (self.rank + 1) * CELLS + 1)
        self.set(array.array("d", (i * i % 1013 % 100 for i in cells)))

    def set(self, temperatures):
        """The first and the last cell belong to the neighbours."""
        self.now = array.array("d", [0]) + temperatures + array.array("d", [0])
        if numpy is not None:
            self.now = numpy.array(self.now)

    def temperatures(self):
        return array.array("d", bytes(memoryview(self.now[1:-1])))

    def exchange(self):
        """Get the neighbours' cells beside ours.  The left end of the rod stays
        hot, the right end cold.  (With mpi4py: two calls of Sendrecv.)"""
        ends = [struct.unpack("dd", one) for one in
                scr.allgather(struct.pack("dd", self.now[1], self.now[-2]))]
        self.now[0] = ends[self.rank - 1][1] if self.rank > 0 else 100
        self.now[-1] = (ends[self.rank + 1][0]
                        if self.rank < self.ranks - 1 else 0)

    def compute(self):
        self.exchange()
        now = self.now
        if numpy is not None:
            now[1:-1] = now[1:-1] + 0.25 * (now[:-2] - 2 * now[1:-1] + now[2:])
        else:
            now[1:-1] = array.array("d", (
                here + 0.25 * (left - 2 * here + right)
                for left, here, right in zip(now, now[1:-1], now[2:])))
        self.step += 1


def save(rod, path):
    """A checkpoint: the step, and the temperatures as they are in memory."""
    with open(path, "wb") as f:
        f.write(struct.pack("i", rod.step))
        rod.temperatures().tofile(f)


def load(rod, path):
    """The opposite of save()."""
    temperatures = array.array("d")
    with open(path, "rb") as f:
        rod.step, = struct.unpack("i", f.read(4))
        temperatures.fromfile(f, CELLS)
    rod.set(temperatures)


def write_result(rod, path):
    """The result, as text."""
    with open(path, "w") as f:
        f.writelines("%.6f\n" % t for t in rod.temperatures())


def restart():
    """The rod of the newest checkpoint that all ranks can read, or a new one.

    libscr has rebuilt in the caches what died with a node, or else fetched the
    checkpoint from the prefix.  An scr.Error from the loop ends the job: a
    checkpoint may exist, but nobody can read it now, and a job that starts from
    the beginning would in time replace it.
    """
    rod, name = Rod(), None
    for attempt in scr.restarts():
        with attempt:
            load(rod, attempt.route("%s/rod.%d" % (attempt.name, rod.rank)))
            name = attempt.name
        if not attempt.valid:  # a rank could not read its file
            rod, name = Rod(), None
    if rod.rank == 0:
        print("heat: restarts from " + name if name else "heat: starts")
    return rod


def dataset(rod, name, flags, write):
    """Write a dataset.  A checkpoint is written to storage of the node,
    protected by redundancy on other nodes, and copied to the prefix now and
    then.  Output is always copied."""
    word = "is complete"
    try:
        with scr.output(name, flags) as out:
            # Relative to the prefix, which is the working directory unless
            # SCR_PREFIX is set.  This is where the file goes if it is flushed.
            write(rod, out.route("%s/rod.%d" % (name, rod.rank)))
    except (OSError, scr.Error):
        # All ranks come here.  A failed checkpoint is no reason to stop: a
        # later one may succeed.
        word = "failed"
    if rod.rank == 0:
        print("heat:", name, word)


def main():
    steps = int(sys.argv[1]) if len(sys.argv) > 1 else 50
    seconds = int(sys.argv[2]) / 1000 if len(sys.argv) > 2 else 0
    # Files go to the cache of the node first, and each tenth step is a
    # checkpoint.  The environment can change both.
    parameters = {
        "SCR_CACHE_BYPASS": 0,
        "SCR_CACHE_SIZE": 2,  # the output must not replace the checkpoint
        "SCR_CHECKPOINT_INTERVAL": 10,
    }
    with scr.session(parameters):
        rod, stop = restart(), False
        while rod.step < steps and not stop:
            rod.compute()
            time.sleep(seconds)
            # libscr knows how often checkpoints are worth their cost.
            if not scr.need_checkpoint():
                continue
            dataset(rod, "ckpt.%d" % rod.step, scr.FLAG_CHECKPOINT, save)
            # After a checkpoint is the time to stop: when scr_halt asks for it,
            # or the time of the job runs out.
            stop = scr.should_exit()
        if rod.step >= steps:
            dataset(rod, "result", scr.FLAG_OUTPUT, write_result)
        elif rod.rank == 0:
            print("heat: stops after step", rod.step)


main()
