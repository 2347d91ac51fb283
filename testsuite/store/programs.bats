#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# Programs that know nothing of stores leave and print in a store, under the preload,
# what they do in a plain directory.

load helper

MB=1000000

setup_file() {
	export IN=$BATS_FILE_TMPDIR
	head -c 5000123 /dev/urandom >"$IN/bytes"
	head -c 1500000 /dev/urandom | base64 >"$IN/text"
	seq 0 99999 | awk '{ print $1 * 7919 % 100003 }' >"$IN/numbers"
}

# script FILES BYTES: `same` of the bash script on stdin.
script() {
	same "$1" "$2" bash -c "$(cat)"
}

# needs COMMAND...
needs() {
	local one

	for one; do
		command -v "$one" >/dev/null || skip "no $one"
	done
}

@test "dd" {
	script 6 $((20 * MB)) <<-'END'
		dd if=$IN/bytes of=a bs=1M status=none
		dd if=$IN/bytes of=b bs=77777 conv=fsync status=none
		dd if=$IN/bytes of=b bs=1M seek=2 skip=1 conv=notrunc status=none
		dd if=$IN/bytes of=c bs=1M oflag=append conv=notrunc status=none
		dd if=$IN/bytes of=c bs=1M oflag=append conv=notrunc status=none
		dd if=/dev/zero of=d bs=1M count=3 conv=sparse status=none
		dd of=e bs=1M iflag=fullblock status=none <$IN/bytes
		dd if=a of=f bs=4M oflag=direct status=none
		dd if=$IN/bytes of=g bs=3M oflag=sync count=1 status=none
		dd if=/dev/null of=g bs=1 seek=100000 status=none
		dd if=a bs=1M status=none | dd of=h bs=1M iflag=fullblock status=none
		dd if=$IN/missing of=i status=none
		dd if=$IN/bytes of=missing/j status=none
	END
}

@test "cp, mv, install, ln, rm, truncate, split, cat, tee, head, cmp" {
	script 1 0 <<-'END'
		cp $IN/bytes a
		cp -p $IN/text text && touch -d @1000000000.5 text
		cp --preserve=all text kept && stat -c '%n %Y %s' kept
		cp --sparse=always a sparse
		cp --reflink=auto a b
		mkdir -p d/e && cp -r a text d/e
		cp -a d f
		cat a text a >joined
		cat a >>joined
		tee t1 t2 <$IN/bytes >t3
		head -c 3000000 a >head && tail -c 3000000 a >tail
		mv head tail && mv -n a b && mv a d/moved
		install -m 600 b installed
		ln b hard && ln -s b soft && cp soft copied && cp -P soft link
		rm b && cat hard >b && rm -r f && rm d/e/*
		truncate -s 7M b && truncate -s -1M joined
		split -b 2M joined piece.
		cp -f --remove-destination text b && cp --backup text b
		shred -n 1 -u t1
		cmp b text && cmp t2 t3 && ls
	END
}

@test "tar, gzip, xz, zstd, sort" {
	needs xz zstd
	script 3 $((10 * MB)) <<-'END'
		mkdir d && cp -p $IN/bytes $IN/text d && touch -d @1000000000 d d/*
		tar -cf a.tar d && tar -cf b.tar -b 2048 d && cmp <(tar -tvf a.tar) <(tar -tvf b.tar)
		mkdir x y z && tar -xf a.tar -C x && tar -xf b.tar -b 2048 -C y
		tar -xSf b.tar -C z && stat -c '%n %Y' x/d/* y/d/*
		tar -rf a.tar $IN/numbers 2>/dev/null && tar -uf a.tar d && tar --delete -f a.tar d/bytes
		tar -czf c.tgz d && tar -tzf c.tgz && rm c.tgz
		gzip -nk d/text && gzip -d <d/text.gz >e && cmp d/text e
		xz -0k d/bytes && xz -dc d/bytes.xz | cmp - d/bytes
		zstd -q d/text && zstd -dq d/text.zst -o f && cmp d/text f
		sort -o g d/text && sort -S 200K -T . d/text | cmp - g
		sort -n -o n $IN/numbers && sort -c -n n && rm *.gz *.xz *.zst d/*.[gxz]* 2>/dev/null
		sort -u g -o g
	END
}

@test "redirections of the shell" {
	script 1 0 <<-'END'
		cat $IN/bytes >a; cat $IN/text >>a; echo end >>a
		{ echo begin; cat $IN/bytes; echo end; } >b 2>&1
		exec 3>c 4>&3 5<b; echo three >&3; cat <&5 >&4; echo four >&4; exec 3>&- 4>&- 5<&-
		exec 6<>c; read -r -u 6 line; echo "$line" over >&6; exec 6>&-
		set -o noclobber; echo no >a; echo yes >|d; set +o noclobber
		cat <<<"here" >e; cat >f <<-X
			document
		X
		ls missing &>g; cat $IN/bytes | tee h >i
		(cat $IN/text; exit 3) >j; echo $?
		exec {fd}>k; cat $IN/text >&$fd; echo more >&$fd; exec {fd}>&-
		diff <(cat a) <(cat b) >/dev/null; echo $?
		for n in {1..50}; do echo line $n >&7; done 7>l
		cat $IN/bytes >m & wait; : >m; cat $IN/text 1<>m; cat m | wc -c
		coproc cat >n; echo coproc >&${COPROC[1]}; exec {COPROC[1]}>&-; wait
		exec >o; cat $IN/text; echo out
	END
}

@test "python: files, mmap, shutil, os, subprocess" {
	needs python3
	cat >program.py <<-'END'
		import io, mmap, os, shutil, subprocess, sys, tempfile
		data = open(os.environ['IN'] + '/bytes', 'rb').read()
		text = open(os.environ['IN'] + '/text').read()
		with open('a', 'wb') as f:
		    print(f.write(data), f.tell())
		    f.seek(1000); f.write(data[:2000000]); f.seek(0, 2)
		    f.write(b'end'); f.flush(); os.fsync(f.fileno())
		with open('b', 'w') as f:
		    f.write(text); f.write('x'); print(f.tell()); f.truncate(2000000)
		with open('c', 'wb', buffering=0) as f:
		    f.write(data); os.pwrite(f.fileno(), data, 12345)
		    print(os.writev(f.fileno(), [data, b'small', data]), f.tell())
		with open('d', 'w+b') as f:
		    f.truncate(3000000)
		    with mmap.mmap(f.fileno(), 0) as m:
		        m[5:2000005] = data[:2000000]; m.flush(); m.resize(4000000)
		        print(m.find(data[:20]))
		    f.seek(0); f.write(data); f.seek(0); print(f.read() == data)
		with open('e', 'ab') as f:
		    f.write(data); f.write(data[:10]); print(f.tell())
		shutil.copyfile('a', 'f'); shutil.copy2('b', 'g'); shutil.move('f', 'h')
		shutil.copytree('.', 'tree'); shutil.rmtree('tree')
		fd = os.open('i', os.O_CREAT | os.O_RDWR, 0o640)
		print(os.write(fd, data), os.lseek(fd, -10, os.SEEK_CUR))
		os.sendfile(fd, os.open('a', os.O_RDONLY), 0, 1000000)
		os.ftruncate(fd, 5000000); os.posix_fallocate(fd, 0, 6000000)
		fd2 = os.dup(fd); os.close(fd); os.write(fd2, data); os.close(fd2)
		os.replace('i', 'a'); os.link('a', 'j'); os.symlink('a', 'k'); os.chmod('a', 0o600)
		with tempfile.NamedTemporaryFile(dir='.') as f:
		    f.write(data); f.seek(0); print(f.read() == data)
		with open('l', 'wb') as f:
		    subprocess.run(['cat', 'a'], stdout=f); f.write(data)
		pid = os.fork()
		if pid == 0:
		    with open('m', 'wb') as f: f.write(data)
		    os._exit(0)
		print(os.waitpid(pid, 0)[1], os.stat('m').st_size, sorted(n for n in os.listdir('.') if n[0] != '.'))
		try: open('a', 'xb')
		except OSError as e: print(e)
	END
	same 8 $((15 * MB)) python3 "$PWD/program.py"
}

@test "sqlite3: rollback journal, WAL, large pages" {
	needs sqlite3
	cat >program.sql <<-'END'
		create table t(a integer primary key, b text, c blob);
		with recursive n(i) as (select 1 union all select i + 1 from n where i < 5000)
			insert into t select i, hex(i * 7919), zeroblob(i % 300) from n;
		update t set b = b || 'x' where a % 3 = 0;
		delete from t where a % 7 = 0;
		insert into t values(100000, 'large', zeroblob(3000000));
		begin; delete from t; rollback;
		create index i on t(b);
		vacuum;
		pragma integrity_check;
		select count(*), sum(length(b)), sum(length(c)) from t;
	END
	untraced
	local mode

	for mode in delete,4096 wal,65536 ${SCRKIT_SLOW:+truncate,4096 persist,8192 wal,4096}; do
		script 1 0 <<-END
			db=${mode%,*}.db
			{
				echo "pragma page_size=${mode#*,}; pragma journal_mode=${mode%,*};"
				cat $PWD/program.sql
			} | sqlite3 \$db
			busy='.timeout 60000'
			sqlite3 -cmd "\$busy" \$db 'update t set b = b || 1' &
			sqlite3 -cmd "\$busy" \$db 'update t set c = zeroblob(9) where a % 5 = 0'
			wait
			sqlite3 \$db .dump | cksum
			sqlite3 \$db '.backup copy' 'pragma integrity_check'
			sqlite3 copy .dump | cksum
			rm -f \$db* copy
		END
	done
}

@test "HDF5's tools" {
	needs h5import h5repack h5copy h5diff
	cat >config <<-'END'
		PATH group/numbers
		INPUT-CLASS TEXTIN
		INPUT-SIZE 32
		RANK 1
		DIMENSION-SIZES 100000
		OUTPUT-CLASS IN
		OUTPUT-SIZE 64
		OUTPUT-ARCHITECTURE STD
		OUTPUT-BYTE-ORDER LE
	END
	script 2 $((2 * MB)) <<-END
		h5import $IN/numbers -c $PWD/config -o a.h5
		h5repack -l CHUNK=50000 a.h5 b.h5 && h5repack -f GZIP=1 -l CHUNK=1000 a.h5 c.h5
		h5repack -l CONTI a.h5 e.h5
		h5copy -i b.h5 -o d.h5 -s /group -d /copied && h5copy -i a.h5 -o d.h5 -s /group -d /again
		h5diff a.h5 b.h5 && h5diff a.h5 c.h5 && h5diff a.h5 e.h5; echo \$?
		h5dump -d /group/numbers e.h5 | cksum
		# The other bytes have times in them.
		stat -c '%n %s' *.h5; rm *.h5
	END
}

@test "an MPI-IO program" {
	needs mpiexec
	[[ -x $BIN/../mpi/mpiio ]] || skip "built without MPI"
	export MPIEXEC=$BIN/../mpi/mpiio
	# The first rank creates the file and closes it; all open it then.
	script 1 0 <<-'END'
		mpiexec -n 3 $MPIEXEC file
		mpiexec -n 1 $MPIEXEC alone
		mpiexec -n 3 $MPIEXEC file
	END
}

@test "C++ streams" {
	needs g++
	cat >program.cc <<-'END'
		#include <fstream>
		#include <iostream>
		#include <string>
		#include <cstdio>
		int main() {
		    std::string data(3000000, 'x');
		    for (size_t i = 0; i < data.size(); i++) data[i] = char(i * 7 % 251);
		    { std::ofstream f("a", std::ios::binary); f << data << 42; f.write(data.data(), data.size());
		      std::cout << f.tellp() << '\n'; f.seekp(1000); f << data; }
		    { std::fstream f("a", std::ios::in | std::ios::out | std::ios::binary);
		      f.seekg(2000000); std::string s(100, ' '); f.read(&s[0], 100); f.seekp(5); f << data;
		      f.seekg(0, std::ios::end); std::cout << f.tellg() << '\n'; }
		    { std::ofstream f("b", std::ios::app); f << data; f << data; std::cout << f.tellp() << '\n'; }
		    { std::ofstream f; f.rdbuf()->pubsetbuf(nullptr, 0); f.open("c"); f << data << std::endl; }
		    { std::filebuf b; b.open("d", std::ios::out | std::ios::trunc); b.sputn(data.data(), 2999999); b.sputc('y'); }
		    std::cout << std::rename("c", "e") << std::remove("b") << '\n';
		    std::ifstream f("e"); std::string line; std::getline(f, line); std::cout << line.size() << '\n';
		}
	END
	g++ -O1 -o program program.cc
	same 3 $((14 * MB)) "$PWD/program"
}

@test "Fortran: unformatted, direct, stream" {
	needs gfortran
	cat >program.f90 <<-'END'
		program p
		  real(8) :: x(400000), y(400000)
		  integer :: i
		  x = [(i * 1.5d0, i = 1, 400000)]
		  open(10, file='a', form='unformatted'); write(10) x; write(10) 7, x; close(10)
		  open(10, file='a', form='unformatted'); read(10) y; print *, all(x == y)
		  backspace(10); write(10) x(1:200000); rewind(10); read(10) y(1:200000); close(10)
		  open(11, file='b', form='unformatted', access='direct', recl=1600000)
		  do i = 1, 4; write(11, rec=5 - i) x(1:200000) + i; end do
		  read(11, rec=2) y(1:200000); print *, y(1); close(11)
		  open(12, file='c', form='unformatted', access='stream'); write(12) x, 'text'
		  inquire(12, pos=i); print *, i; write(12, pos=1000) x; close(12)
		  open(13, file='d', position='append'); write(13, '(F12.2)') x(1:100000); close(13)
		  open(14, status='scratch', form='unformatted'); write(14) x; close(14)
		end program
	END
	gfortran -o program program.f90
	same 2 $((5 * MB)) "$PWD/program"
}

# One C program, built in several ways.
c_program() {
	cat >program.c <<-'END'
		#include <fcntl.h>
		#include <stdio.h>
		#include <stdlib.h>
		#include <unistd.h>
		int main(int argc, char **argv)
		{
			static char data[3000000], to[3000000];
			size_t n = argc > 7 ? 5 : sizeof(to);
			FILE *f = fopen("a", "w+");
			int fd = open("b", O_CREAT | O_RDWR | (argc > 7 ? O_APPEND : 0), 0644);

			for (size_t i = 0; i < sizeof(data); i++)
				data[i] = (char)(i * 7 % 251);
			printf("%zu\n", fwrite(data, 1, sizeof(data), f));
			fprintf(f, "%s %d\n", "text", argc);
			printf("%ld\n", ftell(f));
			rewind(f);
			printf("%zu\n", fread(to, 1, n, f));
			printf("%s", fgets(to, argc + 50, f));
			printf("%zd %zd\n", write(fd, data, n), pwrite(fd, data, n, 100000));
			printf("%zd %zd\n", read(fd, to, n), pread(fd, to, n, 5));
			dprintf(fd, "%s", "behind");
			fclose(f);
			close(fd);
			fd = open("b", O_WRONLY | (argc > 7 ? O_TRUNC : O_APPEND));
			printf("%zd\n", write(fd, data, n));
			return rename("b", "c") + unlink("a");
		}
	END
	# shellcheck disable=SC2086 # options
	gcc -w $1 -o program program.c || skip "cannot build with $1"
}

@test "a C program, with _FORTIFY_SOURCE" {
	c_program "-O2 -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=3"
	same 2 $((6 * MB)) "$PWD/program"
}

@test "a static program passes by, and is right" {
	c_program "-O2 -static"
	same 0 0 "$PWD/program"
	c_program -O2
	same 2 $((6 * MB)) "$PWD/program"
}
