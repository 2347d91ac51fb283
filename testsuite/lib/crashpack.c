/* SPDX-License-Identifier: BSD-3-Clause */
#include <sched.h>

#include "container/hidden.h"
#include "crashpack.h"
#include "meta/dataset_dir.h"

#define CRASH_USER "ckpt.1/"

/* Number of operations tried in each sweep of a quick run. */
#define CRASH_FEW (SANITIZED ? 3 : 6)

/* --- Comparing without the generation --- */

static bool
is_part_name(const char *base)
{
	return dataset_dir_packed(base) >= 0 ||
	       str_starts(base, "rank2file.0.");
}

/* Encode `t` in place of the image in `raw`.  A NULL tree leaves it as it
 * is. */
static void
encode_again(struct kvtree *t, struct buf *raw)
{
	if (t == NULL)
		return;
	buf_clear(raw);
	if (kvtree_encode(t, raw, NULL) < 0)
		bail_out("out of memory");
	kvtree_free(t);
}

/* The top file of rank2file names all parts.  Remove their numbers. */
static void
plain_top(struct buf *raw)
{
	struct kvtree *t = kvtree_decode(raw->data, raw->len, NULL, NULL);
	struct kvtree *ctr = kvtree_get(t, "CTR"), *k = NULL;

	kvtree_foreach (k, kvtree_get(t, "RANK"))
		if (kvtree_set(k, "FILE", "N", NULL) < 0)
			bail_out("out of memory");
	k = kvtree_get(ctr, "HIDDEN");
	if (k != NULL &&
	    kvtree_set_u64(ctr, "HIDDEN", kvtree_count(k), NULL) < 0)
		bail_out("out of memory");
	k = kvtree_get(ctr, "COPY");
	if (k != NULL && kvtree_set_u64(ctr, "COPY", kvtree_count(k), NULL) < 0)
		bail_out("out of memory");
	encode_again(t, raw);
}

/* Remove all times that the kernel sets. */
static void
plain_times(struct kvtree *t)
{
	struct kvtree *k = NULL;

	kvtree_remove(t, "ATIME_SECS");
	kvtree_remove(t, "ATIME_NSECS");
	kvtree_remove(t, "CTIME_SECS");
	kvtree_remove(t, "CTIME_NSECS");
	kvtree_foreach (k, t)
		plain_times(k);
}

static void
plain_attrs(struct buf *raw)
{
	struct kvtree *t = kvtree_decode(raw->data, raw->len, NULL, NULL);
	struct kvtree *k = NULL;

	plain_times(kvtree_get(t, "FILE"));
	/* The scene's directories are as old as the run. */
	plain_times(kvtree_get(t, "DIR"));
	kvtree_foreach (k, kvtree_get(t, "DIR")) {
		kvtree_remove(k, "MTIME_SECS");
		kvtree_remove(k, "MTIME_NSECS");
	}
	kvtree_foreach (k, kvtree_get(t, "META"))
		plain_times(kvtree_get(k, "ATTR"));
	kvtree_foreach (k, kvtree_get(t, "RED"))
		plain_times(kvtree_get(k, "ATTR"));
	encode_again(t, raw);
}

static void
plain_entry(struct tree_entry *e)
{
	const char *base = path_base(e->path);
	unsigned long number = 0;
	char path[512];

	if (str_starts(base, RANK2FILE_COPY))
		base += strlen(RANK2FILE_COPY);
	if (str_eq(base, "rank2file"))
		plain_top(&e->data);
	if (dataset_dir_packed(base) >= 0)
		plain_attrs(&e->data);
	if (!is_part_name(base))
		return;
	/* Keep the number of the part, drop that of the generation. */
	number = strtoul(base + strcspn(base, ".") + 1 +
				 (dataset_dir_packed(base) >= 0 ? 0 : 2),
			 NULL, 10);
	snprintf(path, sizeof(path), "%.*s%s.%lu.N", (int)(base - e->path),
		 e->path,
		 dataset_dir_packed(base) >= 0 ? "packed" : "rank2file.0",
		 number / RANK2FILE_PART_RANKS);
	mem_free(e->path);
	e->path = mem_strdup(path);
	if (e->path == NULL)
		bail_out("out of memory");
}

/* The tree below the prefix without all that may differ between runs. */
static struct tree
form_load(void)
{
	struct tree t = tree_load(prefix);

	for (size_t i = 0; i < t.count; i++)
		plain_entry(&t.list[i]);
	if (t.count > 0)
		qsort(t.list, t.count, sizeof(*t.list), tree_compare);
	return t;
}

/* The user's files and the packed metadata files keep their times. */
static bool
keeps_times(const char *path)
{
	const char *base = path_base(path);

	return !is_metadata(path) || str_starts(base, "filemap_") ||
	       str_starts(base, "reddesc");
}

static bool
same_item(const struct tree_entry *a, const struct tree_entry *b)
{
	if (is_index(a->path))
		return a->mode == b->mode && same_index(a, b);
	return entry_same(a, b, keeps_times(a->path));
}

const char *
odd_one(const struct tree *t, const struct tree *want, bool clean)
{
	for (size_t i = 0; i < t->count; i++) {
		const struct tree_entry *e = &t->list[i];
		const struct tree_entry *w = tree_find(want, e->path);

		if (is_lock(e->path) && !(clean && w == NULL &&
					  str_starts(path_base(e->path), ".")))
			continue;
		/* Entries of two generations have the same name here. */
		if (w == NULL || !same_item(e, w) ||
		    (i > 0 && str_eq(t->list[i - 1].path, e->path)))
			return e->path;
	}
	return NULL;
}

static bool
same_form(struct pack_scene *x, const struct tree *now, const struct tree *want,
	  bool clean, bool quiet)
{
	const char *more = odd_one(now, want, clean);
	const char *less = odd_one(want, now, false);

	if (!quiet && more != NULL)
		tell(&x->s, "not as it should be in the end", more);
	if (!quiet && less != NULL)
		tell(&x->s, "missing or another in the end", less);
	return more == NULL && less == NULL;
}

/* --- Is the dataset whole? --- */

static int
run_verify(void)
{
	return run_command(
		(const char *const[]){ "scr_container", "verify", "1", NULL },
		NULL);
}

/* Does every extracted file have the bytes recorded in x->plain? */
static bool
bytes_right(struct pack_scene *x)
{
	char out[600];
	const char *const argv[] = {
		"scr_container", "extract", "-C", out, "1", NULL
	};
	bool good = true;
	struct tree t;

	snprintf(out, sizeof(out), "%s/out", crash_dir);
	remove_tree(out);
	if (run_command(argv, NULL) != 0) {
		tell(&x->s, "cannot be extracted", "");
		return false;
	}
	t = tree_load(out);
	for (size_t i = 0; i < x->plain->count; i++) {
		const struct tree_entry *p = &x->plain->list[i], *e = NULL;

		if (!str_starts(p->path, CRASH_USER) || S_ISDIR(p->mode))
			continue;
		e = tree_find(&t, p->path);
		if (e != NULL && entry_same_data(e, p))
			continue;
		tell(&x->s, "other bytes", p->path);
		good = false;
	}
	tree_free(&t);
	return good;
}

/* The top file of rank2file lists the containers, and its parts map their
 * contents.  Do both come from the same change of form? */
static bool
map_agrees(struct pack_scene *x)
{
	struct error err = ERROR_INIT;
	struct rank2file r;
	struct segmap m;
	char dir[700];
	int fd = -1;
	bool good = true;

	snprintf(dir, sizeof(dir), "%s/" CRASH_META, prefix);
	fd = open(dir, O_RDONLY | O_DIRECTORY);
	if (fd < 0 || rank2file_load(fd, "rank2file", &r, &err) < 0 ||
	    segmap_read(&m, &r, &err) < 0) {
		tell(&x->s, "cannot be read", err.text);
		return false;
	}
	for (size_t i = 0; i < m.ncontainers; i++)
		good = good && m.containers[i].has_size &&
		       m.containers[i].used > 0;
	if (!good)
		tell(&x->s, "parts of rank2file are of two switches", "");
	segmap_free(&m);
	rank2file_free(&r);
	close(fd);
	return good;
}

bool
is_whole(struct pack_scene *x)
{
	static const char *const deep[] = { "scr_rebuild", "--deep", "-n", "1",
					    NULL };

	if (run_verify() != 0) {
		tell(&x->s, "verify finds flaws", "");
		return false;
	}
	if (run_command(deep, NULL) != 0) {
		tell(&x->s, "data and redundancy do not agree", "");
		return false;
	}
	return bytes_right(x) && map_agrees(x);
}

/* --- States allowed at any moment --- */

/* Are all bytes still right that were right before? */
static bool
right_bytes_stay(const struct tree_entry *now, const struct tree_entry *was,
		 const struct tree_entry *right)
{
	for (size_t i = 0; i < was->data.len && i < right->data.len; i++)
		if (was->data.data[i] == right->data.data[i] &&
		    (i >= now->data.len ||
		     now->data.data[i] != right->data.data[i]))
			return false;
	return true;
}

/* Is this metadata that a change of form rewrites? */
static bool
is_of_packing(const char *path)
{
	const char *rest = NULL;

	if (!str_starts(path, CRASH_META))
		return false;
	rest = path + strlen(CRASH_META);
	if (str_starts(rest, RANK2FILE_COPY))
		rest += strlen(RANK2FILE_COPY);
	return is_part_name(rest) || str_eq(rest, "rank2file") ||
	       str_eq(rest, SEGMAP_DIR) ||
	       (str_starts(rest, SEGMAP_DIR "/") &&
		segmap_is_container(path_base(rest)));
}

static bool
item_right(struct pack_scene *x, const struct tree_entry *now, bool temps)
{
	const struct tree_entry *b = tree_find(&x->s.before, now->path);
	const struct tree_entry *a = tree_find(&x->s.after, now->path);
	const struct tree_entry *p = tree_find(x->plain, now->path);
	const struct tree_entry *w =
		x->whole ? tree_find(x->whole, now->path) : NULL;

	if ((b != NULL && same_item(now, b)) ||
	    (a != NULL && same_item(now, a)))
		return true;
	if (w != NULL && b != NULL)
		return right_bytes_stay(now, b, w);
	if (is_of_packing(now->path))
		return true; /* verify and --deep judge its contents */
	if (p != NULL)
		return same_item(now, p);
	return is_lock(now->path) || (temps && is_temporary(now->path)) ||
	       (x->whole != NULL &&
		str_eq(now->path, CRASH_META "rebuild.scr"));
}

/* Check the rules that hold at any moment.  `temps`: temporary files are
 * allowed. */
static bool
form_right(struct pack_scene *x, const struct tree *now, bool temps)
{
	bool good = true;

	for (size_t i = 0; i < now->count; i++) {
		if (item_right(x, &now->list[i], temps))
			continue;
		tell(&x->s, "not what it should be", now->list[i].path);
		good = false;
	}
	for (size_t i = 0; i < x->s.before.count; i++) {
		const char *path = x->s.before.list[i].path;

		if (is_lock(path) || is_of_packing(path) ||
		    tree_find(&x->s.after, path) == NULL ||
		    tree_find(now, path) != NULL)
			continue;
		tell(&x->s, "gone", path);
		good = false;
	}
	if (!good || !index_readable(&x->s, now))
		return false;
	if (x->whole == NULL)
		return is_whole(x);
	switch (run_verify()) {
	case 0:
		return bytes_right(x);
	case 3:
		return true;
	default:
		tell(&x->s, "verify says neither whole nor repairable", "");
		return false;
	}
}

/* --- One disturbed run --- */

/* Restore the prefix to its state before the command. */
static void
set_back(struct pack_scene *x)
{
	struct tree now = tree_load(prefix);

	tree_restore(prefix, &now, &x->s.before);
	tree_free(&now);
}

static bool
is_form(struct pack_scene *x, const struct tree *form, bool clean, bool quiet)
{
	struct tree now = form_load();
	bool good = same_form(x, &now, form, clean, quiet);

	tree_free(&now);
	return good;
}

/* Is the exit status plausible for the fault?  EIO means a broken disk, so the
 * file counts as missing: damage, or a loss if nothing can restore it. */
static bool
failed_well(const struct fault *f, int status)
{
	return has_message() && (status == 1 || (str_eq(f->error, "EIO") &&
						 (status == 3 || status == 4)));
}

static const char *const *
second(const struct pack_scene *x)
{
	return x->again[0] != NULL ? x->again : x->s.argv;
}

/* Run the command a second time, undisturbed. */
static bool
form_again(struct pack_scene *x)
{
	static const struct fault none = { .kill_after = -1 };
	int status = run_command(second(x), NULL);

	if (status == 0 && is_form(x, &x->end, true, false) &&
	    run_verify() == 0)
		return true;
	tell(&x->s, "the second run failed", "");
	show_run(&x->s, &none, status);
	return false;
}

static bool
form_disturbed(struct pack_scene *x, const struct fault *f, unsigned *tally)
{
	bool good = true, killed = false;
	int status = 0;
	struct tree now;

	set_back(x);
	status = run_command(x->s.argv, f);
	killed = status == -SIGKILL;
	if (status == 0) {
		good = is_form(x, &x->done, false, false);
	} else if (!killed && (status < 0 || !failed_well(f, status))) {
		tell(&x->s, "crashed, wrong exit status, or no message", "");
		good = false;
	}
	if (!good)
		show_run(&x->s, f, status);
	now = tree_load(prefix);
	if (!form_right(x, &now, killed || f->sticky)) {
		show_run(&x->s, f, status);
		good = false;
	}
	if (tally != NULL)
		tally[is_form(x, &x->done, false, true) ? DONE
		      : now.count == x->s.before.count	? NOTHING
							: PARTLY]++;
	tree_free(&now);
	if (form_again(x))
		return good;
	show_run(&x->s, f, status);
	return false;
}

/* --- Sweeps --- */

/* Restrict the process to one processor, and so to one thread, so that
 * operations come in the same order in every run.  `all` restores the old
 * set. */
static void
one_thread(const cpu_set_t *all)
{
	int cpu = sched_getcpu();
	cpu_set_t one;

	CPU_ZERO(&one);
	CPU_SET(cpu < 0 ? 0 : cpu, &one);
	(void)sched_setaffinity(0, sizeof(one), all != NULL ? all : &one);
}

static void
form_sweep(struct pack_scene *x, const struct mode *m, unsigned long first)
{
	unsigned long count = m->fault.reads ? x->s.reads : x->s.count;
	unsigned long step = slow ? 1 : count / CRASH_FEW + 1;
	unsigned runs = 0, bad = 0;
	char what[256];

	x->s.told = 0;
	for (unsigned long n = slow ? 1 : first % step + 1; n <= count;
	     n += step) {
		struct fault f = m->fault;

		while (m->transfers && n <= count && !x->s.transfers[n])
			n++;
		if (n > count)
			break;
		if (m->fails)
			f.fail_at = n;
		if (m->kills)
			f.kill_at = n + m->fails;
		runs++;
		bad += !form_disturbed(x, &f, NULL);
	}
	snprintf(what, sizeof(what), "%s: %s: %u runs", x->s.name, m->what,
		 runs);
	ok(bad == 0 && runs > 0, what);
	if (bad > 0)
		printf("# %u of %u runs ended badly\n", bad, runs);
}

/* The struct scene is the first member of struct pack_scene. */
static bool
form_disturbed_scene(struct scene *s, const struct fault *f, unsigned *tally)
{
	return form_disturbed((struct pack_scene *)s, f, tally);
}

void
form_kills(struct pack_scene *x, unsigned kills)
{
	random_kills(&x->s, kills, form_disturbed_scene);
}

bool
form_measure(struct pack_scene *x)
{
	if (!measure(&x->s) || !is_whole(x))
		return false;
	x->done = form_load();
	if (run_command(second(x), NULL) != 0 || !is_whole(x))
		return false;
	x->end = form_load();
	return x->again[0] != NULL ||
	       same_form(x, &x->end, &x->done, true, false);
}

void
form_play(struct pack_scene *x, bool all, unsigned kills)
{
	bool every = slow && (all || slower);
	char what[256];
	cpu_set_t cpus;

	(void)sched_getaffinity(0, sizeof(cpus), &cpus);
	one_thread(NULL);
	snprintf(what, sizeof(what), "%s: undisturbed", x->s.name);
	if (ok(form_measure(x), what)) {
		for (size_t i = 0; i < MODES; i++)
			if (every || modes[i].quick)
				form_sweep(x, &modes[i], 2 * i + 1);
		one_thread(&cpus);
		if (slow && kills > 0)
			form_kills(x, kills);
	}
	one_thread(&cpus);
}

void
form_fini(struct pack_scene *x)
{
	scene_fini(&x->s);
	tree_free(&x->done);
	tree_free(&x->end);
}
