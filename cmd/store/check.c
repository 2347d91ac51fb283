/* SPDX-License-Identifier: BSD-3-Clause */
/* check.c - verb check of scr_store: which calls of a program the preload does
 * not see. */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "buf.h"
#include "error.h"
#include "io.h"
#include "json.h"
#include "path.h"
#include "remote/remote.h"
#include "report/table.h"
#include "run/child.h"
#include "str.h"
#include "verbs.h"

/* The functions of libc that create, write or delete files, and how libraries
 * begin that write past libc. */
static struct function {
	const char *name, *kind;
	bool seen;	    /* by the preload */
	struct buf callers; /* of those that it does not see */
} functions[] = {
#define CREATES(name) \
	{ \
		name, "creates", false, BUF_INIT \
	}
#define WRITES(name) \
	{ \
		name, "writes", false, BUF_INIT \
	}
#define DELETES(name) \
	{ \
		name, "deletes", false, BUF_INIT \
	}
	CREATES("open"),
	CREATES("open64"),
	CREATES("__open_2"),
	CREATES("__open64_2"),
	CREATES("openat"),
	CREATES("openat64"),
	CREATES("__openat_2"),
	CREATES("__openat64_2"),
	CREATES("creat"),
	CREATES("creat64"),
	CREATES("fopen"),
	CREATES("fopen64"),
	CREATES("freopen"),
	CREATES("freopen64"),
	CREATES("mkstemp"),
	CREATES("mkstemp64"),
	CREATES("mkostemp"),
	CREATES("mkostemp64"),
	CREATES("mkstemps"),
	CREATES("mkstemps64"),
	CREATES("mkostemps"),
	CREATES("mkostemps64"),
	CREATES("tmpfile"),
	CREATES("tmpfile64"),
	WRITES("write"),
	WRITES("pwrite"),
	WRITES("pwrite64"),
	WRITES("writev"),
	WRITES("pwritev"),
	WRITES("pwritev64"),
	WRITES("pwritev2"),
	WRITES("pwritev64v2"),
	WRITES("fwrite"),
	WRITES("fwrite_unlocked"),
	WRITES("sendfile"),
	WRITES("sendfile64"),
	WRITES("copy_file_range"),
	WRITES("splice"),
	WRITES("vmsplice"),
	WRITES("aio_write"),
	WRITES("aio_write64"),
	WRITES("lio_listio"),
	WRITES("lio_listio64"),
	WRITES("fallocate"),
	WRITES("fallocate64"),
	WRITES("posix_fallocate"),
	WRITES("posix_fallocate64"),
	WRITES("io_uring_queue_init"),
	WRITES("io_setup"),
	DELETES("unlink"),
	DELETES("unlinkat"),
	DELETES("remove"),
	DELETES("rename"),
	DELETES("renameat"),
	DELETES("renameat2"),
};
#define FUNCTIONS (sizeof(functions) / sizeof(functions[0]))

/* --- ELF files, as untrusted bytes --- */

struct image {
	const char *path;
	unsigned char *data;
	size_t size;
	bool interpreted; /* a program that is not static */
};

/* Copy `n` bytes at `at`.  False: beyond the end. */
static bool
get(const struct image *im, uint64_t at, void *to, size_t n)
{
	if (at > im->size || n > im->size - at)
		return false;
	memcpy(to, im->data + at, n);
	return true;
}

/* Call fn() for each dynamic symbol.  False: not a whole ELF file of this kind
 * of machine. */
static bool
each_symbol(struct image *im,
	    void (*fn)(const struct image *im, const char *name, bool defined))
{
	Elf64_Ehdr eh;
	Elf64_Phdr ph;
	Elf64_Shdr sh, text;
	Elf64_Sym sym;

	if (!get(im, 0, &eh, sizeof(eh)) ||
	    memcmp(eh.e_ident, ELFMAG, SELFMAG) != 0 ||
	    eh.e_ident[EI_CLASS] != ELFCLASS64 ||
	    eh.e_ident[EI_DATA] != (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
					    ? ELFDATA2LSB
					    : ELFDATA2MSB))
		return false;
	for (unsigned i = 0; i < eh.e_phnum; i++) {
		if (!get(im, eh.e_phoff + i * sizeof(ph), &ph, sizeof(ph)))
			return false;
		im->interpreted = im->interpreted || ph.p_type == PT_INTERP;
	}
	for (unsigned i = 0; i < eh.e_shnum; i++) {
		if (!get(im, eh.e_shoff + i * sizeof(sh), &sh, sizeof(sh)))
			return false;
		if (sh.sh_type != SHT_DYNSYM)
			continue;
		if (!get(im, eh.e_shoff + sh.sh_link * sizeof(sh), &text,
			 sizeof(text)))
			return false;
		for (uint64_t n = 0; n < sh.sh_size / sizeof(sym); n++) {
			const char *name = NULL;
			uint64_t at = 0;

			if (!get(im, sh.sh_offset + n * sizeof(sym), &sym,
				 sizeof(sym)))
				return false;
			at = text.sh_offset + sym.st_name;
			if (at >= im->size ||
			    memchr(im->data + at, '\0', im->size - at) == NULL)
				return false;
			name = (const char *)im->data + at;
			fn(im, name, sym.st_shndx != SHN_UNDEF);
		}
	}
	return true;
}

/* The same for the file `path`; im->data ends here. */
static bool
each_symbol_of(struct image *im,
	       void (*fn)(const struct image *im, const char *name,
			  bool defined),
	       struct error *err)
{
	const int fd = io_open_read(AT_FDCWD, im->path, err);
	struct stat is;
	bool good = false;

	if (fd < 0)
		return false;
	if (fstat(fd, &is) == 0 && is.st_size > 0)
		im->data = mmap(NULL, (size_t)is.st_size, PROT_READ,
				MAP_PRIVATE, fd, 0);
	close(fd);
	if (im->data != NULL && im->data != MAP_FAILED) {
		im->size = (size_t)is.st_size;
		good = each_symbol(im, fn);
		munmap(im->data, im->size);
	}
	if (!good)
		error_set(err, ERROR_CORRUPT,
			  "%s: not a program of this kind of machine",
			  str_shown(im->path));
	return good;
}

/* --- Names --- */

static struct function *
find(const char *name)
{
	for (size_t i = 0; i < FUNCTIONS; i++)
		if (str_eq(functions[i].name, name))
			return &functions[i];
	return NULL;
}

static void
note_seen(const struct image *im, const char *name, bool defined)
{
	struct function *f = defined ? find(name) : NULL;

	(void)im;
	if (f != NULL)
		f->seen = true;
}

static bool loads_more; /* one of them calls dlopen() */

static void
note_caller(const struct image *im, const char *name, bool defined)
{
	struct function *f = defined ? NULL : find(name);

	loads_more = loads_more || (!defined && str_eq(name, "dlopen"));
	if (f != NULL && !f->seen)
		buf_printf(&f->callers, "%s%s", f->callers.len > 0 ? " " : "",
			   str_shown(path_base(im->path)));
}

/* The libraries as the program's own loader finds them, which `path` names: it
 * is started, and ends before its first instruction. */
static int
each_library(const char *path, struct error *err)
{
	static const char *const own[] = { "libc.so.", "libpthread.so.", "ld-",
					   "libscr_preload.so" };
	const char *argv[] = { path, NULL }, *text = NULL, *line = NULL;
	struct run_child child = RUN_CHILD_INIT;
	struct run_signals signals = { .fd = -1 };
	struct run_signal got;
	size_t len = 0;
	int rc = 0;

	(void)setenv("LD_TRACE_LOADED_OBJECTS", "1", 1);
	rc = run_signals_open(&signals, err);
	if (rc == 0)
		rc = run_child_start(&child, argv, RUN_CHILD_ASK, &signals,
				     err);
	while (rc == 0 && !run_child_poll(&child))
		if (run_child_wait(&signals, &child, 1, &got))
			run_child_kill(&child, SIGKILL);
	run_signals_close(&signals);
	(void)unsetenv("LD_TRACE_LOADED_OBJECTS");
	text = child.said.data;
	while (rc == 0 && (line = str_line(&text, &len)) != NULL) {
		char file[PATH_MAX];
		const char *at = memmem(line, len, "=> /", 4);
		struct image im = { .path = file };
		bool skip = at == NULL;

		if (memmem(line, len, "not found", 9) != NULL)
			rc = error_set(err, ERROR_ABSENT, "%s: %.*s", path,
				       (int)len, line);
		if (skip)
			continue;
		snprintf(file, sizeof(file), "%.*s",
			 (int)strcspn(at + 3, " \n"), at + 3);
		for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++)
			skip = skip || str_starts(path_base(file), own[i]);
		if (!skip && !each_symbol_of(&im, note_caller, err))
			rc = -1;
	}
	run_child_free(&child);
	return rc;
}

/* --- The verb --- */

static int
report(const char *path, const char *kind)
{
	struct table t = { .arena = NULL };
	struct json *j = json_new_object(), *list = json_new_array();
	struct buf out = BUF_INIT;
	size_t count = 0;

	table_start(&t, "FUNCTION|FILES|CALLED BY");
	for (size_t i = 0; i < FUNCTIONS; i++) {
		struct function *f = &functions[i];
		struct json *one = NULL;

		if (f->callers.len == 0)
			continue;
		count++;
		table_cells(&t, "%s\t%s\t%s", f->name, f->kind,
			    f->callers.data);
		one = json_new_object();
		json_set_str(one, "function", f->name);
		json_set_str(one, "files", f->kind);
		json_set_str(one, "callers", f->callers.data);
		json_push(list, one);
		buf_free(&f->callers);
	}
	json_set_str(j, "program", path);
	json_set_str(j, "kind", kind);
	json_set_bool(j, "loads_more", loads_more);
	json_set(j, "passes_by", list);
	if (!str_eq(kind, "dynamic"))
		buf_printf(&out, "%s: %s: all its calls pass by the store\n",
			   str_shown(path), kind);
	else
		buf_printf(&out, "%s: %zu %s that the preload does not see\n",
			   str_shown(path), str_count(count, "function"));
	if (loads_more)
		buf_add_str(&out, "libraries that it loads while it runs were "
				  "not looked at\n");
	table_drop_empty(&t);
	table_end(&t, 0, &out);
	if (app_json())
		app_answer(j);
	else
		(void)app_print(&out);
	buf_free(&out);
	return STATUS_OK;
}

int
store_run_check(const struct store_call *c)
{
	const struct opt opts[] = { OPT_END };
	char preload[PATH_MAX], path[PATH_MAX], start[256] = "";
	struct image ours = { .path = preload }, im = { .path = path };
	struct error err = ERROR_INIT;
	const char *kind = "static";
	struct stat is;
	int count = 0, fd = -1;
	char **args = store_start(c, opts, &count);

	if (count != 1)
		app_usage("give one program");
	if (!remote_look_up(args[0], path)) {
		error_set(&err, ERROR_ABSENT, "%s: no such program", args[0]);
		return app_report(STATUS_OK, &err);
	}
	fd = io_open_read(AT_FDCWD, path, &err);
	if (fd >= 0 && pread(fd, start, sizeof(start) - 1, 0) > 2 &&
	    str_starts(start, "#!")) {
		start[strcspn(start, "\n")] = '\0';
		error_set(&err, ERROR_USAGE,
			  "%s: a script: check its interpreter: "
			  "scr_store check %s",
			  path, start + 2 + strspn(start + 2, " "));
	}
	io_close(fd);
	if (err.kind == ERROR_NONE && store_preload(preload, &err) &&
	    each_symbol_of(&ours, note_seen, &err) &&
	    each_symbol_of(&im, note_caller, &err)) {
		if (im.interpreted && stat(path, &is) == 0 &&
		    (is.st_mode & (S_ISUID | S_ISGID)) != 0)
			kind = "with rights of its owner";
		else if (im.interpreted)
			kind = "dynamic";
		if (!im.interpreted || each_library(path, &err) == 0)
			return report(path, kind);
	}
	return app_report(STATUS_OK, &err);
}
