# SPDX-License-Identifier: BSD-3-Clause
"""Checkpoints and output of a parallel Python program, written fast, kept safe.

The ranks of a job write their files to the cache: storage of their own nodes.
libscr protects them by redundancy on other nodes, and copies some to the
prefix, a directory on the parallel file system.  A job that is started again
after a failure restarts from the newest checkpoint, also if nodes have died.

    import scr

    with scr.session():                         # init() ... finalize()
        step = 0
        for restart in scr.restarts():          # newest first
            with restart:
                with open(restart.route("rank_%d" % scr.rank())) as f:
                    step = int(f.read())
            if not restart.valid:               # a rank could not read its file
                step = 0
        while step < 100 and not scr.should_exit():
            step += 1                           # compute here
            if scr.need_checkpoint():
                name = "ckpt.%d" % step
                with scr.output(name, scr.FLAG_CHECKPOINT) as out:
                    with open(out.route("rank_%d" % scr.rank()), "w") as f:
                        f.write(str(step))

Run it as each MPI program: mpiexec -n 4 python3 program.py

Parameters are environment variables such as SCR_CACHE_BYPASS=0, which makes
the ranks write to the cache; scr(3) has the most important ones,
scrkit.conf(5) all.

The functions are those of scr(3): scr.start_output() is SCR_Start_output().
Programs that were written for the scr.py of LLNL's SCR 3.1 run unchanged.

Collective calls
----------------
All ranks of MPI_COMM_WORLD make the same calls in the same order, with the
same arguments.  Only route_file(), get_version(), rank(), size(),
restart_ranks(), restart_files(), abort() and, after init(), queries by
config() are local: one rank may call them alone.  One thread of each rank
calls this module.

Files
-----
A file is named by its path below the prefix, or relative to the working
directory, by a str, bytes or os.PathLike.  A str is encoded by os.fsencode().
route_file(), out.route() and restart.route() return the path to open now.
Close a file before its dataset is completed: buffered data are not in the
file.

Failures
--------
scr.Error, a RuntimeError, says which function of libscr failed; libscr has
printed why on standard error.  The result is the same on all ranks, except
that of route_file().  A name with a NUL, or of SCR_MAX_FILENAME (1024) bytes
or more, is a ValueError.  A call in the wrong state, such as complete_output()
without start_output(), ends the job: libscr prints why, and calls MPI_Abort().

Once init() has been called, an exception that ends the program of one rank
ends the job, by MPI_Abort(), after its traceback: the other ranks would wait
for this one until the time of the job is over.  (Not in an interactive
interpreter.)  A rank that ends alone in another way calls abort(); inside
`with session()`, sys.exit(1) does.

libscr itself ends a job that should stop if SCR_HALT_EXIT=1, in init() or
after a checkpoint.  It does so as exit() in C: functions of the module atexit
do not run.

MPI
---
If the program has imported mpi4py, that has initialised MPI.  Otherwise the
first call does, and MPI is finalised at the end of the program; mpi4py may be
imported later.  Programs without mpi4py have rank(), size(), allgather() and
abort().

The library
-----------
The first call loads libscr: the file that the environment variable
SCRKIT_LIBSCR names; or else that of the installation, or of the source tree,
to which this file belongs; or else what the loader finds as libscr.so.3 or
libscr.so.
"""

import atexit
import contextlib
import ctypes
import glob
import itertools
import os
import sys
import time
import traceback
from typing import Any, Iterator, List, Optional, Tuple, Union

__all__ = [
    "Error", "FLAG_CHECKPOINT", "FLAG_NONE", "FLAG_OUTPUT", "Output",
    "Restart", "abort", "allgather", "complete_checkpoint", "complete_output",
    "complete_restart", "config", "current", "delete", "drop", "finalize",
    "get_version", "have_restart", "init", "need_checkpoint", "output", "rank",
    "restart_files", "restart_ranks", "restarts", "route_file", "session",
    "should_exit", "size", "start_checkpoint", "start_output",
    "start_restart",
]

FLAG_NONE = 0
FLAG_CHECKPOINT = 1
FLAG_OUTPUT = 2

Name = Union[str, bytes, "os.PathLike"]

_MAX_FILENAME = 1024
_SONAME = "libscr.so.3"

# What a bug of the program raises, rather than a file that cannot be read: to
# try older checkpoints would reject one after the other.
_BUGS = (AttributeError, ImportError, MemoryError, NameError,
         NotImplementedError, SyntaxError, TypeError)


class Error(RuntimeError):
    """A function of libscr failed, or cannot be called."""


class _Missing(Error, NotImplementedError):
    """An older libscr."""


# --- The library -------------------------------------------------------------

class _State:
    """What this process has done; a child by fork() has done nothing."""

    lib = None          # type: Any
    path = ""           # of the library
    pid = 0             # of the process that initialised SCR
    initialised = False  # init() succeeded, and finalize() was not called
    owns_mpi = False    # this module called MPI_Init()
    hooked = False      # the functions for the end of the program are set


_state = _State()


def _candidates() -> List[str]:
    """The files to try, in this order."""
    chosen = os.environ.get("SCRKIT_LIBSCR")
    if chosen:
        return [chosen]
    here = os.path.dirname(os.path.realpath(__file__))
    out = []
    if here.endswith("/share/scr/python"):
        prefix = here[:-len("/share/scr/python")]
        out += [prefix + "/lib/" + _SONAME, prefix + "/lib64/" + _SONAME]
        out += sorted(glob.glob(
            glob.escape(prefix) + "/lib/*-linux-*/" + _SONAME))
    elif here.endswith("/bindings/python"):
        out.append(here[:-len("/bindings/python")] + "/build/plain/" + _SONAME)
    return out + [_SONAME, "libscr.so"]


def _declare(lib: Any) -> None:
    text, number = ctypes.c_char_p, ctypes.c_int
    flag = ctypes.POINTER(ctypes.c_int)
    for name, arguments in (
            ("SCR_Init", []), ("SCR_Finalize", []),
            ("SCR_Route_file", [text, text]),
            ("SCR_Have_restart", [flag, text]), ("SCR_Start_restart", [text]),
            ("SCR_Complete_restart", [number]), ("SCR_Need_checkpoint", [flag]),
            ("SCR_Start_checkpoint", []), ("SCR_Complete_checkpoint", [number]),
            ("SCR_Start_output", [text, number]),
            ("SCR_Complete_output", [number]), ("SCR_Current", [text]),
            ("SCR_Delete", [text]), ("SCR_Drop", [text]),
            ("SCR_Should_exit", [flag]), ("MPI_Initialized", [flag]),
            ("MPI_Finalized", [flag])):
        function = getattr(lib, name)
        function.argtypes, function.restype = arguments, number
    lib.SCR_Config.argtypes = [text]
    lib.SCR_Config.restype = ctypes.c_void_p  # to be freed
    lib.SCR_Get_version.argtypes, lib.SCR_Get_version.restype = [], text


def _library() -> Any:
    """libscr.  The functions of MPI are found in it, too: it is linked with
    the library of MPI.  Some such libraries load plugins that need its symbols:
    hence RTLD_GLOBAL."""
    if _state.lib is None:
        tried = []
        for path in _candidates():
            if "/" in path and not os.path.exists(path):
                tried.append(path + ": no such file")
                continue
            try:
                lib = ctypes.CDLL(path, mode=ctypes.RTLD_GLOBAL)
                _declare(lib)
            except (OSError, AttributeError) as e:
                tried.append(str(e) if path in str(e) else
                             "%s: %s" % (path, e))
                continue
            _state.lib, _state.path = lib, path
            break
        else:
            raise Error("libscr cannot be loaded; set SCRKIT_LIBSCR to its "
                        "path (PREFIX/lib/%s); tried:\n  %s"
                        % (_SONAME, "\n  ".join(tried)))
    return _state.lib


def _is(question: str) -> bool:
    """MPI_Initialized or MPI_Finalized."""
    flag = ctypes.c_int(0)
    getattr(_library(), question)(ctypes.byref(flag))
    return flag.value != 0


def _started() -> Any:
    """libscr, after MPI has been initialised."""
    lib = _library()
    if _is("MPI_Initialized"):
        return lib
    mpi4py = sys.modules.get("mpi4py.MPI")
    if mpi4py is not None and mpi4py.Is_initialized():
        version = ctypes.create_string_buffer(8192)
        lib.MPI_Get_library_version(version, ctypes.byref(ctypes.c_int(0)))
        raise Error("mpi4py and libscr (%s) use two different MPIs: %s; %s"
                    % (_state.path, mpi4py.Get_library_version().split("\n")[0],
                       os.fsdecode(version.value).split("\n")[0]))
    if lib.MPI_Init(None, None) != 0:
        raise Error("MPI_Init failed")
    _state.owns_mpi = True
    _hook()
    return lib


def _call(name: str, *arguments: Any) -> None:
    if getattr(_started(), name)(*arguments) != 0:
        raise Error(name + " failed")


def _bytes(name: Name) -> bytes:
    raw = os.fsencode(name)
    if b"\0" in raw:
        raise ValueError("a name with a NUL: %r" % (name,))
    if len(raw) >= _MAX_FILENAME:
        raise ValueError("a name of %d bytes; it may have %d: %.40r..."
                         % (len(raw), _MAX_FILENAME - 1, name))
    return raw


def _flag(name: str) -> bool:
    flag = ctypes.c_int(0)
    _call(name, ctypes.byref(flag))
    return flag.value != 0


# --- The end of the program --------------------------------------------------

def _say(text: str) -> None:
    try:
        # In one piece: other ranks write, too.
        sys.stderr.write("scr: rank %d: %s\n" % (rank(), text))
    except (OSError, ValueError):
        pass


def _flush() -> None:
    """libscr or MPI may end the process, without the buffers of Python."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (AttributeError, OSError, ValueError):
            pass


def _hook() -> None:
    if _state.hooked:
        return
    _state.hooked = True
    _state.pid = os.getpid()
    previous = sys.excepthook

    def uncaught(kind: Any, value: Any, where: Any) -> None:
        previous(kind, value, where)
        if not hasattr(sys, "ps1") and not sys.flags.interactive:
            _end_job(1)

    sys.excepthook = uncaught
    atexit.register(_at_exit)


def _here() -> bool:
    """Is this the process that called MPI, and is MPI still there?"""
    return (os.getpid() == _state.pid and _is("MPI_Initialized")
            and not _is("MPI_Finalized"))


def _end_job(status: int) -> None:
    _flush()
    if _here():
        time.sleep(1)  # a launcher may drop unread output when a job is aborted
        _state.lib.MPI_Abort(_handle("ompi_mpi_comm_world", 0x44000000), status)
        os._exit(status or 1)  # MPI_Abort() may return


def _at_exit() -> None:
    if not _here():
        return
    if _state.initialised:
        _flush()
        _state.initialised = False
        _state.lib.SCR_Finalize()
    if _state.owns_mpi:
        _state.lib.MPI_Finalize()


def abort(status: int = 1) -> None:
    """End the job at once, with this exit status, by MPI_Abort().

    For a rank that cannot continue while other ranks can.  Does not return.
    """
    _started()
    _state.pid = os.getpid()
    _end_job(int(status))


# --- MPI without mpi4py ------------------------------------------------------

def _handle(symbol: str, number: int) -> Any:
    """A constant of MPI: a variable in Open MPI, a number in MPICH and its
    relatives."""
    try:
        return ctypes.byref(ctypes.c_char.in_dll(_state.lib, symbol))
    except ValueError:
        return ctypes.c_int(number)


def _of_world(function: str) -> int:
    out = ctypes.c_int(0)
    lib = _started()
    if getattr(lib, function)(_handle("ompi_mpi_comm_world", 0x44000000),
                              ctypes.byref(out)) != 0:
        raise Error(function + " failed")
    return out.value


def rank() -> int:
    """The rank of this process in MPI_COMM_WORLD."""
    return _of_world("MPI_Comm_rank")


def size() -> int:
    """The number of ranks of the job."""
    return _of_world("MPI_Comm_size")


def allgather(data: bytes) -> List[bytes]:
    """Exchange bytes: the i-th item of the result is what rank i passed.

    For programs without mpi4py.  Collective.
    """
    lib = _started()
    world = _handle("ompi_mpi_comm_world", 0x44000000)
    byte = _handle("ompi_mpi_byte", 0x4c00010d)
    ranks = size()
    number = ctypes.c_int * ranks
    data = bytes(memoryview(data))
    mine, lengths = ctypes.c_int64(len(data)), (ctypes.c_int64 * ranks)()
    if lib.MPI_Allgather(ctypes.byref(mine), 8, byte, lengths, 8, byte,
                         world) != 0:
        raise Error("MPI_Allgather failed")
    total = sum(lengths)
    if total >= 2**31:
        raise ValueError("allgather of %d bytes: 2147483647 are possible"
                         % total)
    starts = [0] + list(itertools.accumulate(lengths))[:-1]
    out = ctypes.create_string_buffer(max(total, 1))
    if lib.MPI_Allgatherv(data, len(data), byte, out, number(*lengths),
                          number(*starts), byte, world) != 0:
        raise Error("MPI_Allgatherv failed")
    raw = out.raw
    return [raw[at:at + length] for at, length in zip(starts, lengths)]


# --- Begin and end -----------------------------------------------------------

def config(conf: str) -> Optional[str]:
    """Query, set or unset a parameter: SCR_Config(3).

    config("SCR_DEBUG") returns the value, or None if the parameter has none.
    config("SCR_DEBUG=1") sets it and config("SCR_DEBUG=") unsets it, before
    init() only; both return None.
    """
    raw = os.fsencode(conf)
    if b"\0" in raw:
        raise ValueError("a parameter with a NUL: %r" % (conf,))
    at = _started().SCR_Config(raw)
    if not at:
        return None
    value = ctypes.string_at(at)
    libc = ctypes.CDLL(None)
    libc.free.argtypes, libc.free.restype = [ctypes.c_void_p], None
    libc.free(at)
    return os.fsdecode(value)


def init(params: Union[None, str, list, dict] = None) -> None:
    """Begin: SCR_Init(3).  Initialises MPI if nobody has.

    `params` is passed to config() first: a str, a list of these, or a dict such
    as {"SCR_CACHE_SIZE": 2, "SCR_DEBUG": None}, in which None unsets.
    """
    if isinstance(params, str):
        params = [params]
    if isinstance(params, dict):
        params = ["%s=%s" % (key, "" if value is None else
                             int(value) if isinstance(value, bool) else value)
                  for key, value in params.items()]
    if params is not None and not isinstance(params, (list, tuple)):
        raise Error("scr.init: params must be a str, list or dict, not %s"
                    % type(params).__name__)
    for one in params or []:
        config(str(one))
    _started()
    _hook()
    _flush()
    _call("SCR_Init")
    _state.initialised = True


def finalize() -> None:
    """End: SCR_Finalize(3).  Copies the last checkpoint to the prefix if only
    the caches have it (SCR_FLUSH)."""
    _state.initialised = False
    _call("SCR_Finalize")


@contextlib.contextmanager
def session(params: Union[None, str, list, dict] = None) -> Iterator[None]:
    """`with session():` is init(params) before the block, finalize() behind it.

    If an exception leaves the block, finalize() is not called, as other ranks
    may be elsewhere.  sys.exit() with a status other than 0 ends the job, by
    abort() with this status; sys.exit(0) is the end of the block: all ranks
    call it.
    """
    init(params)
    try:
        yield
    except SystemExit as e:
        if e.code is not None and e.code != 0:
            if not isinstance(e.code, int):
                print(e.code, file=sys.stderr)
            abort(e.code if isinstance(e.code, int) else 1)
        finalize()
        raise
    finalize()


def get_version() -> str:
    """The version of the interface of libscr, such as "v3.1.0"."""
    return _library().SCR_Get_version().decode()


# --- Files -------------------------------------------------------------------

def route_file(fname: Name) -> Union[str, bytes]:
    """The path at which this rank opens the file: SCR_Route_file(3).

    Within an output phase this makes the file a member of the dataset; within a
    restart phase it finds the file.  Otherwise it returns the name unchanged.
    bytes are returned for bytes, otherwise a str.  Local.
    """
    path = ctypes.create_string_buffer(_MAX_FILENAME)
    _call("SCR_Route_file", _bytes(fname), path)
    return path.value if isinstance(fname, bytes) else os.fsdecode(path.value)


# --- Restart -----------------------------------------------------------------

def have_restart() -> Optional[str]:
    """The name of the checkpoint to restart from, or None: SCR_Have_restart(3).

    An Error says that a checkpoint may exist, but cannot be read now: do not
    start over.
    """
    flag, name = ctypes.c_int(0), ctypes.create_string_buffer(_MAX_FILENAME)
    _call("SCR_Have_restart", ctypes.byref(flag), name)
    return os.fsdecode(name.value) if flag.value else None


def start_restart() -> str:
    """Begin to read the checkpoint, and return its name: SCR_Start_restart(3).

    Only after have_restart() has returned a name.
    """
    name = ctypes.create_string_buffer(_MAX_FILENAME)
    _call("SCR_Start_restart", name)
    return os.fsdecode(name.value)


def complete_restart(valid: bool = True) -> bool:
    """End reading: SCR_Complete_restart(3).  `valid`: this rank read its files.

    Returns True if all ranks did.  Otherwise False, on all ranks, and
    have_restart() offers an older checkpoint, if there is one.
    """
    return _started().SCR_Complete_restart(1 if valid else 0) == 0


def _optional(name: str) -> Any:
    try:
        return getattr(_started(), name)
    except AttributeError:
        raise _Missing("%s: this libscr (%s) does not have it"
                       % (name, _state.path)) from None


def restart_ranks() -> int:
    """The number of ranks that wrote the checkpoint which is being read.

    It differs from size() only with the parameter SCR_RESTART_ANY_RANKS=1.
    Between start_restart() and complete_restart().  Local.
    """
    ranks = ctypes.c_int(0)
    if _optional("SCR_Restart_ranks")(ctypes.byref(ranks)) != 0:
        raise Error("SCR_Restart_ranks failed")
    return ranks.value


def restart_files() -> List[Tuple[int, str]]:
    """All files of the checkpoint which is being read, as (rank, name).

    rank wrote the file; name is that for route_file().

    Between start_restart() and complete_restart().  Local.
    """
    function = _optional("SCR_Restart_files")
    writer, name = ctypes.c_int(0), ctypes.create_string_buffer(_MAX_FILENAME)
    out = []  # type: List[Tuple[int, str]]
    while function(len(out), ctypes.byref(writer), name) == 0:
        out.append((writer.value, os.fsdecode(name.value)))
    return out


class _Phase:
    """What Output and Restart have in common."""

    def __init__(self, name: Any) -> None:
        self.name = name
        self._open = False
        self._good = True
        self._valid = None  # type: Optional[bool]
        self._known = False  # the program knows self._valid

    def route(self, name: Name) -> Union[str, bytes]:
        """route_file(name), inside the `with` block only."""
        if not self._open:
            raise Error("%s: route(%r): only inside its `with` block"
                        % (self.name, name))
        return route_file(name)

    def fail(self) -> None:
        """This rank's files are not good: the block ends as after an
        exception, on all ranks."""
        self._good = False

    @property
    def valid(self) -> Optional[bool]:
        """Behind the block: True if it succeeded on all ranks, False if it
        failed on any rank: the same on all ranks.  None before that."""
        self._known = True
        return self._valid

    def _begin(self) -> None:
        raise NotImplementedError

    def _complete(self, good: bool) -> bool:
        raise NotImplementedError

    def __enter__(self) -> Any:
        if self._open or self._valid is not None:
            raise Error("%s: one `with` block only" % self.name)
        try:
            self._begin()
        except (Error, TypeError, ValueError):
            raise
        except BaseException:  # KeyboardInterrupt, once libscr has returned
            self._complete(False)
            raise
        self._open = True
        return self

    def _end(self, good: bool) -> bool:
        self._open = False
        self._valid = False  # even if _complete() is interrupted
        self._valid = self._complete(good and self._good)
        return self._valid


class Restart(_Phase):
    """One checkpoint of restarts().

    name    its name, such as "ckpt.5"
    valid   behind the `with` block: did all ranks read it?
    """

    def _begin(self) -> None:
        try:
            self.name = start_restart()
        except Error:  # on all ranks: an older one is next
            self.fail()

    def _complete(self, good: bool) -> bool:
        return complete_restart(good)

    @property
    def ranks(self) -> int:
        """restart_ranks(), inside the `with` block."""
        return restart_ranks()

    def files(self) -> List[Tuple[int, str]]:
        """restart_files(), inside the `with` block."""
        return restart_files()

    def __enter__(self) -> "Restart":
        return super().__enter__()

    def __exit__(self, kind: Any, value: Any, where: Any) -> bool:
        self._end(kind is None)
        if kind is None:
            return False
        self._known = True
        if not issubclass(kind, Exception) or issubclass(kind, _BUGS):
            return False
        self._known = False
        at = traceback.extract_tb(where)[0]
        _say("%s: not read: %s: %s (%s:%d)"
             % (self.name, kind.__name__, " ".join(str(value).split()), at[0],
                at[1]))
        return True

    def _abandoned(self) -> None:
        if self._valid is False and not self._known:
            _say("left the loop over scr.restarts(), but %s was not read by "
                 "all ranks, and the others read an older checkpoint; let the "
                 "loop end, or look at restart.valid first" % self.name)
            _end_job(1)


def restarts() -> Iterator[Restart]:
    """The checkpoints to restart from, newest first, until all ranks have read
    one:

        for restart in scr.restarts():
            with restart:
                state = load(restart.route("rank_0.npy"))
            if not restart.valid:
                state = None

    The `with` block is the restart phase of this rank.  At its end all ranks
    agree, and the result, restart.valid, is the same on all ranks:

    - If the block ended on all ranks without an exception, without
      restart.fail(), also by break, continue or return, the checkpoint has been
      read.  The loop ends.
    - Otherwise libscr rejects the checkpoint: it is not offered again.  The
      loop continues on all ranks with an older one, if there is one.  What
      this rank has read is to be forgotten, though its own block succeeded.

    An exception in the block is printed in one line, and goes no further.
    These are re-raised: what is no Exception (KeyboardInterrupt, SystemExit),
    and what a bug in the program raises rather than a file (NameError,
    AttributeError, TypeError, ImportError, SyntaxError, NotImplementedError,
    MemoryError), lest a typing error reject all checkpoints.

    (Python does not tell an iterator about exceptions in the body of a loop;
    hence the `with`.  A body without it is an Error.)

    A rank that leaves the loop, by break in the block or behind it, while
    others have to read an older checkpoint, ends the job: look at
    restart.valid first.  A loop that is left before `with` has begun nothing.

    No checkpoint is left: the loop ends; the program starts from the beginning.
    An Error: a checkpoint may exist, but nobody can read it now.
    """
    while True:
        name = have_restart()
        if name is None:
            return
        restart = Restart(name)
        try:
            yield restart
        except GeneratorExit:
            restart._abandoned()
            raise
        if restart._valid is None:
            raise Error("scr.restarts(): %s was not read inside "
                        "`with restart:`" % name)
        if restart._valid:
            return


# --- Checkpoint and output ---------------------------------------------------

def need_checkpoint() -> bool:
    """Is a checkpoint due?  SCR_Need_checkpoint(3)"""
    return _flag("SCR_Need_checkpoint")


def start_output(name: Optional[Name], flags: int) -> None:
    """Begin to write a dataset: SCR_Start_output(3).

    flags: FLAG_CHECKPOINT, FLAG_OUTPUT (always copied to the prefix), both
    combined by |, or FLAG_NONE.  name: None for one that libscr chooses.
    """
    raw = None if name is None else _bytes(name)
    flags = int(flags)
    if not 0 <= flags < 2**31:
        raise ValueError("flags: %d" % flags)
    _call("SCR_Start_output", raw, flags)


def complete_output(valid: bool = True) -> bool:
    """End writing: SCR_Complete_output(3).

    `valid`: this rank's files are good.  Returns True if those of all ranks
    are, and protected from here on; False, on all ranks, if the dataset
    failed.
    """
    _flush()
    return _started().SCR_Complete_output(1 if valid else 0) == 0


def start_checkpoint() -> None:
    """Begin a checkpoint whose name libscr chooses: SCR_Start_checkpoint(3).
    Deprecated: start_output()."""
    _call("SCR_Start_checkpoint")


def complete_checkpoint(valid: bool = True) -> bool:
    """End what start_checkpoint() began, as complete_output()."""
    _flush()
    return _started().SCR_Complete_checkpoint(1 if valid else 0) == 0


class Output(_Phase):
    """A dataset that is written: output().

    name    its name
    valid   behind the `with` block: is it complete?
    """

    def __init__(self, name: Optional[Name], flags: int) -> None:
        super().__init__(name)
        self._flags = flags

    def _begin(self) -> None:
        start_output(self.name, self._flags)

    def _complete(self, good: bool) -> bool:
        return complete_output(good)

    def __enter__(self) -> "Output":
        return super().__enter__()

    def __exit__(self, kind: Any, value: Any, where: Any) -> bool:
        if not self._end(kind is None) and kind is None:
            raise Error("SCR_Complete_output failed")
        return False


def output(name: Optional[Name], flags: int) -> Output:
    """Write a dataset:

        with scr.output("ckpt.3", scr.FLAG_CHECKPOINT) as out:
            path = out.route("rank_0.npy")
            ...

    The block is start_output(), complete_output(): name and flags are theirs.
    An exception in the block, of any kind, makes the dataset fail on all
    ranks, and goes on.  The ranks without one, and those that called
    out.fail(), get an Error at the end of the block.  So all ranks see an
    exception, or none:

        except (OSError, scr.Error):
            pass                        # a later checkpoint may succeed

    is entered by all ranks.
    """
    return Output(name, flags)


def should_exit() -> bool:
    """Should the job stop, because of scr_halt(1) or of its time limit?
    SCR_Should_exit(3)"""
    return _flag("SCR_Should_exit")


# --- Datasets on the prefix --------------------------------------------------

def current(name: Name) -> None:
    """The program has restarted from this checkpoint on its own:
    SCR_Current(3)."""
    _call("SCR_Current", _bytes(name))


def delete(name: Name) -> None:
    """Delete a dataset with its files: SCR_Delete(3)."""
    _call("SCR_Delete", _bytes(name))


def drop(name: Name) -> None:
    """Remove a dataset from the index, but not its files: SCR_Drop(3)."""
    _call("SCR_Drop", _bytes(name))
