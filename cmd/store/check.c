/* SPDX-License-Identifier: BSD-3-Clause */
/* check.c - verb check of scr_store: which calls of a program the preload does
 * not see. */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "buf.h"
#include "error.h"
#include "hostlist.h"
#include "io.h"
#include "path.h"
#include "remote/remote.h"
#include "str.h"
#include "verbs.h"

/* The functions that create, write or delete files, and how libraries begin
 * that write without libc. */
static const char functions[] =
	" open open64 __open_2 __open64_2 openat openat64 __openat_2"
	" __openat64_2 creat creat64 fopen fopen64 freopen freopen64 mkstemp"
	" mkstemp64 mkostemp mkostemp64 mkstemps mkstemps64 mkostemps"
	" mkostemps64 tmpfile tmpfile64 write pwrite pwrite64 writev pwritev"
	" pwritev64 pwritev2 pwritev64v2 fwrite fwrite_unlocked sendfile"
	" sendfile64 copy_file_range splice vmsplice aio_write aio_write64"
	" lio_listio lio_listio64 fallocate fallocate64 posix_fallocate"
	" posix_fallocate64 io_setup io_uring_queue_init unlink unlinkat remove"
	" rename renameat renameat2 ";

/* And those by which routing of checkpoint files is passed by: they take a
 * name, close descriptors, or begin MPI in another way. */
static const char routing[] =
	" link linkat symlink symlinkat chmod fchmodat chown lchown fchownat"
	" utime utimes utimensat futimesat opendir scandir scandir64 glob glob64"
	" ftw ftw64 nftw nftw64 realpath __realpath_chk canonicalize_file_name"
	" close_range closefrom fcloseall preadv preadv64"
	" MPI_Session_init ";

/* Its loader, before the program, says to which library each call goes. */
static const char script[] =
	"LD_TRACE_LOADED_OBJECTS=1 LD_WARN=yes LD_BIND_NOW=1 "
	"LD_DEBUG=bindings LD_PRELOAD=$1 exec \"$2\" \"$3\" 2>&1";

/* Get the loader of the program, "" if it is static, from untrusted bytes. */
static int
find_loader(const char *path, char to[static 256], struct error *err)
{
	const int fd = io_open_read(AT_FDCWD, path, err);
	Elf64_Ehdr eh;
	Elf64_Phdr ph;
	int rc = 0;

	if (fd < 0)
		return -1;
	to[0] = '\0';
	memset(&eh, 0, sizeof(eh));
	if (pread(fd, &eh, sizeof(eh), 0) > 2 && memcmp(&eh, "#!", 2) == 0)
		rc = error_set(err, ERROR_USAGE,
			       "%s: a script: check the program that runs it",
			       path);
	else if (memcmp(eh.e_ident, ELFMAG "\2", SELFMAG + 1) != 0)
		rc = error_set(err, ERROR_USAGE,
			       "%s: no program for this processor", path);
	for (unsigned i = 0; rc == 0 && i < eh.e_phnum; i++) {
		rc = io_pread(fd, path, &ph, sizeof(ph),
			      eh.e_phoff + i * sizeof(ph), err);
		if (rc == 0 && ph.p_type == PT_INTERP)
			rc = io_pread(fd, path, to,
				      ph.p_filesz < 255 ? ph.p_filesz : 255,
				      ph.p_offset, err);
	}
	to[255] = '\0';
	close(fd);
	/* Another one could start the program. */
	if (rc == 0 && to[0] != '\0' &&
	    !str_starts(path_base(to), "ld-linux") &&
	    !str_starts(path_base(to), "ld64.so"))
		rc = error_set(err, ERROR_USAGE, "%s: its loader %s is unknown",
			       path, str_shown(to));
	return rc;
}

/* Add a line for each library that makes such calls: "binding file CALLER [0] to
 * LIBRARY [0]: normal symbol `NAME' ...". */
static void
read_bindings(const char *text, bool routes, struct buf *out)
{
	char from[512], to[512], name[128], last[512] = "";
	const char *line = NULL;
	bool more = false;
	size_t len = 0;

	while ((line = str_line(&text, &len)) != NULL) {
		line = memmem(line, len, "binding file ", 13);
		if (line == NULL ||
		    sscanf(line,
			   "binding file %511s %*s to %511s %*s normal symbol "
			   "`%127[^']",
			   from, to, name) != 3)
			continue;
		more = more || (str_eq(name, "dlopen") &&
				!str_starts(path_base(from), "libscr_preload"));
		if (str_starts(path_base(from), "libc.") ||
		    str_starts(path_base(from), "ld") ||
		    str_starts(path_base(from), "libscr_preload") ||
		    str_starts(path_base(to), "libscr_preload") ||
		    (strstr(functions, str_printed(160, " %s ", name)) ==
			     NULL &&
		     (!routes ||
		      strstr(routing, str_printed(160, " %s ", name)) == NULL)))
			continue;
		if (!str_eq(from, last))
			buf_printf(out, "%s%s: the preload does not see",
				   last[0] != '\0' ? "\n" : "",
				   str_shown(from));
		buf_printf(out, " %s", name);
		memcpy(last, from, sizeof(last));
	}
	buf_add_str(out,
		    last[0] == '\0' ? "the preload sees all calls\n" : "\n");
	if (more)
		buf_add_str(out, "libraries that it loads while it runs were "
				 "not looked at\n");
}

int
store_run_check(const struct app_call *c)
{
	bool routes = false;
	const struct opt opts[] = {
		OPT_FLAG(0, "interpose", &routes,
			 "also calls by which routing of checkpoint files is "
			 "passed by"),
		OPT_END,
	};
	const struct remote_options o = { .kind = REMOTE_LOCAL,
					  .limit = 60,
					  .keep = (size_t)64 << 20,
					  .stop = app_stop };
	const char *names[] = { "localhost" };
	const struct hostlist here = { .names = names, .count = 1 };
	struct remote_result is = { .status = 0 };
	char preload[PATH_MAX], path[PATH_MAX] = "", loader[256];
	const char *argv[] = { "sh",	"-c",	script, "sh",
			       preload, loader, path,	NULL };
	struct error err = ERROR_INIT;
	struct buf out = BUF_INIT;
	struct stat st;
	int count = 0;
	char **args = store_start(c, opts, &count);

	if (count != 1)
		app_usage("give one program");
	if (!remote_look_up(args[0], path) || stat(path, &st) < 0)
		error_set(&err, ERROR_ABSENT, "%s: no such program", args[0]);
	else if (store_preload(preload, &err) &&
		 find_loader(path, loader, &err) == 0) {
		if (loader[0] == '\0')
			buf_add_str(&out, "static: all calls pass by\n");
		else if ((st.st_mode & (S_ISUID | S_ISGID)) != 0)
			buf_add_str(&out, "with rights of its owner: all calls "
					  "pass by\n");
		else if (remote_run(&here, argv, &o, &is, &err) == 0 &&
			 is.status != 0)
			error_set(&err, ERROR_SYSTEM,
				  "%s: its libraries cannot be found: ldd %s",
				  path, path);
		else if (err.kind == ERROR_NONE)
			read_bindings(is.out.data, routes, &out);
	}
	remote_result_free(&is);
	return app_report(app_print(&out), &err);
}
