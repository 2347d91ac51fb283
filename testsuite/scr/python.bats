#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# shellcheck disable=SC2154
# scr.py: each function, each error, each way out of a block, restarts after kills
# and with bad files, names, memory, and how it finds libscr.

load helper

BINDING=$TESTSUITE/../bindings/python

# The interpreter itself: a version manager's python3 is a slow script.
setup_file() {
	PYTHON=$(python3 -c 'import sys; print(sys.executable)')
	export PYTHON
}

setup() {
	job_setup
	[[ -e $MPI/../libscr.so ]] || skip "built without MPI"
	export PYTHONPATH=$BINDING PYTHONDONTWRITEBYTECODE=1
	unset PYTHONUNBUFFERED # Python's buffers are tested
	export SCRKIT_LIBSCR=$MPI/../libscr.so
	cat >"$BATS_TEST_TMPDIR/common.py" <<-'END'
		import os, sys
		import scr
		def print(text, file=sys.stdout):
		    file.write(text + "\n")    # in one piece, unlike that of Python
		def put(path, text="x"):
		    with open(path, "w") as f:
		        f.write(str(text))
		def get(path):
		    with open(path) as f:
		        return f.read()
		def mine(name):
		    return "%s/rank.%d" % (name, scr.rank())
		def write(name, text="x", flags=scr.FLAG_CHECKPOINT):
		    with scr.output(name, flags) as out:
		        put(out.route(mine(name)), text)
		    return out
		def raises(kind, call, *args):
		    try:
		        call(*args)
		    except kind as e:
		        return str(e)
		    raise AssertionError("%r%r raised nothing" % (call, args))
	END
}

# py MAP: a job of the Python program on stdin; `py_works`: with status 0.
py() {
	cat "$BATS_TEST_TMPDIR/common.py" - >"$BATS_TEST_TMPDIR/program.py"
	job "$1" "$PYTHON" "$BATS_TEST_TMPDIR/program.py"
}

py_works() {
	py "$1"
	assert_status 0
}

# fails STATUS MAP TEXT...: a job that ends with this status ("": any but 0) and
# within its time, with these texts on stderr.
fails() {
	local text

	py "$2"
	if [[ -n $1 ]]; then
		assert_status "$1"
	else
		((status != 0 && status != 124)) || failed "status $status"
	fi
	for text in "${@:3}"; do
		[[ $stderr == *"$text"* ]] || failed "expected on stderr: $text"
	done
}

# checkpoints NAME...: written by 3 ranks, each file says its dataset and rank.
checkpoints() {
	SCR_CACHE_SIZE=5 py_works "0 1 2" <<-END
		with scr.session():
		    for name in "$*".split():
		        write(name, mine(name))
	END
}

@test "the functions of LLNL's scr.py, and those it lacks" {
	py_works "0 1" <<-'END'
		assert scr.get_version() == "v3.1.0"
		assert (scr.FLAG_NONE, scr.FLAG_CHECKPOINT, scr.FLAG_OUTPUT) == (0, 1, 2)
		assert scr.config("SCR_DEBUG=1") is None
		assert scr.config("SCR_DEBUG") == "1"
		assert scr.config("SCR_DEBUG=") is None
		assert scr.config("SCR_DEBUG") is None           # it is built in
		assert scr.config("SCR_CONF_FILE") is None
		assert scr.config("") is None
		assert scr.init({"SCR_CHECKPOINT_INTERVAL": 2, "SCR_DEBUG": False,
		                 "SCR_SET_SIZE": None}) is None
		assert scr.config("SCR_CHECKPOINT_INTERVAL") == "2"
		assert scr.config("SCR_DEBUG") == "0"
		assert scr.size() == 2 and scr.rank() in (0, 1)
		sent = b"r%d" % scr.rank() * (scr.rank() * 3)
		assert scr.allgather(sent) == [b"", b"r1r1r1"]
		assert scr.allgather(b"") == [b"", b""]
		assert scr.have_restart() is None
		assert list(scr.restarts()) == []
		assert scr.route_file("any/where") == "any/where"
		assert [scr.need_checkpoint() for i in range(4)] == [False, True] * 2
		assert scr.should_exit() is False

		assert scr.start_output("a", scr.FLAG_CHECKPOINT) is None
		path = scr.route_file("a/rank.%d" % scr.rank())
		assert type(path) is str and path != "a/rank.%d" % scr.rank()
		put(path)
		assert scr.complete_output() is True
		scr.start_output("bad", scr.FLAG_CHECKPOINT | scr.FLAG_OUTPUT)
		put(scr.route_file(mine("bad")))
		assert scr.complete_output(scr.rank() != 1) is False
		scr.start_output(None, scr.FLAG_OUTPUT)
		put(scr.route_file(mine("out")))
		assert scr.complete_output(valid=1) is True
		assert scr.start_checkpoint() is None
		put(scr.route_file(mine("old")))
		assert scr.complete_checkpoint() is True
		scr.start_checkpoint()
		assert scr.complete_checkpoint(False) is False
		out = write("c", flags=scr.FLAG_CHECKPOINT | scr.FLAG_OUTPUT)
		assert out.valid is True and out.name == "c"
		write("d", flags=scr.FLAG_CHECKPOINT | scr.FLAG_OUTPUT)
		assert scr.drop("d") is None and scr.current("c") is None
		assert scr.drop("unknown") is None       # a warning of libscr
		name = scr.have_restart()
		assert name == "c", name
		assert scr.start_restart() == "c"
		assert get(scr.route_file(mine("c"))) == "x"
		assert "SCR_Route_file failed" == raises(scr.Error, scr.route_file, "no")
		assert scr.complete_restart() is True
		assert scr.delete("c") is None and not os.path.exists("c")
		assert scr.finalize() is None
		# Again, with a list and a str.
		scr.init(["SCR_DEBUG=0", "SCR_SET_SIZE=4"])
		assert scr.config("SCR_SET_SIZE") == "4"
		scr.finalize()
		scr.init("SCR_SET_SIZE=5")
		assert scr.config("SCR_SET_SIZE") == "5"
		scr.finalize()
		print("rank %d did all" % scr.rank())
	END
	assert_line "rank 0 did all"
	assert_line "rank 1 did all"
}

@test "types, names and states: an exception, or libscr's own end of the job" {
	export LC_ALL=C.UTF-8
	py_works "0" <<-'END'
		raises(TypeError, scr.config, 3)
		raises(TypeError, scr.config, None)
		assert "NUL" in raises(ValueError, scr.config, "A\0B")
		assert "not float" in raises(RuntimeError, scr.init, 1.5)
		scr.init()
		for call in (scr.route_file, scr.current, scr.delete, scr.drop,
		             lambda name: scr.start_output(name, 1)):
		    raises(TypeError, call, 7)
		    assert "NUL" in raises(ValueError, call, "a\0b")
		    assert "1024 bytes" in raises(ValueError, call, "x" * 1024)
		    assert "1024 bytes" in raises(ValueError, call, "\u00e9" * 512)
		assert scr.route_file("x" * 1023) == "x" * 1023
		assert scr.route_file(b"x" * 1023) == b"x" * 1023
		raises(TypeError, scr.route_file, None)
		raises(TypeError, scr.start_output, "a")
		raises(TypeError, scr.start_output, "a", None)
		raises(ValueError, scr.start_output, "a", -1)
		raises(ValueError, scr.start_output, "a", 2**32)
		raises(TypeError, scr.allgather, 5)
		raises(TypeError, scr.allgather, "text")
		for call in (scr.current, scr.delete, scr.drop):
		    assert raises(RuntimeError, call, "").endswith(" failed")
		assert raises(RuntimeError, scr.route_file, "") == "SCR_Route_file failed"
		out = scr.output("a", 1)
		assert "only inside" in raises(scr.Error, out.route, "a/f")
		with out:
		    assert out.valid is None
		    put(out.route("a/f"))
		assert "only inside" in raises(scr.Error, out.route, "a/f")
		assert "one `with`" in raises(scr.Error, out.__enter__)
		scr.finalize()
		print("all raised")
	END
	assert_line "all raised"
	fails 255 "0 1" "Must call SCR_Start_output() before SCR_Complete_output()" \
		<<-'END'
			scr.init()
			print("buffered")
			scr.complete_output()
		END
	assert_line "buffered"
	fails 255 "0 1" "Must call SCR_Init() before SCR_Need_checkpoint()" <<<"scr.need_checkpoint()"
	fails 255 "0 1" "Must call SCR_Complete_output() before SCR_Start_output()" <<-'END'
		scr.init()
		with scr.output("a", 1):
		    scr.start_output("b", 1)
	END
	fails 255 "0 1" "must be identical on all processes" <<-'END'
		scr.init()
		scr.start_output("a%d" % scr.rank(), 1)
	END
	# LLNL's test 5, and nobody catches it.
	SCR_ENABLE=0 fails 1 "0 1" "Error: SCR_Init failed" <<<"scr.init()"
	SCR_ENABLE=0 py_works "0 1" <<-'END'
		assert raises(RuntimeError, scr.init) == "SCR_Init failed"
	END
}

@test "killed in the middle, a node lost: the next run restarts" {
	fails "" "0 1 2" <<-'END'
		import signal
		with scr.session({"SCR_COPY_TYPE": "XOR"}):
		    for step in (1, 2, 3):
		        write("ckpt.%d" % step, "%d of %d" % (step, scr.rank()))
		    with scr.output("ckpt.4", scr.FLAG_CHECKPOINT) as out:
		        put(out.route(mine("ckpt.4")), 4)
		        if scr.rank() == 1:
		            os.kill(os.getpid(), signal.SIGKILL)
	END
	lose 1
	py_works "0 3 2" <<-'END'
		with scr.session():
		    seen = []
		    for restart in scr.restarts():
		        with restart:
		            seen.append(restart.name)
		            text = get(restart.route(mine(restart.name)))
		    assert seen == ["ckpt.3"], seen
		    assert text == "3 of %d" % scr.rank() and restart.valid is True
		    write("ckpt.5")
		    print("restarted")
	END
	assert_line "restarted"
}

@test "an exception in output(): all ranks see one, the dataset fails, the job goes on" {
	py_works "0 1 2" <<-'END'
		class Own(BaseException):
		    pass
		scr.init()
		write("good")
		for kind in (OSError, KeyboardInterrupt, Own, SystemExit):
		    try:
		        with scr.output("bad", scr.FLAG_CHECKPOINT) as out:
		            put(out.route(mine("bad")))
		            if scr.rank() == 1:
		                raise kind("mine")
		    except kind as e:
		        assert scr.rank() == 1 and str(e) == "mine"
		    except scr.Error as e:
		        assert scr.rank() != 1 and str(e) == "SCR_Complete_output failed"
		    else:
		        raise AssertionError("no exception")
		    assert out.valid is False
		    # The phase has ended: the next one can begin.
		    scr.need_checkpoint()
		try:
		    with scr.output("bad", scr.FLAG_CHECKPOINT) as out:
		        put(out.route(mine("bad")))
		        if scr.rank() == 2:
		            out.fail()
		except scr.Error:
		    print("failed on %d" % scr.rank())
		def leave():
		    with scr.output("left", scr.FLAG_CHECKPOINT) as out:
		        put(out.route(mine("left")))
		        return out
		assert leave().valid is True
		for i in range(1):
		    with scr.output("left", scr.FLAG_CHECKPOINT) as out:
		        put(out.route(mine("left")))
		        break
		assert out.valid is True
		scr.finalize()
	END
	for rank in 0 1 2; do
		assert_line "failed on $rank"
	done
	[[ $(grep -c "reported its files .* as not valid" <<<"$stderr") -ge 1 ||
		$stderr == *"SCR_Complete_output: "* ]] || failed "libscr says nothing"
}

@test "restarts(): one rank cannot read its file, and all fall back alike" {
	local way

	for way in 'raise OSError("disk\nis bad")' 'restart.fail()' \
		'int(get(restart.route(mine(restart.name))))'; do
		checkpoints a b c
		py_works "0 1 2" <<-END
			with scr.session():
			    seen, state = [], None
			    for restart in scr.restarts():
			        with restart:
			            seen.append(restart.name)
			            state = get(restart.route(mine(restart.name)))
			            if scr.rank() == 1 and restart.name in ("b", "c"):
			                $way
			        if not restart.valid:
			            state = None
			    assert seen == ["c", "b", "a"], seen
			    assert state == mine("a"), state
			    print("read " + state)
		END
		for rank in 0 1 2; do
			assert_line "read a/rank.$rank"
		done
		[[ $way == restart.fail* ]] || warned "^scr: rank 1: c: not read: .*program.py"
		rm -rf "${NODES:?}"/* .scr
	done
	# None is left: the loop ends, on all ranks.
	checkpoints a b
	py_works "0 1 2" <<-'END'
		with scr.session():
		    state = None
		    for restart in scr.restarts():
		        with restart:
		            state = get(restart.route(mine(restart.name)))
		            if scr.rank() == 2:
		                raise EOFError
		        if not restart.valid:
		            state = None
		    assert state is None
		    write("new")
		    print("starts")
	END
	assert_line "starts"
}

@test "restarts(): break, return, continue, a closed loop" {
	checkpoints a b c
	py_works "0 1 2" <<-'END'
		def load(restart):
		    return get(restart.route(mine(restart.name)))
		def by_return():
		    for restart in scr.restarts():
		        with restart:
		            return load(restart)
		with scr.session():
		    for restart in scr.restarts():
		        break                       # nothing has begun
		    loop = scr.restarts()
		    next(loop)
		    loop.close()
		    for restart in scr.restarts():
		        with restart:
		            load(restart)
		            break
		    assert restart.valid is True
		    assert by_return() == mine("c")
		    for restart in scr.restarts():
		        with restart:
		            load(restart)
		            continue
		    assert restart.valid is True
		    # All ranks know that one failed, and leave.
		    for restart in scr.restarts():
		        with restart:
		            if scr.rank() == 0:
		                restart.fail()
		        if not restart.valid:
		            break
		    assert scr.have_restart() == "b"
		    # No `with`: said at once, and nothing is rejected.
		    try:
		        for restart in scr.restarts():
		            pass
		    except scr.Error as e:
		        assert "with restart" in str(e)
		    raises(scr.Error, restart.route, mine("b"))
		    assert scr.have_restart() == "b"
		    print("ends")
	END
	assert_line "ends"
	# A rank cannot go on alone with what the others reject.
	fails 1 "0 1 2" "scr: rank 2: left" "b was not read by all ranks" <<-'END'
		def load():
		    for restart in scr.restarts():
		        with restart:
		            if scr.rank() != 2:
		                raise OSError
		            return get(restart.route(mine(restart.name)))
		with scr.session():
		    load()
		    print("goes on")
	END
	[[ $output != *"goes on"* ]]
}

@test "restarts(): a bug or Ctrl-C rejects at most one checkpoint" {
	local way

	for way in "undefined" "raise KeyboardInterrupt" "None + 1" "sys.exit(1)"; do
		checkpoints a b c
		fails "" "0 1 2" <<-END
			with scr.session():
			    for restart in scr.restarts():
			        with restart:
			            $way
		END
		[[ $way == sys* || $stderr == *Traceback*Error* ||
			$stderr == *Traceback*KeyboardInterrupt* ]] || failed "$way"
		py_works "0 1 2" <<-'END'
			with scr.session():
			    print("next: " + scr.have_restart())
		END
		# Or c: the job may have ended before its files were removed.
		[[ $output == *"next: "[bc]* ]] || failed "$output"
		rm -rf "${NODES:?}"/* .scr
	done
}

@test "a rank that ends alone ends the job, in time" {
	fails 1 "0 1 2" "Traceback" "ZeroDivisionError" <<-'END'
		with scr.session():
		    print("buffered by %d" % scr.rank())
		    if scr.rank() == 1:
		        1 / 0
		    scr.have_restart()
	END
	assert_line "buffered by 1"
	fails 3 "0 1 2" <<-'END'
		with scr.session():
		    if scr.rank() == 1:
		        sys.exit(3)
		    scr.have_restart()
	END
	fails 1 "0 1 2" "no input" <<-'END'
		with scr.session():
		    if scr.rank() == 1:
		        sys.exit("no input")
		    scr.have_restart()
	END
	fails 7 "0 1 2" <<-'END'
		if scr.rank() == 1:
		    scr.abort(7)
		scr.init()
	END
	# All ranks, and with a good end.
	SCR_FLUSH=10 py_works "0 1" <<-'END'
		with scr.session():
		    write("a")
		    sys.exit()
	END
	[[ -e a/rank.0 && -e a/rank.1 ]] || failed "a is not flushed"
}

@test "a program without finalize(); a child of a rank" {
	SCR_FLUSH=10 py_works "0 1" <<-'END'
		scr.init()
		write("a")
		pid = os.fork()
		if pid == 0:
		    sys.exit(0)     # runs the functions of atexit
		assert os.waitpid(pid, 0)[1] == 0
		write("b")
		print("ends")
	END
	[[ $(grep -c "^ends" <<<"$output") -eq 2 ]] || failed "$output"
	[[ -e b/rank.0 && -e b/rank.1 ]] || failed "b is not flushed"
}

@test "SCR_HALT_EXIT: what Python has buffered is not lost" {
	scr_halt --checkpoints=2 "$PREFIX"
	SCR_HALT_EXIT=1 py_works "0 1" <<-'END'
		with scr.session():
		    for i in (1, 2, 3):
		        print("before %d" % i)
		        write("a%d" % i)
		print("never")
	END
	assert_line "before 2"
	[[ $output != *"before 3"* && $output != *never* ]]
}

@test "names: blanks, other alphabets, bytes that are no text, PathLike" {
	export LC_ALL=C.UTF-8
	cat >"$BATS_TEST_TMPDIR/names.py" <<-'END'
		import pathlib
		names = ["with blank/a b", "\u00e9\u6f22/\u0416", "odd/\udcff\udc80x",
		         b"raw/\xfe\xff", pathlib.Path("path") / "like", "new\nline/f",
		         "quote'\"/f"]
		def at(i):
		    name = names[i]
		    if isinstance(name, bytes):
		        return name + b".%d" % scr.rank()
		    if isinstance(name, pathlib.Path):
		        return name.with_name("like.%d" % scr.rank())
		    return "%s.%d" % (name, scr.rank())
	END
	cat "$BATS_TEST_TMPDIR/names.py" - <<-'END' >"$BATS_TEST_TMPDIR/one"
		with scr.session({"SCR_FLUSH": 1}):
		    with scr.output("d \u00e9 \udcff", 3) as out:
		        for i in range(len(names)):
		            path = out.route(at(i))
		            assert type(path) is (bytes if i == 3 else str)
		            put(path, i)
		for i in range(len(names)):
		    assert get(at(i)) == str(i)
	END
	py_works "0 1" <"$BATS_TEST_TMPDIR/one"
	cat "$BATS_TEST_TMPDIR/names.py" - <<-'END' >"$BATS_TEST_TMPDIR/two"
		with scr.session():
		    for restart in scr.restarts():
		        with restart:
		            for i in range(len(names)):
		                assert get(restart.route(at(i))) == str(i)
		    assert restart.valid and restart.name == "d \u00e9 \udcff"
		    print("read all")
	END
	py_works "0 1" <"$BATS_TEST_TMPDIR/two"
	assert_line "read all"
	lose 0 1
	py_works "0 1" <"$BATS_TEST_TMPDIR/two"
	assert_line "read all"
}

# growth: a job of one rank does step() 1,000 times, or, unless SLOW=1, 200 times.
growth() {
	export STEPS=${SCRKIT_SLOW:+1000}

	JOB_LIMIT=400 py_works "0" < <(
		cat <<-'END'
			import gc, tracemalloc
			def resident():
			    with open("/proc/self/statm") as f:
			        return int(f.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
			def state():
			    gc.collect()
			    return (tracemalloc.get_traced_memory()[0],
			            len(gc.get_objects()), resident())
		END
		cat
		cat <<-'END'
			scr.init()
			tracemalloc.start()
			for i in range(50):
			    step(i)
			before = state()
			for i in range(50, 50 + int(os.environ["STEPS"] or 200)):
			    step(i)
			grown, more, rss = (b - a for a, b in zip(before, state()))
			scr.finalize()
			print("python %d bytes, %d objects; resident %d KiB"
			      % (grown, more, rss // 1024), file=sys.stderr)
			assert grown < 60000 and abs(more) < 50 and rss < 2 << 20
			print("no growth")
		END
	)
	assert_line "no growth"
	echo "# ${STEPS:-200} times: $(grep '^python ' <<<"$stderr")" >&3
}

@test "many checkpoints and restarts: memory does not grow, nothing is leaked" {
	growth <<-'END'
		def step(i):
		    assert write("ckpt.%d" % i).valid
		    for j in range(200):
		        assert scr.config("SCR_PREFIX") == os.getcwd()
		    scr.need_checkpoint()
		    scr.should_exit()
		    scr.allgather(b"x" * 1000)
		    try:
		        with scr.output("bad", scr.FLAG_CHECKPOINT) as out:
		            raise OSError
		    except OSError:
		        pass
		    raises(ValueError, scr.route_file, "a\0")
	END
	growth <<-'END'
		def step(i):
		    for restart in scr.restarts():
		        with restart:
		            get(restart.route(mine(restart.name)))
		            raises(scr.Error, restart.route, "unknown")
		    assert restart.valid
	END
}

# restart_ranks() and restart_files() need a libscr that has them.
@test "restart_ranks(), restart_files(): their answers, or a clear error" {
	checkpoints a
	if nm -D "$SCRKIT_LIBSCR" | grep -q " SCR_Restart_files$"; then
		py_works "0 1 2" <<-'END'
			scr.init()
			for restart in scr.restarts():
			    with restart:
			        assert restart.ranks == scr.restart_ranks() == 3
			        files = restart.files()
			        assert files == scr.restart_files()
			        assert [(r, os.path.relpath(n)) for r, n in sorted(files)] \
			            == [(r, "a/rank.%d" % r) for r in range(3)], files
			scr.finalize()
			print("answered")
		END
	else
		py_works "0 1 2" <<-'END'
			scr.init()
			scr.have_restart()
			scr.start_restart()
			for call in (scr.restart_ranks, scr.restart_files):
			    said = raises(scr.Error, call)
			    assert "this libscr (" in said and "does not have" in said
			assert scr.complete_restart()
			scr.finalize()
			print("answered")
		END
	fi
	assert_line "answered"
}

@test "no compiler, no command, no locale" {
	cat "$BATS_TEST_TMPDIR/common.py" - >"$BATS_TEST_TMPDIR/program.py" <<-'END'
		import shutil
		assert shutil.which("cc") is None and shutil.which("sh") is None
		with scr.session():
		    write("a")
		assert "mpi4py" not in sys.modules
		print("wrote")
	END
	works "0 1" /usr/bin/env -u LC_ALL -u LANG PATH="$BATS_TEST_TMPDIR/none" "$PYTHON" \
		"$BATS_TEST_TMPDIR/program.py"
	assert_line "wrote"
}

@test "libscr is not found: what was tried; pydoc needs none" {
	py_works "0" <<-'END'
		os.environ["SCRKIT_LIBSCR"] = "/no/libscr.so.3"
		said = raises(scr.Error, scr.init)
		assert "/no/libscr.so.3: no such file" in said
		assert "SCRKIT_LIBSCR" in said and said.count("\n") == 1
		os.environ["SCRKIT_LIBSCR"] = __file__
		assert "invalid ELF header" in raises(RuntimeError, scr.get_version)
		import ctypes.util
		os.environ["SCRKIT_LIBSCR"] = ctypes.util.find_library("m")
		assert "SCR_Init" in raises(RuntimeError, scr.get_version)
	END
	mkdir -p "$BATS_TEST_TMPDIR/p/share/scr/python" "$BATS_TEST_TMPDIR/p/lib"
	cp "$BINDING/scr.py" "$BATS_TEST_TMPDIR/p/share/scr/python"
	export PYTHONPATH=$BATS_TEST_TMPDIR/p/share/scr/python
	unset SCRKIT_LIBSCR
	try env LD_LIBRARY_PATH=/none "$PYTHON" -c 'import scr; scr.get_version()'
	assert_status 1
	for text in "$BATS_TEST_TMPDIR/p/lib/libscr.so.3: no such file" \
		"$BATS_TEST_TMPDIR/p/lib64/libscr.so.3" "libscr.so.3: cannot open" \
		"libscr.so: cannot open"; do
		[[ $stderr == *"$text"* || $(ldconfig -p) == *libscr.so* ]] ||
			failed "expected: $text"
	done
	calm "$PYTHON" -m pydoc scr
	[[ $output == *"with scr.session():"* && $output == *"restarts() -> "* ]]
	# The library of the tree that scr.py belongs to comes first.
	cp "$MPI/../libscr.so" "$BATS_TEST_TMPDIR/p/lib/libscr.so.3"
	try env LD_LIBRARY_PATH="$MPI/.." "$PYTHON" -c \
		'import scr; scr.get_version(); print(scr._state.path)'
	[[ $output == "$BATS_TEST_TMPDIR/p/lib/libscr.so.3" ]] || failed "$output"
	rm "$BATS_TEST_TMPDIR/p/lib/libscr.so.3"
	try env LD_LIBRARY_PATH="$MPI/.." "$PYTHON" -c \
		'import scr; print(scr.get_version(), scr._state.path)'
	[[ $output == "v3.1.0 libscr.so.3" ]] || failed "$output"
}

@test "make install, and a program that uses nothing else" {
	local to=$BATS_TEST_TMPDIR/to

	make -o all -s -C "$TESTSUITE/.." O="$(cd "$BIN/.." && pwd)" PREFIX="$to" install
	cmp "$BINDING/scr.py" "$to/share/scr/python/scr.py"
	unset SCRKIT_LIBSCR
	export PYTHONPATH=$to/share/scr/python
	py_works "0 1" <<-END
		with scr.session():
		    write("a")
		assert scr._state.path == "$to/lib/libscr.so.3", scr._state.path
		print("wrote")
	END
	assert_line "wrote"
	PYTHONDONTWRITEBYTECODE='' "$PYTHON" -c 'import scr'
	make -s -C "$TESTSUITE/.." O="$(cd "$BIN/.." && pwd)" PREFIX="$to" uninstall
	[[ -z $(find "$to" ! -type d) ]] || failed "$(find "$to" ! -type d)"
	[[ ! -e $to/share/scr ]]
}

@test "pip install from the source tree, without a network" {
	local to=$BATS_TEST_TMPDIR/site one

	# That of the system, if a version manager's lacks them.
	for one in "$PYTHON" /usr/bin/python3 ''; do
		[[ -n $one ]] || skip "no pip, setuptools or wheel"
		! "$one" -c 'import setuptools, wheel, pip' 2>/dev/null || break
	done
	cp -r "$BINDING" "$BATS_TEST_TMPDIR/source"
	calm unshare -n "$one" -m pip install -q --no-build-isolation --no-deps \
		--no-index --disable-pip-version-check --root-user-action=ignore \
		--target "$to" "$BATS_TEST_TMPDIR/source"
	cmp "$BINDING/scr.py" "$to/scr.py"
	grep -qx "Version: $(sed -n 's/^VERSION := //p' "$TESTSUITE/../Makefile")" \
		"$to"/scrkit-*.dist-info/METADATA
	export PYTHONPATH=$to PYTHON=$one
	py_works "0 1" <<-END
		assert scr.__file__ == "$to/scr.py", scr.__file__
		with scr.session():
		    write("a")
		print("wrote")
	END
	assert_line "wrote"
}

# Whose MPI is that of libscr.
@test "with mpi4py: it initialises and finalises MPI" {
	"$PYTHON" -c 'import mpi4py.MPI' 2>/dev/null || skip "no mpi4py"
	py "0" <<-'END'
		from mpi4py import MPI
		try:
		    scr.rank()
		except scr.Error as e:
		    assert "two different MPIs" in str(e), e
		    print("mismatch")
	END
	[[ $output != *mismatch* ]] || skip "mpi4py is for another MPI"
	py_works "0 1" <<-'END'
		from mpi4py import MPI
		with scr.session():
		    assert scr.rank() == MPI.COMM_WORLD.rank
		    assert not scr._state.owns_mpi
		    assert MPI.COMM_WORLD.allreduce(1) == scr.size() == 2
		    write("a")
		assert MPI.COMM_WORLD.allreduce(1) == 2
		print("fine")
	END
	assert_line "fine"
	# Imported later.
	py_works "0 1" <<-'END'
		scr.init()
		assert scr._state.owns_mpi
		from mpi4py import MPI
		assert MPI.COMM_WORLD.allreduce(1) == 2
		scr.finalize()
		print("fine")
	END
	assert_line "fine"
	fails 1 "0 1" ZeroDivisionError <<-'END'
		from mpi4py import MPI
		scr.init()
		if scr.rank() == 0:
		    1 / 0
		scr.have_restart()
	END
}
