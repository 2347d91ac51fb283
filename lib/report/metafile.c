/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * metafile.c - recognize, read and print metadata files.
 */
#include "report/metafile.h"

#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "error.h"
#include "io.h"
#include "json.h"
#include "kvtree/kvtree.h"
#include "mem.h"
#include "meta/log.h"
#include "meta/redset.h"
#include "path.h"
#include "str.h"

/* Larger logs are rejected. */
#define LOG_MAX ((size_t)256 << 20)

/* Bytes read of a file with a damaged kvtree header, to report the damage. */
#define PROBE_BYTES ((uint64_t)4096)

/* --- Reading --- */

int
metafile_read(const char *path, struct metafile *out, struct error *err)
{
	/* How a kvtree file starts (kvtree(5)). */
	static const unsigned char magic[4] = { 0x95, 0x1f, 0xc3, 0xf5 };
	unsigned char head[KVTREE_HEADER_SIZE];
	const int fd = io_open_read(AT_FDCWD, path, err);
	struct redset_name n;
	struct buf raw = BUF_INIT;
	struct log_line l;
	struct stat st;
	uint64_t size = 0;
	size_t stem = 0, len = 0, want = 0, used = 0;
	bool good = false;

	*out = (struct metafile){ .text = BUF_INIT };
	if (fd < 0)
		return -1;
	out->redundancy =
		redset_name_parse(path_base(path), &n, &stem) && !n.descriptor;
	if (fstat(fd, &st) < 0) {
		error_sys(err, "%s: cannot look", path);
		goto out;
	}
	size = (uint64_t)st.st_size;
	len = size < sizeof(head) ? (size_t)size : sizeof(head);
	if (io_pread(fd, path, head, len, 0, err) < 0)
		goto out;
	if (len >= sizeof(magic) && memcmp(head, magic, sizeof(magic)) == 0) {
		/* The image of the tree only: the body after it can be huge. */
		if (len < KVTREE_HEADER_SIZE ||
		    kvtree_peek(head, len, &want, NULL) < 0)
			want = PROBE_BYTES;
		if (want > size)
			want = (size_t)size;
		buf_reserve(&raw, want + 1);
		if (io_pread(fd, path, raw.data, want, 0, err) < 0)
			goto out;
		out->tree = kvtree_decode(raw.data, want, &used, err);
		good = out->tree != NULL;
		if (!good)
			error_wrap(err, "%s", path);
		out->image = used;
		out->trailing = size - used;
		goto out;
	}
	if (size > 0 && size <= LOG_MAX) {
		if (io_read_fd(fd, path, LOG_MAX, &out->text, err) < 0)
			goto out;
		/* Does it begin with a line of a log? (scr_env(1)) */
		if (out->text.data != NULL)
			len = strcspn(out->text.data, "\n");
		good = len > 0 && len <= LOG_LINE_MAX &&
		       memchr(out->text.data, '\0', out->text.len) == NULL &&
		       log_parse(str_printed(LOG_LINE_MAX + 1, "%.*s", (int)len,
					     out->text.data),
				 &l, NULL) == 0;
	}
	if (!good)
		error_set(err, ERROR_CORRUPT,
			  "%s: %s: neither a kvtree file (which starts with "
			  "the bytes 95 1f c3 f5) nor the log of a job",
			  path, size == 0 ? "empty" : "not metadata of SCR");
out:
	close(fd);
	buf_free(&raw);
	if (!good)
		metafile_fini(out);
	return good ? 0 : -1;
}

void
metafile_fini(struct metafile *f)
{
	kvtree_free(f->tree);
	buf_free(&f->text);
	f->tree = NULL;
}

/* --- Text --- */

int
metafile_print(struct metafile *f, const struct metafile_options *o,
	       struct buf *out, struct error *err)
{
	struct buf text = BUF_INIT, line = BUF_INIT;
	const char *from = f->text.data, *at = NULL;
	size_t len = 0;

	if (f->tree != NULL && o->sort && kvtree_sort(f->tree, err) < 0)
		return -1;
	if (f->tree != NULL &&
	    kvtree_print(f->tree, o->tree ? KVTREE_TREE : KVTREE_KEYVAL, &text,
			 err) < 0) {
		buf_free(&text);
		return -1;
	}
	if (f->tree != NULL)
		from = text.data;
	if (!o->terminal && from != NULL)
		buf_add_str(out, from);
	/* Without control characters that could drive a terminal. */
	while (o->terminal && (at = str_line(&from, &len)) != NULL) {
		buf_clear(&line);
		buf_add(&line, at, len);
		buf_reserve(out, 4 * len + 1);
		str_printable(out->data + out->len, 4 * len + 1, line.data);
		out->len += strlen(out->data + out->len);
		buf_add_char(out, '\n');
	}
	if (f->redundancy && f->tree != NULL && !o->exact)
		buf_printf(out, "  (then %" PRIu64 " bytes of redundancy)\n",
			   f->trailing);
	buf_free(&text);
	buf_free(&line);
	return 0;
}

/* --- JSON --- */

/* An empty text is one, too. */
static void
set_text(struct json *j, const char *key, const char *value)
{
	if (value != NULL)
		json_set_str(j, key, value);
}

struct json *
metafile_json(const struct metafile *f, const char *path)
{
	struct json *j = json_new_object(), *lines = NULL, *k = NULL;
	char *copy = NULL, *rest = NULL, *line = NULL;
	struct log_line l;

	json_set_str(j, "file", path);
	if (f->tree == NULL) {
		copy = rest = mem_strdup(f->text.data);
		lines = json_new_array();
		while (rest != NULL && *rest != '\0') {
			line = strsep(&rest, "\n");
			k = json_new_object();
			if (log_parse(line, &l, NULL) < 0) {
				json_set_str(k, "unparsed", line);
				json_push(lines, k);
				continue;
			}
			json_set_time(k, "time", l.time);
			set_text(k, "host", l.host);
			set_text(k, "job_id", l.job_id);
			set_text(k, "event", l.event);
			set_text(k, "transfer", l.xfer);
			set_text(k, "note", l.note);
			set_text(k, "name", l.name);
			set_text(k, "from", l.from);
			set_text(k, "to", l.to);
			json_set_known_i64(k, "id", l.dataset);
			json_set_known_i64(k, "process_count", l.procs);
			json_set_known_i64(k, "node_count", l.nodes);
			json_set_known_i64(k, "file_count", l.files);
			if (l.secs >= 0)
				json_set_real(k, "seconds", l.secs);
			if (l.bytes >= 0)
				json_set_i64(k, "bytes", (int64_t)l.bytes);
			json_push(lines, k);
		}
		mem_free(copy);
		json_set_str(j, "format", "log");
		json_set(j, "lines", lines);
		return j;
	}
	json_set_str(j, "format", f->redundancy ? "redundancy" : "kvtree");
	json_set_u64(j, "image_bytes", f->image);
	json_set_u64(j, f->redundancy ? "body_bytes" : "trailing_bytes",
		     f->trailing);
	json_set(j, "tree", kvtree_json(f->tree));
	return j;
}
