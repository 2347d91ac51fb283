#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""train.py [EPOCHS] - train a model on several ranks, and resume after a crash.

    mpiexec -n 4 python3 train.py

Each rank trains on its own part of the data; after each batch the ranks average
their gradients.  The state of the training (model, optimizer, epoch, random
numbers) is a checkpoint after each epoch: every rank writes what it alone has,
rank 0 what all ranks have alike.  The model and its training resume where they
stopped: the result is the same, bit by bit.

It uses PyTorch if it is installed.  Otherwise a model of a few lines with the
same methods takes its place, so that the example runs everywhere.
"""
import pickle
import random
import struct
import sys

import scr

try:
    import torch
except ImportError:
    torch = None

BATCHES, BATCH = 20, 8


# --- The model: y = weight * x + bias ----------------------------------------

if torch is None:
    class Line:
        """The methods of torch.nn.Linear(1, 1) that are used here."""

        def __init__(self):
            self.values, self.gradients = [0.0, 0.0], [0.0, 0.0]

        def backward(self, pairs):
            """Set the gradients of the mean squared error, and return that."""
            wrong = [self.values[0] * x + self.values[1] - y for x, y in pairs]
            self.gradients = [
                2 * sum(e * x for e, (x, y) in zip(wrong, pairs)) / len(pairs),
                2 * sum(wrong) / len(pairs)]
            return sum(e * e for e in wrong) / len(pairs)

        def state_dict(self):
            return {"values": self.values}

        def load_state_dict(self, state):
            self.values = list(state["values"])

    class Descent:
        """Those of torch.optim.SGD(..., momentum=0.5)."""

        def __init__(self, model):
            self.model, self.speed = model, [0.0, 0.0]

        def step(self):
            for i, gradient in enumerate(self.model.gradients):
                self.speed[i] = 0.5 * self.speed[i] + gradient
                self.model.values[i] -= 0.05 * self.speed[i]

        def state_dict(self):
            return {"speed": self.speed}

        def load_state_dict(self, state):
            self.speed = list(state["speed"])
else:
    class Line(torch.nn.Linear):
        def __init__(self):
            super().__init__(1, 1)
            torch.nn.init.zeros_(self.weight)
            torch.nn.init.zeros_(self.bias)

        def backward(self, pairs):
            x = torch.tensor([[x] for x, y in pairs])
            y = torch.tensor([[y] for x, y in pairs])
            loss = torch.nn.functional.mse_loss(self(x), y)
            self.zero_grad()
            loss.backward()
            return loss.item()

        @property
        def gradients(self):
            return [p.grad.item() for p in self.parameters()]

        @gradients.setter
        def gradients(self, values):
            for p, value in zip(self.parameters(), values):
                p.grad.fill_(value)

    def Descent(model):
        return torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.5)


def average(values):
    """The mean of all ranks' values, the same bits on all ranks."""
    form = "%dd" % len(values)
    everyone = [struct.unpack(form, one)
                for one in scr.allgather(struct.pack(form, *values))]
    return [sum(column) / len(everyone) for column in zip(*everyone)]


# --- The training ------------------------------------------------------------

class Training:
    def __init__(self):
        self.rank = scr.rank()
        self.epoch = 0
        self.model = Line()
        self.optimizer = Descent(self.model)
        self.data = random.Random(self.rank)  # of this rank alone

    def run_epoch(self):
        """Returns the mean loss of all ranks."""
        losses = []
        for _ in range(BATCHES):
            xs = [self.data.uniform(-1, 1) for _ in range(BATCH)]
            losses.append(self.model.backward([(x, 3 * x + 2) for x in xs]))
            self.model.gradients = average(self.model.gradients)
            self.optimizer.step()
        self.epoch += 1
        return average([sum(losses) / BATCHES])[0]

    def save(self, name):
        """A checkpoint.  False: it failed, on all ranks; a later one may
        succeed."""
        try:
            with scr.output(name, scr.FLAG_CHECKPOINT) as out:
                with open(out.route("%s/data.%d" % (name, self.rank)),
                          "wb") as f:
                    pickle.dump(self.data.getstate(), f)
                if self.rank == 0:
                    write({"epoch": self.epoch,
                           "model": self.model.state_dict(),
                           "optimizer": self.optimizer.state_dict()},
                          out.route(name + "/state"))
        except (OSError, scr.Error):
            return False
        return True

    def load(self, restart):
        """The opposite.  Rank 0 alone has the file of the state: libscr brings
        each rank the files that it wrote.  So rank 0 passes it on."""
        with open(restart.route("%s/data.%d" % (restart.name, self.rank)),
                  "rb") as f:
            self.data.setstate(pickle.load(f))
        if self.rank == 0:
            return read(restart.route(restart.name + "/state"))
        return None


def write(state, path):
    if torch is not None:
        torch.save(state, path)
    else:
        with open(path, "wb") as f:
            pickle.dump(state, f)


def read(path):
    if torch is not None:
        return torch.load(path, map_location="cpu")
    with open(path, "rb") as f:
        return pickle.load(f)


def resume():
    """The training of the newest checkpoint that all ranks can read, or a new
    one."""
    training, state = Training(), None
    for restart in scr.restarts():
        with restart:
            state = training.load(restart)
        if not restart.valid:  # a rank could not read its file
            training, state = Training(), None
    # Outside of the loop, where a rank that fails leaves no other one waiting.
    state = pickle.loads(scr.allgather(pickle.dumps(state))[0])
    if state is not None:
        training.model.load_state_dict(state["model"])
        training.optimizer.load_state_dict(state["optimizer"])
        training.epoch = state["epoch"]
    if training.rank == 0:
        print("train: resumes after epoch %d" % training.epoch
              if state is not None else "train: starts")
    return training


def main():
    epochs = int(sys.argv[1]) if len(sys.argv) > 1 else 6
    with scr.session({"SCR_CACHE_BYPASS": 0, "SCR_CACHE_SIZE": 2}):
        training = resume()
        while training.epoch < epochs:
            loss = training.run_epoch()
            good = training.save("epoch.%d" % training.epoch)
            if training.rank == 0:
                print("train: epoch %d, loss %.3g%s"
                      % (training.epoch, loss, "" if good else ", not saved"))
            if scr.should_exit():
                break
        if training.epoch < epochs:
            return
        # Only rank 0 has a file; all ranks take part.
        with scr.output("model", scr.FLAG_OUTPUT) as out:
            if training.rank == 0:
                write(training.model.state_dict(), out.route("model/weights"))


main()
