/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * t_patterns.c - golden datasets of the real programs lose every combination of
 * ranks.  If the scheme tolerates the loss, all files are restored bit for bit,
 * with mode, owner and times.  If not, the error names the set and the ranks,
 * and no file changes.
 */
#include "rescue/rebuild.h"
#include "scene.h"

static struct tree want; /* the expected files */
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

	each (m, marks) {
		const char *at = strstr(path, *m);

		if (at != NULL && at[strlen(*m)] >= '0' &&
		    at[strlen(*m)] <= '9')
			return at[strlen(*m)] - '0';
	}
	return -1;
}

/* Does a file belong to one of these ranks? */
static bool
of_ranks(const struct tree_entry *e, unsigned ranks)
{
	const int rank = S_ISREG(e->mode) ? rank_of(e->path) : -1;

	return rank >= 0 && ranks >> rank & 1;
}

/* Copy a golden tree into the scratch directory; with the files left out of a
 * snapshot to save space: "path TAB path of the same file". */
static bool
take(const char *from, const char *item, const char *sub)
{
	const char *dir = fmt("%s/%s%s", from, item, sub);
	struct buf list = BUF_INIT, data = BUF_INIT;

	scratch_new();
	if (!exists(dir))
		return false;
	want = tree_load(dir);
	for (size_t i = 0; i < want.count; i++)
		if (S_ISREG(want.list[i].mode))
			write_file(here("%s", want.list[i].path),
				   want.list[i].data.data,
				   want.list[i].data.len);
	tree_free(&want);
	if (exists(fmt("%s/%s.dedup.txt", from, item)))
		read_whole(fmt("%s/%s.dedup.txt", from, item), &list);
	for (char *line = strtok(list.data, "\n"); line != NULL;
	     line = strtok(NULL, "\n")) {
		char *tab = strchr(line, '\t');

		if (tab == NULL || strncmp(line, "prefix/", 7) != 0)
			continue;
		*tab = '\0';
		read_whole(fmt("%s/%s", from, tab + 1), &data);
		write_file(here("%s", line + 7), data.data, data.len);
	}
	buf_free(&list);
	buf_free(&data);
	want = tree_load(scratch_root);
	return true;
}

/* Are the files as they were, and if not `everything`, are those of the lost
 * ranks missing and no files added?  (A rebuild adds descriptors that LLNL's
 * had not written.) */
static bool
compare(const struct tree *now, unsigned lost, bool everything, bool composed)
{
	const char *odd = NULL;

	for (size_t i = 0; i < want.count; i++) {
		const struct tree_entry *e = &want.list[i];
		const struct tree_entry *n = tree_find(now, e->path);
		const bool gone = of_ranks(e, lost) && !everything;

		/* Composed filemaps have other bytes. */
		if (composed && strstr(e->path, "map") != NULL)
			continue;
		if (gone ? n != NULL : n == NULL || !entry_same_data(e, n))
			odd = e->path;
	}
	for (size_t i = 0; i < now->count && !everything; i++)
		if (tree_find(&want, now->list[i].path) == NULL)
			odd = now->list[i].path;
	if (odd != NULL)
		printf("# lost %02x: %s\n", lost, odd);
	return odd == NULL;
}

/* --- Patterns --- */

struct scheme {
	enum redset_type type;
	unsigned ranks, sets; /* rank r is in set r % sets */
	unsigned failures;
	const char *moved_from; /* NULL: a prefix; else no metadata */
};

static bool
survives(const struct scheme *s, unsigned lost)
{
	unsigned n = s->ranks / s->sets;

	for (unsigned set = 0; set < s->sets; set++) {
		unsigned losses = 0;

		for (unsigned r = set; r < s->ranks; r += s->sets)
			losses += lost >> r & 1;
		if (s->type != REDSET_PARTNER && losses > s->failures)
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
	const char *names[64];
	size_t n = 0;

	if (s->moved_from == NULL)
		return plan_at(scratch_root, 1, &o, err);
	for (size_t i = 0; i < want.count; i++)
		if (strstr(want.list[i].path, ".grp_") != NULL)
			names[n++] = want.list[i].path;
	return plan_files(
		&(struct plan_by_hand){ scratch_root, NULL, names, n, false },
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

/* Is all right after these ranks are lost? */
static bool
one_pattern(const struct scheme *s, unsigned lost)
{
	const struct rebuild_options o = {
		.work = &(struct work){ .par = par },
	};
	const bool must_survive = survives(s, lost);
	bool good = must_survive;
	const char *wrong = NULL;
	struct error err = ERROR_INIT;
	struct plan *p = NULL;
	auto_tree now;
	int rc = -1;

	for (size_t i = 0; i < want.count; i++)
		if (of_ranks(&want.list[i], lost))
			must(unlink(here("%s", want.list[i].path)) == 0);
	p = make_plan(s, &err);
	/* Empty files survive more, if rank2file has their paths. */
	if (p == NULL || (plan_status(p) == STATUS_LOST && must_survive))
		wrong = "the verdict";
	good = p != NULL && plan_status(p) != STATUS_LOST;
	if (wrong == NULL)
		rc = rebuild(p, &o, NULL, &err);
	if (wrong == NULL && good && rc < 0)
		wrong = err.text;
	else if (wrong == NULL && good && !attributes(p))
		wrong = "modes or times";
	else if (wrong == NULL && !good &&
		 (rc == 0 || err.kind != ERROR_LOST || !says(&err, "set ") ||
		  !says(&err, "rank")))
		wrong = "the refusal names no set and ranks";
	now = tree_load(scratch_root);
	if (!compare(&now, lost, good, good && !must_survive) && wrong == NULL)
		wrong = "data";
	if (wrong != NULL)
		printf("# lost %02x: %s\n", lost, wrong);
	plan_free(p);
	tree_restore(scratch_root, &now, &want);
	return wrong == NULL;
}

static void
all_patterns(const char *name, const struct scheme *s)
{
	const unsigned all = 1u << s->ranks;
	unsigned wrong = 0, saved = 0;

	for (unsigned lost = 1; lost + 1 < all; lost++) {
		saved += survives(s, lost);
		wrong += !one_pattern(s, lost);
	}
	is_int(wrong, 0,
	       fmt("%s: %u patterns rebuilt, %u refused", name, saved,
		   all - 2 - saved));
	tree_free(&want);
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
		{ "xor_4_uneven", { REDSET_XOR, 4, 1, 1, NULL } },
		{ "xor_4_allempty", { REDSET_XOR, 4, 1, 1, NULL } },
		{ "rs2_4_uneven", { REDSET_RS, 4, 1, 2, NULL } },
		{ "partner_4_uneven", { REDSET_PARTNER, 4, 1, 1, NULL } },
		{ "rs1_4", { REDSET_RS, 4, 1, 1, NULL } },
	};
	static const unsigned bare[] = { 4, 5, 8 };
	const char *golden = getenv("SCRKIT_GOLDEN");
	char dir[1024];

	if (golden == NULL || !exists(golden)) {
		skip("golden patterns", "SCRKIT_GOLDEN is not set");
		return tap_done();
	}
	umask(022);
	par = par_new(1, NULL);
	each (c, cases) {
		snprintf(dir, sizeof(dir), "%s/scr3/%s", golden, c->name);
		if (take(dir, "rebuilt", "/prefix"))
			all_patterns(c->name, &c->s);
		else
			skip(c->name, "not in the golden data");
	}
	for (unsigned i = 0; i < 9; i++) {
		char name[64], from[128];
		const struct scheme s = {
			.type = REDSET_RS,
			.ranks = bare[i / 3],
			.sets = 1,
			.failures = i % 3 + 1,
			.moved_from = from,
		};

		snprintf(name, sizeof(name), "n%u_k%u", s.ranks, s.failures);
		snprintf(from, sizeof(from), "/tmp/scrgold/redset_rs/%s", name);

		snprintf(dir, sizeof(dir), "%s/scr3/redset_rs", golden);
		if (take(dir, name, ""))
			all_patterns(name, &s);
		else
			skip(name, "not in the golden data");
	}
	par_free(par);
	return tap_done();
}
