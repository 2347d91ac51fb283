/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * t_patterns.c - golden datasets of the real programs lose every combination of
 * ranks.  If the scheme tolerates the loss, all files are restored bit for bit,
 * with mode, owner and times.  If not, the error names the set and the ranks,
 * and no file changes.
 */
#include <fcntl.h>
#include <ftw.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "buf.h"
#include "error.h"
#include "io.h"
#include "mem.h"
#include "par.h"
#include "planat.h"
#include "rescue/plan.h"
#include "rescue/rebuild.h"
#include "tap.h"
#include "work.h"

#define FILES_MAX 200
#define RANKS_MAX 8

/* An expected file in memory. */
struct entry {
	char path[512]; /* below the scratch directory */
	struct buf data;
	int rank; /* owner; -1: none */
};

static struct entry tree[FILES_MAX];
static size_t ntree;
static char scratch[64];
static struct par *par;

/* --- Trees --- */

/* The rank in ".../filemap_3", "reddesc.er.3.xor...", "rank_3.ckpt", "data file
 * 3.bin", "tiny_3", "rank_3/a_3.dat"; -1: none. */
static int
rank_of(const char *path)
{
	static const char *const marks[] = {
		"filemap_", ".er.",  "rank_", "data file ",
		"tiny_",    "/red.", "/a_",   "/b ",
	};

	for (size_t i = 0; i < sizeof(marks) / sizeof(marks[0]); i++) {
		const char *at = strstr(path, marks[i]);

		if (at != NULL && at[strlen(marks[i])] >= '0' &&
		    at[strlen(marks[i])] <= '9')
			return at[strlen(marks[i])] - '0';
	}
	return -1;
}

static const char *walk_root;

static int
load_one(const char *path, const struct stat *st, int flag, struct FTW *ftw)
{
	struct entry *e = &tree[ntree];
	size_t skip = strlen(walk_root) + 1;

	(void)st;
	(void)ftw;
	if (flag != FTW_F)
		return 0;
	for (size_t i = 0; i < ntree; i++)
		if (strcmp(tree[i].path, path + skip) == 0)
			return 0;
	if (ntree == FILES_MAX || strlen(path + skip) >= sizeof(e->path))
		return -1;
	snprintf(e->path, sizeof(e->path), "%s", path + skip);
	e->rank = rank_of(e->path);
	if (io_read_file(AT_FDCWD, path, 1 << 24, &e->data, NULL) < 0)
		return -1;
	ntree++;
	return 0;
}

static int
load(const char *dir)
{
	walk_root = dir;
	return nftw(dir, load_one, 16, FTW_PHYS);
}

/* Load files left out of a snapshot to save space: "path TAB path of the same
 * file". */
static int
load_dedup(const char *golden, const char *item)
{
	char name[2048], from[2048];
	struct buf list = BUF_INIT;
	int rc = 0;

	snprintf(name, sizeof(name), "%s/%s.dedup.txt", golden, item);
	if (io_read_file(AT_FDCWD, name, 1 << 20, &list, NULL) < 0)
		return 0;
	for (char *line = strtok(list.data, "\n"); line != NULL && rc == 0;
	     line = strtok(NULL, "\n")) {
		char *tab = strchr(line, '\t');
		struct entry *e = &tree[ntree];

		if (tab == NULL || ntree == FILES_MAX)
			continue;
		*tab = '\0';
		if (strncmp(line, "prefix/", 7) != 0)
			continue;
		snprintf(e->path, sizeof(e->path), "%s", line + 7);
		e->rank = rank_of(e->path);
		snprintf(from, sizeof(from), "%s/%s", golden, tab + 1);
		rc = io_read_file(AT_FDCWD, from, 1 << 24, &e->data, NULL);
		ntree += rc == 0;
	}
	buf_free(&list);
	return rc;
}

static void
forget(void)
{
	for (size_t i = 0; i < ntree; i++)
		buf_free(&tree[i].data);
	ntree = 0;
}

static void
full_path(char *to, size_t size, const struct entry *e)
{
	snprintf(to, size, "%s/t/%.*s", scratch, (int)sizeof(e->path), e->path);
}

static void
put(const struct entry *e)
{
	char path[1024];
	FILE *f = NULL;

	full_path(path, sizeof(path), e);
	for (char *p = path + strlen(scratch) + 1; (p = strchr(p, '/')); p++) {
		*p = '\0';
		(void)mkdir(path, 0777);
		*p = '/';
	}
	f = fopen(path, "w");
	if (f != NULL && e->data.len > 0)
		(void)fwrite(e->data.data, 1, e->data.len, f);
	if (f != NULL)
		fclose(f);
}

static int
remove_one(const char *path, const struct stat *st, int flag, struct FTW *ftw)
{
	(void)st;
	(void)flag;
	(void)ftw;
	return remove(path);
}

static void
remove_tree(void)
{
	(void)nftw(scratch, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

/* Is every file of a rank that is not lost unchanged; and, if `everything`, are
 * those of lost ranks, too? */
static bool
compare(unsigned lost, bool everything)
{
	struct buf have = BUF_INIT;
	char path[1024];
	bool same = true;

	for (size_t i = 0; i < ntree; i++) {
		const struct entry *e = &tree[i];
		bool gone = e->rank >= 0 && lost >> e->rank & 1 && !everything;

		full_path(path, sizeof(path), e);
		if (gone) {
			same &= access(path, F_OK) < 0;
			continue;
		}
		buf_clear(&have);
		if (io_read_file(AT_FDCWD, path, 1 << 24, &have, NULL) < 0 ||
		    have.len != e->data.len ||
		    (have.len > 0 &&
		     memcmp(have.data, e->data.data, have.len) != 0)) {
			if (same)
				printf("# differs: %s\n", e->path);
			same = false;
		}
	}
	buf_free(&have);
	return same;
}

static size_t counted;

static int
count_one(const char *path, const struct stat *st, int flag, struct FTW *ftw)
{
	(void)path;
	(void)st;
	(void)ftw;
	counted += flag == FTW_F;
	return 0;
}

static size_t
count_files(void)
{
	counted = 0;
	(void)nftw(scratch, count_one, 16, FTW_PHYS);
	return counted;
}

/* --- Patterns --- */

struct scheme {
	enum redset_type type;
	unsigned ranks, sets; /* rank r is in set r % sets */
	unsigned failures;
	const char *moved_from; /* NULL: a prefix; else no metadata */
};

static unsigned
set_losses(const struct scheme *s, unsigned lost, unsigned set)
{
	unsigned n = 0;

	for (unsigned r = set; r < s->ranks; r += s->sets)
		n += lost >> r & 1;
	return n;
}

static bool
survives(const struct scheme *s, unsigned lost)
{
	unsigned n = s->ranks / s->sets;

	for (unsigned set = 0; set < s->sets; set++) {
		if (s->type != REDSET_PARTNER &&
		    set_losses(s, lost, set) > s->failures)
			return false;
		for (unsigned m = 0; s->type == REDSET_PARTNER && m < n; m++)
			if (lost >> (set + m * s->sets) & 1 &&
			    lost >> (set + (m + 1) % n * s->sets) & 1)
				return false;
	}
	return true;
}

static struct plan *
make_plan(const struct scheme *s, struct error *err)
{
	struct plan_options o = {
		.work = &(struct work){ .par = par },
		.moved_from = s->moved_from,
	};
	const char *names[FILES_MAX];
	char dir[128];
	size_t n = 0;

	snprintf(dir, sizeof(dir), "%s/t", scratch);
	if (s->moved_from == NULL)
		return plan_at(dir, 1, &o, err);
	for (size_t i = 0; i < ntree; i++)
		if (strstr(tree[i].path, ".grp_") != NULL)
			names[n++] = tree[i].path;
	return plan_files(&(struct plan_by_hand){ dir, NULL, names, n, false },
			  &o, err);
}

/* Are modes and times of all files as recorded? */
static bool
attributes(const struct plan *p)
{
	struct stat st;

	for (size_t i = 0; i < p->nfiles; i++) {
		const struct plan_file *f = &p->files[i];

		if (f->fate != FATE_REBUILD)
			continue;
		if (fstatat(p->places[f->place].root_fd, f->path, &st, 0) < 0 ||
		    st.st_mode != f->attr.mode ||
		    st.st_mtim.tv_sec != f->attr.mtime.tv_sec ||
		    st.st_mtim.tv_nsec != f->attr.mtime.tv_nsec)
			return false;
	}
	return true;
}

/* Does the error for a loss name a set and ranks? */
static bool
names_it(const struct error *err)
{
	return err->kind == ERROR_LOST && strstr(err->text, "set ") != NULL &&
	       strstr(err->text, "rank") != NULL;
}

struct counts {
	unsigned saved, refused, wrong_verdict, wrong_data, wrong_attr,
		wrong_text;
};

static void
one_pattern(const struct scheme *s, unsigned lost, struct counts *c)
{
	bool good = survives(s, lost);
	struct error err = ERROR_INIT;
	struct plan *p = NULL;
	char path[1024];
	size_t before = 0;

	for (size_t i = 0; i < ntree; i++) {
		full_path(path, sizeof(path), &tree[i]);
		if (tree[i].rank >= 0 && lost >> tree[i].rank & 1)
			(void)unlink(path);
	}
	before = count_files();
	p = make_plan(s, &err);
	if (p == NULL || (plan_status(p) != STATUS_LOST) != good) {
		c->wrong_verdict++;
		printf("# lost %02x: %s\n", lost, err.text);
	} else if (good) {
		struct rebuild_options o = {
			.work = &(struct work){ .par = par },
		};

		if (rebuild(p, &o, NULL, &err) < 0 || !compare(lost, true)) {
			c->wrong_data++;
			printf("# lost %02x: %s\n", lost, err.text);
		}
		c->wrong_attr += !attributes(p);
		c->saved++;
	} else {
		c->wrong_text +=
			rebuild(p, NULL, NULL, &err) == 0 || !names_it(&err);
		c->wrong_data +=
			!compare(lost, false) || count_files() != before;
		c->refused++;
	}
	plan_free(p);
	for (size_t i = 0; i < ntree; i++)
		if (tree[i].rank >= 0 && lost >> tree[i].rank & 1)
			put(&tree[i]);
}

static void
all_patterns(const char *name, const struct scheme *s)
{
	unsigned all = 1u << s->ranks;
	struct counts c = { .saved = 0 };
	char what[128];

	(void)mkdir(scratch, 0700);
	for (size_t i = 0; i < ntree; i++)
		put(&tree[i]);
	for (unsigned lost = 1; lost + 1 < all; lost++)
		one_pattern(s, lost, &c);
	printf("# %s: %u patterns rebuilt, %u refused\n", name, c.saved,
	       c.refused);
	snprintf(what, sizeof(what), "%s: every pattern is judged right", name);
	ok(c.wrong_verdict == 0 && c.saved + c.refused == all - 2, what);
	snprintf(what, sizeof(what), "%s: all data as they were", name);
	ok(c.wrong_data == 0, what);
	snprintf(what, sizeof(what), "%s: modes and times as recorded", name);
	ok(c.wrong_attr == 0, what);
	snprintf(what, sizeof(what), "%s: refusals name set and ranks", name);
	ok(c.wrong_text == 0, what);
	forget();
	remove_tree();
}

static void
prefix_case(const char *golden, const char *name, const struct scheme *s)
{
	char dir[2048], base[1024];

	snprintf(base, sizeof(base), "%s/scr3/%s", golden, name);
	snprintf(dir, sizeof(dir), "%s/rebuilt/prefix", base);
	if (load(dir) < 0 || load_dedup(base, "rebuilt") < 0 || ntree == 0) {
		skip(name, "not in the golden data");
		forget();
		return;
	}
	all_patterns(name, s);
}

static void
bare_case(const char *golden, unsigned n, unsigned k)
{
	char dir[1024], from[128], name[64];
	struct scheme s = {
		.type = REDSET_RS,
		.ranks = n,
		.sets = 1,
		.failures = k,
		.moved_from = from,
	};

	snprintf(name, sizeof(name), "n%u_k%u", n, k);
	snprintf(from, sizeof(from), "/tmp/scrgold/redset_rs/%s", name);
	snprintf(dir, sizeof(dir), "%s/scr3/redset_rs/%s", golden, name);
	if (load(dir) < 0 || ntree == 0) {
		skip(name, "not in the golden data");
		forget();
		return;
	}
	all_patterns(name, &s);
}

int
main(void)
{
	static const struct {
		const char *name;
		struct scheme s;
	} cases[] = {
		{ "xor_8", { REDSET_XOR, 8, 1, 1, NULL } },
		{ "xor_8n4", { REDSET_XOR, 8, 2, 1, NULL } },
		{ "rs2_8n4", { REDSET_RS, 8, 2, 2, NULL } },
		{ "rs3_8", { REDSET_RS, 8, 1, 3, NULL } },
		{ "partner_8n4", { REDSET_PARTNER, 8, 2, 1, NULL } },
		{ "single_8n4", { REDSET_SINGLE, 8, 8, 0, NULL } },
		{ "rs3_4", { REDSET_RS, 4, 1, 3, NULL } },
		{ "rs2_4", { REDSET_RS, 4, 1, 2, NULL } },
		{ "partner_4", { REDSET_PARTNER, 4, 1, 1, NULL } },
		{ "xor_4", { REDSET_XOR, 4, 1, 1, NULL } },
	};
	const char *golden = getenv("SCRKIT_GOLDEN");
	const char *tmp = getenv("TMPDIR");

	if (golden == NULL || access(golden, R_OK) < 0) {
		skip("golden patterns", "SCRKIT_GOLDEN is not set");
		return tap_done();
	}
	umask(022);
	snprintf(scratch, sizeof(scratch), "%s/t_patterns.XXXXXX",
		 tmp && strlen(tmp) < 40 ? tmp : "/tmp");
	if (mkdtemp(scratch) == NULL)
		return 1;
	par = par_new(1, NULL);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		prefix_case(golden, cases[i].name, &cases[i].s);
	for (unsigned k = 1; k <= 3; k++) {
		bare_case(golden, 4, k);
		bare_case(golden, 5, k);
		bare_case(golden, 8, k);
	}
	par_free(par);
	remove_tree();
	return tap_done();
}
