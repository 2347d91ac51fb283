/* SPDX-License-Identifier: BSD-3-Clause */
#include "arktest.h"

const struct file few[] = {
	{ "ckpt.1/rank_0", 1000 },
	{ "ckpt.1/rank_1", 0 },
	{ "ckpt.1/empty blocks", 1536 },
	{ "MANIFEST", 77 },
};

char root[128], path[140];
unsigned char *content, *back;

void
fill(size_t i, size_t size)
{
	uint32_t x = (uint32_t)i * 2654435761u + 1;

	for (size_t k = 0; k < size; k++) {
		if (k % 64 == 0)
			x = x * 1664525u + 1013904223u;
		content[k] = k % 4096 < 2048 ? (unsigned char)(x >> 24)
					     : "PK\007\010"[k % 4];
	}
	if (i == 2)
		memset(content, 0, size);
}

static struct attr
attr_number(size_t i)
{
	return (struct attr){
		.has_owner = true,
		.has_times = true,
		.mode = S_IFREG | (i % 2 ? 0640 : 0755),
		.uid = (uint32_t)(1000 + i),
		.gid = (uint32_t)(100 + i),
		.mtime = { .tv_sec = 1700000000 + (time_t)i,
			   .tv_nsec = 123456700 },
		.atime = { .tv_sec = 1600000000, .tv_nsec = 900 },
	};
}

/* --- Writing --- */

int
put(struct ark_out *out, size_t i, const struct file *f, struct error *err)
{
	const struct attr attr = attr_number(i);
	size_t at = 0, n = 0;

	fill(i, f->size);
	if (ark_out_begin(out, ARK_FILE, f->path, f->size, &attr, err) < 0)
		return -1;
	for (at = 0; at < f->size; at += n) {
		n = at % 3 == 0 ? 1 : at % 3 == 1 ? 4095 : 700000;
		n = n < f->size - at ? n : f->size - at;
		if (ark_out_data(out, content + at, n, err) < 0)
			return -1;
	}
	return ark_out_end(out, err);
}

int
write_to(int fd, enum ark_filter filter, const struct file *files, size_t count,
	 struct error *err)
{
	struct ark_out *out = ark_out_new(fd, "out", filter, 2, NULL, err);
	int rc = out != NULL ? 0 : -1;

	for (size_t i = 0; i < count && rc == 0; i++)
		if (ark_fits(files[i].path, 0, NULL) == 0)
			rc = put(out, i, &files[i], err);
	if (rc == 0)
		rc = ark_out_close(out, &(uint64_t){ 0 }, err);
	ark_out_free(out);
	return rc;
}

bool
is_left_out(enum ark_filter filter)
{
	return getenv("SCRKIT_VALGRIND") != NULL && filter != ARK_NONE;
}

void
write_archive(enum ark_filter filter, const struct file *files, size_t count)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	struct error err = ERROR_INIT;

	must(fd >= 0);
	if (write_to(fd, filter, files, count, &err) < 0)
		printf("# %s\n", err.text);
	must(err.kind == ERROR_NONE);
	close(fd);
}

/* --- Reading --- */

static bool
same_attrs(const struct attr *got, size_t i)
{
	const struct attr want = attr_number(i);

	return got->mode == want.mode && got->has_owner && got->has_times &&
	       got->uid == want.uid && got->gid == want.gid &&
	       got->mtime.tv_sec == want.mtime.tv_sec &&
	       got->mtime.tv_nsec == want.mtime.tv_nsec &&
	       got->atime.tv_sec == want.atime.tv_sec &&
	       got->atime.tv_nsec == want.atime.tv_nsec;
}

/* Read the whole entry into `back`.  Returns its length, SIZE_MAX on error. */
static size_t
read_entry(struct ark_in *in, struct error *err)
{
	size_t have = 0, got = 0;

	do {
		if (ark_in_read(in, back + have, 10 * MIB + 1 - have, &got,
				err) < 0)
			return SIZE_MAX;
		have += got;
	} while (got > 0);
	return have;
}

struct result
read_from(int fd, const struct file *files, size_t count)
{
	struct result r = { .in_order = true, .data = true, .attrs = true };
	struct ark_in *in = ark_in_new(fd, "in", NULL, &r.err);
	size_t i = 0, len = 0, fit = 0;
	struct ark_entry e;

	for (size_t at = 0; at < count; at++)
		fit += ark_fits(files[at].path, 0, NULL) == 0;
	for (; in != NULL && ark_in_next(in, &e, &r.err) > 0; i++) {
		must(path_is_clean(e.path) && e.kind == ARK_FILE);
		while (i < count && ark_fits(files[i].path, 0, NULL) < 0)
			i++;
		len = read_entry(in, &r.err);
		if (len == SIZE_MAX)
			break;
		r.count++;
		if (i >= count || strcmp(files[i].path, e.path) != 0) {
			r.in_order = false;
			continue;
		}
		fill(i, files[i].size);
		r.data = r.data && len == files[i].size && e.attr.has_size &&
			 e.attr.size == len && memcmp(back, content, len) == 0;
		r.attrs = r.attrs && same_attrs(&e.attr, i);
	}
	r.in_order = r.in_order && r.count == fit;
	ark_in_free(in);
	return r;
}

struct result
read_archive(const struct file *files, size_t count)
{
	auto_fd int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct result r;

	must(fd >= 0);
	r = read_from(fd, files, count);
	return r;
}

struct result
read_piped(const struct file *files, size_t count)
{
	FILE *f = popen(fmt("cat '%s' 2>/dev/null", path), "re");
	struct result r;

	must(f != NULL);
	r = read_from(fileno(f), files, count);
	pclose(f);
	return r;
}

bool
is_right(const struct result *r)
{
	if (r->err.kind != ERROR_NONE)
		printf("# %s\n", r->err.text);
	else if (!r->in_order || !r->data || !r->attrs)
		printf("# order %d, data %d, attributes %d\n", r->in_order,
		       r->data, r->attrs);
	return r->err.kind == ERROR_NONE && r->in_order && r->data && r->attrs;
}

bool
have(const char *tool)
{
	return system(fmt("command -v %s >/dev/null", tool)) == 0;
}

bool
run(const char *command)
{
	return system(fmt("cd '%s' && { %s; } >log 2>&1 </dev/null", root,
			  command)) == 0;
}

void
start(void)
{
	content = malloc(10 * MIB);
	back = malloc(10 * MIB + 1);
	must(content != NULL && back != NULL);
	must(signal(SIGPIPE, SIG_IGN) != SIG_ERR);
	scratch_dir(root, sizeof(root));
	snprintf(path, sizeof(path), "%s/a", root);
}
