/* SPDX-License-Identifier: BSD-3-Clause */
/* calls_stdio.c - streams. */
#include <stdio_ext.h>
#include <wchar.h>

#include "calls.h"

CASE(streams, true)
{
	static const char *const modes[] = { "w",  "w+", "a",  "a+", "r+",
					     "wx", "we", "wc", "q",  "r" };
	static char to[BIG + 1];

	for (int i = 0; i < 10; i++) {
		FILE *f =
			(errno = 0, fopen(i < 2 ? "file" : "other", modes[i]));

		say("%s: %s %s", modes[i], f != NULL ? "open" : "no",
		    strerror(errno));
		if (f == NULL)
			continue;
		R(fwrite(data(i, BIG), 1, BIG, f));
		R(ferror(f));
		clearerr(f);
		R(ftell(f));
		R(fwrite(data(i, SMALL), 7, SMALL / 7, f));
		R(ftello(f));
		R(fprintf(f, "%s %d", "text", 7));
		R(fwrite(data(i + 1, BIG), 3, BIG / 3, f));
		R(ftello64(f));
		R(fseek(f, -SMALL, SEEK_CUR));
		R(fwrite(data(i + 2, BIG), BIG, 1, f));
		R(ftell(f));
		R(fflush(f));
		R(lseek(fileno(f), 0, SEEK_CUR));
		look_at(fileno(f), "it");
		R(fseeko(f, 100, SEEK_SET));
		R(fread(to, 1, BIG, f));
		clearerr(f);
		R(ftell(f));
		R(fseek(f, 0, SEEK_CUR));
		R(fwrite_unlocked(data(i + 3, BIG), 1, BIG, f));
		rewind(f);
		R(fgetc(f));
		R(ungetc('x', f));
		R(ftell(f));
		R(fgetc(f));
		R(fseek(f, 0, SEEK_END));
		R(fputs("end", f));
		R(ftell(f));
		R(fclose(f));
		look(i < 2 ? "file" : "other");
	}
}

CASE(streams_large, true)
{
	/* What is buffered before and behind a large write. */
	FILE *f = fopen("file", "w+");

	for (int i = 0; i < 3; i++) {
		R(fwrite(data(i, SMALL), 1, SMALL, f));
		R(fwrite(data(i + 4, BIG), 1, BIG, f));
		R(fputc('c', f));
		R(putc_unlocked('d', f));
		R(ftell(f));
		R(fputs_unlocked("unlocked", f));
		R(__fpending(f) > 0);
	}
	R(fseek(f, 1 << 20, SEEK_SET));
	R(fwrite(data(9, BIG), 1, BIG, f));
	R(fwrite(data(9, 2 << 20), 4096, 512, f));
	R(ftell(f));
	R(fclose(f));
	look("file");
	f = fopen("unbuffered", "w");
	R(setvbuf(f, NULL, _IONBF, 0));
	R(fwrite(data(1, BIG), 1, BIG, f));
	R(fwrite(data(2, SMALL), 1, SMALL, f));
	R(fclose(f));
	look("unbuffered");
	f = fopen("lines", "w");
	R(setvbuf(f, NULL, _IOLBF, 512));
	R(fwrite(data(1, BIG), 1, BIG, f));
	R(fputs("line\nhalf", f));
	look_at(fileno(f), "before fclose");
	R(fclose(f));
	look("lines");
	f = fopen("buffer", "w");
	R(setvbuf(f, malloc(2 * BIG), _IOFBF, 2 * BIG));
	for (int i = 0; i < 5; i++)
		R(fwrite(data(i, BIG), 1, BIG, f));
	R(ftell(f));
	/* exit() flushes it. */
}

CASE(streams_odd, true)
{
	FILE *f = fopen("file", "w"), *g = NULL;
	char *line = NULL, *memory = NULL;
	size_t room = 0, size = 0;
	int fd = -1;

	R(fwrite(data(1, BIG), 0, 7, f));
	R(fwrite(data(1, BIG), 7, 0, f));
	R(fwrite(data(1, BIG), 1, BIG, f));
	f = freopen("second", "w", f);
	R(f != NULL);
	R(fwrite(data(2, BIG), 1, BIG, f));
	f = freopen64("third", "w+", f);
	R(fwrite(data(3, BIG), 1, BIG, f));
	R(freopen(NULL, "r", f) != NULL);
	R(fwrite(data(4, BIG), 1, BIG, f));
	R(ferror(f) != 0);
	R(fclose(f));
	look("file");
	look("second");
	look("third");
	fd = open("fd", O_CREAT | O_RDWR, 0600);
	R(write(fd, data(5, BIG), BIG));
	f = fdopen(fd, "w");
	R(ftell(f));
	R(fwrite(data(6, BIG), 1, BIG, f));
	R(fflush(f));
	R(write(fd, data(7, BIG), BIG));
	R(fseek(f, 0, SEEK_END));
	R(fwrite(data(8, SMALL), 1, SMALL, f));
	R(ftell(f));
	R(fclose(f));
	R(write(fd, data(8, BIG), BIG)); /* closed */
	look("fd");
	/* The number is used again, by what is no file of the store. */
	f = fopen("closed", "w");
	fd = fileno(f);
	R(fwrite(data(1, BIG), 1, BIG, f));
	R(fclose(f));
	R(syscall(SYS_memfd_create, "other", 0) == fd);
	R(write(fd, data(2, BIG), BIG));
	look_at(fd, "other");
	look("closed");
	fd = open("only.read", O_CREAT | O_RDWR, 0600);
	f = fdopen(fd, "r");
	R(fwrite(data(1, BIG), 1, BIG, f));
	R(fclose(f));
	look("only.read");
	f = open_memstream(&memory, &size);
	R(fwrite(data(1, BIG), 1, BIG, f));
	R(fclose(f));
	R(memcmp(memory, data(1, BIG), size));
	f = fopen("wide", "w");
	R(fputws(L"wide", f));
	R(fwprintf(f, L"%d", 7));
	R(fwrite(data(1, BIG), 1, BIG, f));
	R(fwide(f, 0));
	R(fclose(f));
	look("wide");
	f = fopen64("text", "w+");
	R(fwide(f, -1));
	for (int i = 0; i < 100000; i++)
		fprintf(f, "line %d of a text that has many\n", i);
	rewind(f);
	R(getline(&line, &room, f));
	R(getdelim(&line, &room, 'x', f));
	R(fgets(line, (int)room, f) != NULL);
	R(getc_unlocked(f));
	R(fscanf(f, "%*s %*d %99s", line));
	g = fdopen(dup(fileno(f)), "a");
	R(fwrite(data(2, BIG), 1, BIG, g));
	R(fcloseall());
	look("text");
	P(f = popen("cat >piped", "w"));
	R(fwrite(data(3, BIG), 1, BIG, f));
	R(pclose(f));
	look("piped");
}

CASE(streams_checked, true)
{
	FILE *f = fopen("file", "w+");
	size_t (*r)(void *, size_t, size_t, size_t, FILE *) =
		call_of("__fread_chk");
	int (*p)(FILE *, int, const char *, ...) = call_of("__fprintf_chk");
	int (*d)(int, int, const char *, ...) = call_of("__dprintf_chk");
	char *(*g)(char *, size_t, int, FILE *) = call_of("__fgets_chk");
	static char to[BIG];

	R(fwrite(data(1, BIG), 1, BIG, f));
	if (p != NULL)
		R(p(f, 1, "%s %d\n", "checked", 7));
	R(fwrite(data(2, BIG), 1, BIG, f));
	R(fflush_unlocked(f));
	if (d != NULL)
		R(d(fileno(f), 1, "%s", "behind"));
	R(dprintf(fileno(f), "%s", "that"));
	rewind(f);
	if (r != NULL)
		R(r(to, BIG, 1, BIG, f));
	if (g != NULL)
		R(g(to, BIG, BIG, f) != NULL);
	say("%.20s", to);
	R(fread_unlocked(to, 1, BIG, f));
	R(feof_unlocked(f));
	R(fileno_unlocked(f) == fileno(f));
	R(fclose(f));
	look("file");
}
