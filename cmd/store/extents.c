/* SPDX-License-Identifier: BSD-3-Clause */
/* extents.c - verb extents of scr_store: where the bytes of files are, for
 * programs that read them in another way, such as RDMA. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "buf.h"
#include "error.h"
#include "io.h"
#include "json.h"
#include "path.h"
#include "report/table.h"
#include "str.h"
#include "verbs.h"

/* The NUMA node of the page at `off`; -1: unknown. */
static int
node_of(int fd, off_t off)
{
	const size_t page = (size_t)sysconf(_SC_PAGESIZE);
	const unsigned node_of_address = 1 | 2; /* get_mempolicy(2) */
	void *at = mmap(NULL, page, PROT_READ, MAP_SHARED, fd,
			off / (off_t)page * (off_t)page);
	int node = -1;

	if (at == MAP_FAILED)
		return -1;
	if (syscall(SYS_get_mempolicy, &node, NULL, 0, at, node_of_address) < 0)
		node = -1;
	munmap(at, page);
	return node;
}

static int
list(const char *file, struct table *t, struct json *all, struct error *err)
{
	struct buf real = BUF_INIT;
	struct json *extents = json_new_array(), *j = json_new_object();
	struct stat is;
	off_t at = 0, end = 0;
	int fd = io_open_read(AT_FDCWD, file, err), rc = -1;

	/* A spilled file is a link to the one that holds its bytes. */
	if (fd < 0 || path_real(file, &real, err) < 0)
		goto out;
	rc = fstat(fd, &is);
	while (rc == 0 && (at = lseek(fd, end, SEEK_DATA)) >= 0) {
		struct json *e = json_new_object();
		const int node = node_of(fd, at);

		end = lseek(fd, at, SEEK_HOLE);
		rc = end < 0 ? -1 : 0;
		json_set_u64(e, "offset", (uint64_t)at);
		json_set_u64(e, "length", (uint64_t)(end - at));
		json_set_str(e, "path", real.data);
		json_set_u64(e, "file_offset", (uint64_t)at);
		json_set_u64(e, "page", (uint64_t)is.st_blksize);
		if (node >= 0)
			json_set_u64(e, "numa_node", (uint64_t)node);
		json_push(extents, e);
		table_name(t, file);
		table_cells(t, "%jd\t%jd\t%jd\t%jd\t%s", (intmax_t)at,
			    (intmax_t)(end - at), (intmax_t)at,
			    (intmax_t)is.st_blksize,
			    node < 0 ? "?" : str_printed(16, "%d", node));
		table_name(t, real.data);
	}
	if (rc < 0 || errno != ENXIO)
		rc = error_sys(err, "%s", file);
	json_set_str(j, "path", file);
	json_set_u64(j, "size", (uint64_t)is.st_size);
	json_set(j, "extents", extents);
	json_push(all, j);
	extents = j = NULL;
out:
	json_free(extents);
	json_free(j);
	io_close(fd);
	buf_free(&real);
	return rc;
}

int
store_run_extents(const struct app_call *c)
{
	const struct opt opts[] = { OPT_END };
	struct error err = ERROR_INIT;
	struct buf text = BUF_INIT;
	struct json *all = json_new_array();
	struct table t;
	int count = 0, status = STATUS_OK;
	char **args = store_start(c, opts, &count);

	if (count == 0)
		app_usage("no file is named");
	table_start(&t, "FILE|>OFFSET|>LENGTH|>AT|>PAGE|>NODE|HELD BY");
	for (; *args != NULL; args++)
		if (list(*args, &t, all, &err) < 0)
			status = app_report(status, &err);
	table_drop_empty(&t);
	table_end(&t, 0, &text);
	app_answer_list("files", all);
	if (app_json())
		buf_free(&text);
	else
		(void)app_print(&text);
	return status;
}
