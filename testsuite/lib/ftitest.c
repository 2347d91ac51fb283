/* SPDX-License-Identifier: BSD-3-Clause */
#include "ftitest.h"

#include "fti/draft.h"

#include "fti/name.h"
#include "ftibytes.h"
#include "hash.h"
#include "metatest.h"
#include "puttest.h"

const char *
ftitest_root(void)
{
	const char *golden = getenv("SCRKIT_GOLDEN");
	const char *root = golden != NULL ? fmt("%s/fti", golden) : NULL;

	return root != NULL && exists(root) ? root : NULL;
}

/* --- The golden files --- */

static bool
is_ff_set(const char *set)
{
	static const char *const sets[] = {
		"seed7-", "levels-", "dcp-F/",
		"icp-F/", "head-F/", "keeplast-F/"
	};

	each (s, sets)
		if (strncmp(set, *s, strlen(*s)) == 0)
			return strncmp(set, "seed7-realsize", 14) != 0;
	return false;
}

/* Is this such a data file?  `set`: the part of `path` below the root. */
static bool
golden_file(struct ftitest_golden *g, const char *path, const char *set)
{
	const struct fti_name n = fti_name_parse(base_name(path));
	const char *dir = strstr(set, "/ckpt");

	if (!is_ff_set(set) ||
	    (n.kind != FTI_NAME_RANK && n.kind != FTI_NAME_DCP))
		return false;
	*g = (struct ftitest_golden){ .ckpt = n.id, .rank = n.rank };
	if (n.kind == FTI_NAME_DCP && dir != NULL)
		g->ckpt = (uint32_t)atoi(dir + 5);
	if (strncmp(set, "head-F/", 7) == 0) /* one of three is a head */
		g->rank = n.rank / 3 * 2 + n.rank % 3 - 1;
	g->path = mem_strdup(path);
	g->set = mem_strdup(fmt("%.*s", (int)(strchr(set, '/') - path), path));
	must(g->path != NULL && g->set != NULL);
	return true;
}

size_t
ftitest_list(struct ftitest_golden **out)
{
	const char *root = ftitest_root();
	size_t n = 0;

	*out = NULL;
	if (root == NULL)
		return 0;
	must(find_files(root));
	*out = mem_calloc(found.count + 1, sizeof(**out));
	must(*out != NULL);
	for (size_t i = 0; i < found.count; i++)
		n += golden_file(&(*out)[n], found.paths[i],
				 found.paths[i] + strlen(root) + 1);
	forget_files();
	return n;
}

void
ftitest_free(struct ftitest_golden *list, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		mem_free((void *)(uintptr_t)list[i].path);
		mem_free((void *)(uintptr_t)list[i].set);
	}
	mem_free(list);
}

/* --- EXPECTED.tsv --- */

struct row {
	uint32_t ckpt, rank;
	int32_t var;
	uint64_t size;
	char sum[HASH_TEXT];
};

/* The rows of the set that was asked for last. */
static struct row rows[1024];
static size_t nrows;
static char rows_of[1024];

static void
read_rows(const char *set)
{
	struct buf text = BUF_INIT;
	char *save = NULL;

	if (strcmp(rows_of, set) == 0)
		return;
	snprintf(rows_of, sizeof(rows_of), "%s", set);
	nrows = 0;
	read_whole(fmt("%s/EXPECTED.tsv", set), &text);
	must(buf_add_char(&text, '\0') == 0);
	for (char *line = strtok_r(text.data, "\n", &save); line != NULL;
	     line = strtok_r(NULL, "\n", &save)) {
		struct row *r = &rows[nrows];

		must(nrows + 1 < COUNT(rows));
		nrows += sscanf(line,
				"%" SCNu32 "%" SCNu32 "%" SCNd32 "%" SCNu64
				" %64s",
				&r->ckpt, &r->rank, &r->var, &r->size,
				r->sum) == 5;
	}
	buf_free(&text);
	must(nrows > 0);
}

size_t
ftitest_vars(const struct ftitest_golden *g)
{
	size_t n = 0;

	read_rows(g->set);
	for (size_t i = 0; i < nrows; i++)
		n += rows[i].ckpt == g->ckpt && rows[i].rank == g->rank;
	return n;
}

/* Read in steps of an odd size, so that they cross the ends of pieces. */
static void
sum_var(const struct fti_content *c, const struct fti_content_var *v, char *to)
{
	auto_hash *h = hash_new(HASH_SHA256, NULL);
	char step[1021];

	must(h != NULL);
	for (uint64_t off = 0; off < v->size;) {
		const size_t n = v->size - off < sizeof(step)
					 ? (size_t)(v->size - off)
					 : sizeof(step);

		must(fti_content_read(c, v, step, n, off, NULL) == 0);
		must(hash_update(h, step, n, NULL) == 0);
		off += n;
	}
	must(hash_text(h, to, NULL) == 0);
}

bool
ftitest_holds(const struct fti_content *c, const struct ftitest_golden *g,
	      size_t *count)
{
	bool good = true;

	*count = 0;
	read_rows(g->set);
	for (const struct row *r = rows; r < rows + nrows; r++) {
		const struct fti_content_var *v = NULL;
		char sum[HASH_TEXT] = "";

		if (r->ckpt != g->ckpt || r->rank != g->rank)
			continue;
		v = fti_content_var(c, r->var);
		if (v == NULL)
			continue;
		if (v->size == r->size)
			sum_var(c, v, sum);
		if (strcmp(r->sum, sum) != 0) {
			printf("# %s: checkpoint %" PRIu32 ", rank %" PRIu32
			       ", variable %" PRId32 "\n",
			       g->set, g->ckpt, g->rank, r->var);
			good = false;
		}
		++*count;
	}
	return good;
}

/* --- Files --- */

void
ftitest_open(struct ftitest *t, const char *path)
{
	*t = (struct ftitest){ .path = mem_strdup(path) };
	must(t->path != NULL &&
	     fti_source_open(&t->source, AT_FDCWD, t->path, NULL) == 0);
	t->checked.source = &t->source;
	t->checked.file = fti_file_read(&t->source, FTI_LAYOUTS, NULL);
	must(t->checked.file != NULL &&
	     fti_check(&t->checked, 1, true, NULL, NULL) == 0);
	if (t->checked.file->usable)
		must(fti_content_file(&t->content, t->checked.file, &t->source,
				      NULL) == 0);
}

void
ftitest_close(struct ftitest *t)
{
	fti_content_fini(&t->content);
	fti_checked_fini(&t->checked);
	fti_file_free(t->checked.file);
	fti_source_close(&t->source);
	mem_free(t->path);
}

int
ftitest_write(struct fti_draft *d, const char *name, bool replace,
	      struct error *err)
{
	const struct fti_job job = { .draft = d,
				     .dirfd = puttest_fd,
				     .path = name,
				     .replace = replace };
	const int rc = fti_write(&job, 1, NULL, err);

	fti_draft_fini(d);
	return rc;
}

int
ftitest_pack(const struct fti_raw *raw, size_t count, unsigned room,
	     enum fti_layout layout, const char *name, struct error *err)
{
	struct fti_draft d;

	if (fti_describe_pack(&d, raw, count, room, layout, err) < 0) {
		fti_draft_fini(&d);
		return -1;
	}
	d.ckpt_id = 1;
	return ftitest_write(&d, name, true, err);
}

/* --- Files in memory --- */

void
ftitest_image(struct fti_draft *d, struct buf *out)
{
	const struct fti_format *format = fti_format(d->layout);
	unsigned char meta[FTI_META_MAX];

	must(fti_sum(d, NULL, NULL) == 0);
	buf_clear(out);
	must(buf_reserve(out, (size_t)d->size + 1) == 0);
	memset(out->data, 0, (size_t)d->size);
	out->len = (size_t)d->size;
	for (size_t i = 0; i < d->ncontainers; i++) {
		const struct fti_draft_container *c = &d->containers[i];

		if (c->c.used == 0)
			continue; /* it may begin beyond the variable */
		must(fti_content_read(c->content, c->var, out->data + c->c.fptr,
				      (size_t)c->c.used, c->c.dptr, NULL) == 0);
	}
	for (size_t b = 0; b < d->nblocks; b++)
		fti_draft_records(d, b,
				  (unsigned char *)out->data + d->blocks[b].at);
	fti_record_write(d->layout, FTI_META, &d->meta, meta);
	memcpy(out->data + (format->footer ? d->size - format->meta : 0), meta,
	       format->meta);
}
