/* SPDX-License-Identifier: BSD-3-Clause */
#include "posixtest.h"

#include <inttypes.h>

#include "fti/content.h"
#include "fti/posix.h"
#include "ftibytes.h"
#include "hash.h"
#include "metatest.h"
#include "scratch.h"

bool
posixtest_enter(const char *what)
{
	const char *golden = getenv("SCRKIT_GOLDEN");

	if (golden != NULL && chdir(golden) == 0 && chdir("fti") == 0)
		return true;
	skip(what, "SCRKIT_GOLDEN is not set, or has no fti");
	return false;
}

const char *
posixtest_path(const char *dir, const char *name)
{
	for (size_t i = 0; i < found.count; i++)
		if (str_starts(found.paths[i], dir) &&
		    str_eq(base_name(found.paths[i]), name))
			return found.paths[i];
	return NULL;
}

/* Read in steps of an odd size, so that they cross the ends of pieces. */
static void
sum_var(const struct fti_content *c, const struct fti_content_var *v, char *to)
{
	struct hash *h = hash_new(HASH_SHA256, NULL);
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
	hash_free(h);
}

size_t
posixtest_holds(const struct fti_content *c, const char *set, uint32_t ckpt,
		uint32_t rank, bool some)
{
	struct buf text = BUF_INIT;
	const char *next = NULL, *line = NULL;
	size_t len = 0, count = 0;
	bool good = true;

	read_whole(fmt("%s/EXPECTED.tsv", set), &text);
	next = text.data;
	while ((line = str_line(&next, &len)) != NULL) {
		const struct fti_content_var *v = NULL;
		uint32_t id = 0, r = 0;
		int32_t var = 0;
		uint64_t size = 0;
		char want[HASH_TEXT], is[HASH_TEXT];

		if (sscanf(line,
			   "%" SCNu32 " %" SCNu32 " %" SCNd32 " %" SCNu64
			   " %64s",
			   &id, &r, &var, &size, want) != 5 ||
		    id != ckpt || r != rank)
			continue;
		v = fti_content_var(c, var);
		if (v == NULL && some)
			continue;
		if (v != NULL && v->size == size)
			sum_var(c, v, is);
		if (v == NULL || v->size != size || !str_eq(is, want)) {
			printf("# %s: checkpoint %" PRIu32 ", rank %" PRIu32
			       ", variable %" PRId32 "\n",
			       set, ckpt, rank, var);
			good = false;
		}
		count++;
	}
	buf_free(&text);
	return good ? count : 0;
}

bool
posixtest_prints(const struct fti_posix *p, const char *path)
{
	struct buf was = BUF_INIT, is = BUF_INIT;
	bool same = false;

	read_whole(path, &was);
	same = fti_posix_print(p, &is, NULL) == 0 && was.len == is.len &&
	       memcmp(was.data, is.data, is.len) == 0;
	buf_free(&was);
	buf_free(&is);
	return same;
}
