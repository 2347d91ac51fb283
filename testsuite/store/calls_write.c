/* SPDX-License-Identifier: BSD-3-Clause */
/* calls_write.c - create files, write and read them, change their sizes. */
#include <aio.h>
#include <sys/sendfile.h>

#include "calls.h"

/* --- Create --- */

CASE(create, false)
{
	static const struct {
		const char *text;
		int flags;
	} ways[] = {
		{ "CREAT WRONLY", O_CREAT | O_WRONLY },
		{ "CREAT RDONLY", O_CREAT | O_RDONLY },
		{ "CREAT RDWR", O_CREAT | O_RDWR },
		{ "CREAT 3", O_CREAT | O_ACCMODE },
		{ "CREAT EXCL", O_CREAT | O_EXCL | O_RDWR },
		{ "CREAT TRUNC", O_CREAT | O_TRUNC | O_RDWR },
		{ "CREAT APPEND", O_CREAT | O_APPEND | O_WRONLY },
		{ "CREAT NOFOLLOW", O_CREAT | O_NOFOLLOW | O_RDWR },
		{ "CREAT DIRECTORY", O_CREAT | O_DIRECTORY | O_RDWR },
		{ "CREAT PATH", O_CREAT | O_PATH | O_RDWR },
		{ "CREAT SYNC", O_CREAT | O_SYNC | O_RDWR },
		{ "CREAT DIRECT", O_CREAT | O_DIRECT | O_RDWR },
		{ "CREAT NONBLOCK", O_CREAT | O_NONBLOCK | O_RDWR },
		{ "CREAT NOATIME", O_CREAT | O_NOATIME | O_RDWR },
		{ "CREAT CLOEXEC", O_CREAT | O_CLOEXEC | O_RDWR },
		{ "CREAT NOCTTY", O_CREAT | O_NOCTTY | O_RDWR },
		{ "TMPFILE", O_TMPFILE | O_RDWR },
		{ "TMPFILE EXCL", O_TMPFILE | O_EXCL | O_WRONLY },
		{ "none", O_RDWR },
	};
	static const char *const names[] = {
		"new",	   "old",     "dangling", "link",     "dir",
		"new/",	   "old/",    "",	  "miss/new", "dir/../new",
		"././new", "old/new", "dir//new", "dir/.",    "long",
		"fifo",	   "loop",
	};
	char longest[NAME_MAX + 2];

	memset(longest, 'n', sizeof(longest) - 1);
	longest[sizeof(longest) - 1] = '\0';
	for (size_t w = 0; w < sizeof(ways) / sizeof(*ways); w++) {
		for (size_t k = 0; k < sizeof(names) / sizeof(*names); k++) {
			const char *name = strcmp(names[k], "long") == 0
						   ? longest
						   : names[k];
			int fd = -1;

			(void)mkdir("dir", 0755);
			symlink("target", "dangling");
			symlink("old", "link");
			symlink("loop", "loop");
			(void)mkfifo("fifo", 0600);
			syscall(SYS_close, syscall(SYS_openat, AT_FDCWD, "old",
						   O_CREAT | O_WRONLY, 0600));
			if (strcmp(name, "fifo") == 0 &&
			    (ways[w].flags & O_NONBLOCK) == 0)
				continue;
			errno = 0;
			fd = open(name, ways[w].flags, 0640);
			say("%s %.12s: %s flags %x %x", ways[w].text, name,
			    fd < 0 ? strerror(errno) : "open",
			    fd < 0 ? 0 : fcntl(fd, F_GETFL),
			    fd < 0 ? 0 : fcntl(fd, F_GETFD));
			if (fd >= 0)
				look_at(fd, "it");
			close(fd);
			look("target");
			unlink("new");
			unlink("dir/new");
			unlink("target");
			unlink(longest + 1);
		}
	}
}

CASE(create_modes, true)
{
	static const mode_t modes[] = { 0,    0666, 0777,  0400,
					0200, 0644, 07777, 01644 };
	static const mode_t masks[] = { 0, 022, 077, 0777 };
	char name[40];

	(void)mkdir("setgid", 0755);
	R(chown("setgid", (uid_t)-1, 4711));
	R(chmod("setgid", 02775));
	for (int m = 0; m < 8; m++) {
		for (int k = 0; k < 4; k++) {
			int fd = -1;

			umask(masks[k]);
			snprintf(name, sizeof(name), "%s%c%c",
				 m & 1 ? "setgid/" : "mode.", 'a' + m, 'p' + k);
			fd = FD(open(name, O_CREAT | O_WRONLY, modes[m]));
			R(write(fd, data(m, BIG), BIG));
			R(close(fd));
			look(name);
			unlink(name);
		}
	}
}

CASE(create_functions, true)
{
	static const char *const two[] = { "creat", "creat64" };
	static const char *const three[] = { "open", "open64" };
	static const char *const at[] = { "openat", "openat64" };
	static const char *const temp[] = { "mkstemp", "mkstemp64" };
	char dir[PATH_MAX], name[PATH_MAX + 40];
	int here = open(".", O_RDONLY | O_DIRECTORY);

	if (getcwd(dir, sizeof(dir)) == NULL)
		return;
	for (int i = 0; i < 2; i++) {
		int (*c2)(const char *, mode_t) = call_of(two[i]);
		int (*c3)(const char *, int, ...) = call_of(three[i]);
		int (*c4)(int, const char *, int, ...) = call_of(at[i]);
		int (*c1)(char *) = call_of(temp[i]);
		int fds[6] = { -1, -1, -1, -1, -1, -1 };

		snprintf(name, sizeof(name), "%s/absolute%c", dir, 'x' + i);
		if (c2 != NULL)
			fds[0] = FD(c2(i == 0 ? "creat" : "creat_64", 0644));
		if (c3 != NULL)
			fds[1] = FD(c3(name, O_CREAT | O_RDWR, 0644));
		if (c4 != NULL) {
			fds[2] = FD(c4(here, i == 0 ? "at" : "at_64",
				       O_CREAT | O_RDWR, 0644));
			snprintf(name, sizeof(name), "%s//./at_%c", dir,
				 'x' + i);
			fds[3] = FD(c4(-1, name, O_CREAT | O_RDWR, 0600));
			fds[4] = FD(c4(AT_FDCWD,
				       "../create_functions/../"
				       "create_functions/dots",
				       O_CREAT | O_RDWR, 0644));
		}
		strcpy(name, "tempXXXXXX");
		if (c1 != NULL)
			fds[5] = FD(c1(name));
		for (int k = 0; k < 6; k++) {
			R(write(fds[k], data(k, BIG), BIG));
			look_at(fds[k], "file");
			close(fds[k]);
		}
		unlink(name);
		unlink("dots");
	}
	for (int i = 0; i < 4; i++) {
		static const char *const fortified[] = {
			"__open_2", "__open64_2", "__openat_2", "__openat64_2"
		};
		void *f = call_of(fortified[i]);

		if (f != NULL && i < 2)
			FD(((int (*)(const char *, int))f)("creat", O_RDWR));
		else if (f != NULL)
			FD(((int (*)(int, const char *, int))f)(here, "creat",
								O_RDWR));
	}
	P(tmpfile());
}

CASE(lowest_numbers, false)
{
	int a = open("a.one", O_CREAT | O_RDWR, 0644), b = -1, c = -1;

	close(0);
	b = open("b.two", O_CREAT | O_RDWR, 0644);
	c = creat("c.three", 0644);
	say("%d %d %d", a, b, c);
	close(a);
	say("%d", openat(AT_FDCWD, "d.four", O_CREAT | O_RDWR, 0644));
	say("%d", dup(c));
}

/* --- Write and read --- */

CASE(write_functions, true)
{
	static const char *const one[] = { "write", "__write" };
	static const char *const at[] = { "pwrite", "pwrite64", "__pwrite64" };
	static const char *const vec[] = { "pwritev", "pwritev64" };
	static const char *const vec2[] = { "pwritev2", "pwritev64v2" };
	static char x[BIG], y[SMALL], z[BIG];
	struct iovec v[4] = {
		{ x, BIG }, { NULL, 0 }, { y, SMALL }, { z, BIG }
	};
	/* What the compiler would warn of. */
	volatile int many = IOV_MAX + 1, less = -1;
	void *volatile bad = (void *)8;
	int fd = open("file", O_CREAT | O_RDWR, 0644);

	memcpy(x, data(1, BIG), BIG);
	memcpy(y, data(2, SMALL), SMALL);
	memcpy(z, data(3, BIG), BIG);
	for (int i = 0; i < 3; i++) {
		ssize_t (*w)(int, const void *, size_t) =
			i < 2 ? call_of(one[i]) : NULL;
		ssize_t (*p)(int, const void *, size_t, off_t) = call_of(at[i]);
		ssize_t (*pv)(int, const struct iovec *, int, off_t) =
			i < 2 ? call_of(vec[i]) : NULL;
		ssize_t (*pv2)(int, const struct iovec *, int, off_t, int) =
			i < 2 ? call_of(vec2[i]) : NULL;

		if (w != NULL)
			R(w(fd, data(4 + i, BIG), BIG));
		look_at(fd, "write");
		if (p != NULL) {
			R(p(fd, data(7 + i, BIG), BIG, 12345));
			R(p(fd, data(7 + i, SMALL), SMALL, -1));
			R(p(fd, data(7 + i, BIG), BIG, -4096));
			R(p(fd, data(7 + i, BIG), BIG, INT64_MAX - SMALL));
		}
		look_at(fd, "pwrite");
		R(writev(fd, v, 4));
		R(writev(fd, v, 2));
		R(writev(fd, v, 0));
		R(writev(fd, v, many));
		R(writev(fd, v, less));
		look_at(fd, "writev");
		if (pv != NULL) {
			R(pv(fd, v, 4, 1 << 20));
			R(pv(fd, v, 4, -1));
		}
		if (pv2 != NULL) {
			R(pv2(fd, v, 4, -1, 0));
			R(pv2(fd, v, 4, 77, RWF_APPEND));
			R(pv2(fd, v, 4, -1, RWF_DSYNC));
			R(pv2(fd, v, 4, 0, 0x40000000));
		}
		look_at(fd, "pwritev2");
		R(lseek(fd, 0, SEEK_CUR));
		R(ftruncate(fd, 4096));
		R(lseek(fd, 4096, SEEK_SET));
	}
	R(write(fd, "", 0));
	R(write(fd, NULL, 0));
	R(write(fd, bad, SMALL));
	R(write(-1, data(1, BIG), BIG));
	R(syscall(SYS_write, fd, data(9, BIG), BIG));
	R(write(fd, data(10, BIG), BIG));
	look_at(fd, "at the end");
	fd = FD(open("file", O_RDONLY));
	R(write(fd, data(1, BIG), BIG));
	R(pwrite(fd, data(1, BIG), BIG, 0));
	fd = FD(open("new", O_RDONLY | O_CREAT, 0600));
	R(write(fd, data(1, BIG), BIG));
}

CASE(read_functions, true)
{
	static char to[BIG + 8];
	struct iovec v = { to, BIG };
	int fd = made("file", 1, BIG);
	ssize_t (*r)(int, void *, size_t, size_t) = call_of("__read_chk");
	ssize_t (*p)(int, void *, size_t, off_t, size_t) =
		call_of("__pread_chk");
	ssize_t (*p64)(int, void *, size_t, off_t, size_t) =
		call_of("__pread64_chk");

	R(read(fd, to, SMALL));
	R(lseek(fd, 5, SEEK_SET));
	R(read(fd, to, sizeof(to)));
	R(memcmp(to, data(1, BIG) + 5, BIG - 5));
	R(pread(fd, to, BIG, 1));
	R(pread64(fd, to, BIG, BIG));
	R(preadv(fd, &v, 1, 9));
	R(preadv2(fd, &v, 1, -1, 0));
	R(lseek(fd, 0, SEEK_SET));
	R(readv(fd, &v, 1));
	if (r != NULL && p != NULL && p64 != NULL) {
		R(r(fd, to, SMALL, sizeof(to)));
		R(p(fd, to, SMALL, 3, sizeof(to)));
		R(p64(fd, to, SMALL, 3, sizeof(to)));
	}
	fd = FD(open("new", O_WRONLY | O_CREAT, 0600));
	R(write(fd, data(1, BIG), BIG));
	R(read(fd, to, SMALL));
	R(pread(fd, to, SMALL, 0));
}

CASE(positions, true)
{
	int fd = open("file", O_CREAT | O_RDWR, 0644), two = dup(fd),
	    other = -1;

	R(write(fd, data(1, BIG), BIG));
	R(lseek(two, 0, SEEK_CUR));
	R(write(two, data(2, BIG), BIG));
	R(lseek(fd, 0, SEEK_CUR));
	R(lseek(fd, -SMALL, SEEK_CUR));
	R(write(fd, data(3, BIG), BIG));
	R(lseek(fd, -5, SEEK_SET));
	R(lseek(fd, SMALL, SEEK_END));
	R(write(fd, data(4, SMALL), SMALL));
	R(lseek64(fd, 1 << 20, SEEK_END));
	R(write(fd, data(5, BIG), BIG)); /* behind a hole */
	look_at(fd, "with holes");
	other = FD(open("file", O_RDWR));
	R(lseek(other, 0, SEEK_CUR));
	R(write(other, data(6, BIG), BIG));
	R(write(fd, data(7, BIG), BIG));
	look_at(fd, "by two");
	/* Over the end of the pages of the pool, and far behind it. */
	R(pwrite(fd, data(8, BIG), BIG, (8 << 20) - 1000000));
	R(pwrite(fd, data(9, HUGE_FILE), HUGE_FILE, 1000));
	R(lseek(fd, 1L << 40, SEEK_SET));
	R(ftruncate(fd, 30 << 20));
	look_at(fd, "large");
	R(ftruncate(fd, 0));
	R(pwrite(fd, data(9, BIG), BIG, 1L << 41));
	R(lseek(fd, 0, SEEK_END));
	R(ftruncate(fd, 10));
}

CASE(append, true)
{
	int fd = open("file", O_CREAT | O_WRONLY | O_APPEND, 0644);
	int other = open("file", O_WRONLY);

	R(write(fd, data(1, BIG), BIG));
	R(write(other, data(2, SMALL), SMALL));
	R(lseek(fd, 0, SEEK_SET));
	R(write(fd, data(3, BIG), BIG));
	R(pwrite(fd, data(4, BIG), BIG, 0)); /* appends, too */
	R(lseek(fd, 0, SEEK_CUR));
	look_at(fd, "append");
	fd = open("later", O_CREAT | O_RDWR, 0644);
	R(write(fd, data(1, BIG), BIG));
	R(fcntl(fd, F_SETFL, O_APPEND));
	R(lseek(fd, 0, SEEK_SET));
	R(write(fd, data(2, BIG), BIG));
	R(fcntl(fd, F_SETFL, 0));
	R(lseek(fd, 10, SEEK_SET));
	R(write(fd, data(3, BIG), BIG));
	R(syscall(SYS_fcntl, fd, F_SETFL, O_APPEND));
	R(lseek(fd, 10, SEEK_SET));
	R(write(fd, data(4, BIG), BIG));
	R(pwrite(fd, data(5, BIG), BIG, 10));
	look_at(fd, "later");
}

/* --- Sizes --- */

CASE(truncates, true)
{
	int fd = made("file", 1, BIG), other = open("file", O_RDWR);

	R(ftruncate(fd, 12345));
	R(write(fd, data(2, BIG), BIG)); /* at the old position */
	look_at(fd, "cut and written");
	R(truncate("file", 1000));
	R(ftruncate64(fd, BIG));
	look_at(fd, "cut and longer: zeros");
	R(pwrite(fd, data(3, BIG), BIG, 500));
	R(truncate64("file", 5 << 20));
	R(ftruncate(other, (4 << 20) + 1));
	R(ftruncate(fd, -1));
	look_at(fd, "by others");
	FD(open("file", O_WRONLY | O_TRUNC));
	R(write(fd, data(4, BIG), BIG));
	look_at(fd, "O_TRUNC");
	FD(creat("file", 0600));
	R(pwrite(fd, data(5, BIG), BIG, 0));
	look_at(fd, "creat");
	fd = open("grown", O_CREAT | O_RDWR, 0644);
	R(ftruncate(fd, 6 << 20));
	look_at(fd, "zeros");
	R(pwrite(fd, data(6, BIG), BIG, 1 << 20));
	look_at(fd, "within");
}

CASE(allocates, true)
{
	static const int modes[] = { 0, 1, 3, 2, 8, 16, 17, 32, 64 };
	int fd = made("file", 1, BIG);
	struct stat is;

	for (int i = 0; i < 9; i++) {
		R(fallocate(fd, modes[i], 1 << 20, 1 << 20));
		R(pwrite(fd, data(i, BIG), BIG, 4096 * i));
		R(fallocate64(fd, modes[i], 3 << 20, 4 << 20));
		look_at(fd, "allocated");
		R(pwrite(fd, data(i, BIG), BIG, (2 << 20) + i));
		look_at(fd, "written");
	}
	/* A hole in what is mapped, and in the middle of pages. */
	R(fallocate(fd, 3, 1000, 2 << 20));
	look_at(fd, "hole");
	R(pwrite(fd, data(1, SMALL), SMALL, 1 << 20));
	R(pwrite(fd, data(2, BIG), BIG, 777));
	look_at(fd, "filled");
	R(posix_fallocate(fd, 0, 9 << 20));
	R(posix_fallocate64(fd, -1, 9 << 20));
	R(posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED));
	R(posix_fadvise64(fd, 0, 0, POSIX_FADV_SEQUENTIAL));
	look_at(fd, "posix_fallocate");
	fd = open("kept", O_CREAT | O_RDWR, 0644);
	R(write(fd, data(3, BIG), BIG));
	R(fallocate(fd, 1, 0,
		    12 << 20)); /* KEEP_SIZE: what the program wants */
	close(fd);
	R(stat("kept", &is));
	say("allocated: %d", is.st_blocks >= (12 << 20) / 512);
	/* What is no hole has data, what is one has zeros. */
	fd = made("holes", 4, BIG);
	R(ftruncate(fd, 12 << 20));
	R(lseek(fd, 0, SEEK_DATA));
	say("hole behind the data: %d", lseek(fd, 0, SEEK_HOLE) >= BIG);
	R(lseek(fd, 12 << 20, SEEK_DATA));
	R(lseek(fd, 12 << 20, SEEK_HOLE));
}

CASE(syncs, true)
{
	int fd = made("file", 1, BIG);

	R(fsync(fd));
	R(fdatasync(fd));
	R(sync_file_range(fd, 0, BIG, SYNC_FILE_RANGE_WRITE));
	R(syncfs(fd));
	R(readahead(fd, 0, BIG));
	R(isatty(fd));
	R(lockf(fd, F_LOCK, 0));
	R(close(fd));
	R(close(fd));
	R(fsync(fd));
	R(write(fd, data(1, BIG), BIG));
	R(fstat(fd, &(struct stat){ 0 }));
}

/* --- Other ways to move bytes --- */

CASE(maps, true)
{
	int fd = open("file", O_CREAT | O_RDWR, 0644);
	char *map = NULL, *private = NULL;

	R(write(fd, data(1, BIG), BIG));
	R(ftruncate(fd, 6 << 20));
	map = mmap(NULL, 6 << 20, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	private = mmap64(NULL, 6 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd,
			 0);
	R(memcmp(map, data(1, BIG), BIG));
	memcpy(map + 5000, data(2, BIG), BIG);
	look_at(fd, "stored");
	R(pwrite(fd, data(3, BIG), BIG, 1 << 20));
	R(memcmp(map + (1 << 20), data(3, BIG), BIG));
	private[0] = 'x';
	R(msync(map, 6 << 20, MS_SYNC));
	/* Its own bytes, from elsewhere. */
	R(pwrite(fd, map + (4 << 20), 1 << 20, 1000));
	look_at(fd, "moved");
	R(munmap(map, 6 << 20));
	R(close(fd));
	R(msync(private, 4096, MS_ASYNC));
	R(munmap(private, 6 << 20));
	map = mmap(NULL, BIG, PROT_READ | PROT_WRITE,
		   MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	R(munmap(map, BIG));
	look("file");
	fd = FD(open("only", O_CREAT | O_WRONLY, 0644));
	R(write(fd, data(1, BIG), BIG));
	R((long)mmap(NULL, BIG, PROT_READ, MAP_SHARED, fd, 0));
}

CASE(moves_bytes, true)
{
	int from = made("from", 1, BIG),
	    to = open("to", O_CREAT | O_RDWR, 0644);
	int ends[2], n = 0;
	loff_t a = 100, b = 1 << 20;
	struct aiocb io = { .aio_offset = 500,
			    .aio_buf = (void *)(uintptr_t)data(2, BIG),
			    .aio_nbytes = BIG };
	const struct aiocb *list[1] = { &io };
	struct iovec v = { (void *)(uintptr_t)data(3, SMALL), SMALL };

	R(write(to, data(4, BIG), BIG));
	R(copy_file_range(from, &a, to, &b, BIG, 0));
	look_at(to, "copy_file_range");
	R(write(to, data(5, BIG), BIG));
	a = 0;
	R(sendfile(to, from, &a, BIG));
	look_at(to, "sendfile");
	R(write(to, data(6, BIG), BIG));
	R(pipe(ends));
	b = 12345;
	R(vmsplice(ends[1], &v, 1, 0));
	R(splice(ends[0], NULL, to, &b, SMALL, 0));
	R(lseek(from, 0, SEEK_SET));
	for (n = 0; n < 20; n++) {
		if (splice(from, NULL, ends[1], NULL, 65536, 0) != 65536 ||
		    splice(ends[0], NULL, to, NULL, 65536, 0) != 65536)
			say("splice: %s", strerror(errno));
	}
	look_at(to, "splice");
	io.aio_fildes = to;
	R(aio_write(&io));
	R(aio_suspend(list, 1, NULL));
	R(aio_error(&io));
	R(aio_return(&io));
	look_at(to, "aio");
	R(write(to, data(7, BIG), BIG));
	R(lseek(to, 0, SEEK_CUR));
	look_at(to, "at the end");
}
