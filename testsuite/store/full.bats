#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# Memory is full: programs get the errors that they get in a plain directory, no
# signals, and what the pool holds is theirs.

load helper

# small: both are file systems of 24 MiB, most of which the pool has.
small() {
	mount -t tmpfs -o size=24m,mode=755 none "$PLAIN" || skip "cannot mount"
	mount -t tmpfs -o size=24m,mode=755 none "$STORE"
	tool make "$STORE" $((20 << 20))
	tool fill "$STORE" $((4 << 20)) 4
}

# Files of the size of the clean ones: spare pages are freed by tending only.
@test "what fits without a pool fits with it" {
	privately && return
	small
	local dir n

	for dir in "$PLAIN" "$STORE"; do
		# shellcheck disable=SC2016 # for the shell there
		(cd "$dir" && preloaded bash -c '
			for n in 1 2 3 4 5; do
				dd if=/dev/zero of=large.$n bs=1M count=4 status=none || break
			done
			head -c 3500000 /dev/zero >tail; echo status $?' >"$MEMORY/says" 2>&1)
		cat "$MEMORY/says"
		for n in 1 2 3 4 5; do
			[[ $(stat -c %s "$dir/large.$n") == 4194304 ]] ||
				failed "$dir/large.$n"
		done
		grep -q "status 0" "$MEMORY/says"
	done
	was_fast 2 6000000
}

@test "an error, and no signal: behind the end, in a hole, where it was cut" {
	privately && return
	small
	cat >program.py <<-'END'
		import errno, os, subprocess
		data = bytes(range(256)) * 12000
		def put(name, fd, off):
		    try: n = os.pwrite(fd, data, off)
		    except OSError as e: n = errno.errorcode[e.errno]
		    print(name, n if n in (len(data), 'ENOSPC') else 'a part')
		fd = [os.open(n, os.O_CREAT | os.O_RDWR, 0o600) for n in ('end', 'hole', 'cut')]
		for f in fd: put('first', f, 0)
		os.posix_fallocate(fd[0], 0, 1)
		subprocess.run(['fallocate', '-p', '-o', '4096', '-l', '2M', 'hole'], check=True)
		os.ftruncate(fd[2], 10000)
		subprocess.run(['dd', 'if=/dev/zero', 'of=filler', 'bs=64K'], stderr=subprocess.DEVNULL)
		subprocess.run(['dd', 'if=/dev/zero', 'of=last', 'bs=4K'], stderr=subprocess.DEVNULL)
		put('end', fd[0], 20000000)
		put('hole', fd[1], 0)
		put('cut', fd[2], 5000)
		put('again', fd[0], 0)
		print(os.pread(fd[0], len(data), 0) == data)
	END
	(cd "$PLAIN" && python3 "$BATS_TEST_TMPDIR/program.py") >plain.says 2>&1
	(cd "$STORE" && preloaded python3 "$BATS_TEST_TMPDIR/program.py") >store.says 2>&1 ||
		failed "status $?" "$(<store.says)"
	cat store.says
	# A part may be written, or nothing.
	diff <(sed 's/ENOSPC/a part/' plain.says) <(sed 's/ENOSPC/a part/' store.says)
	was_fast 1 3000000
}
