/* SPDX-License-Identifier: BSD-3-Clause */
#include "steps.h"
#include "rescue/rebuild.h"
#include "rows.h"

/* The node at this path gets this value, or is removed. */
struct scene_edit {
	const char *path, *value;
};

static void
scene_edit_node(struct kvtree *t, const char *path, const char *value)
{
	const char *rest = strchr(path, '>');
	size_t len = rest != NULL ? (size_t)(rest - path) : strlen(path);
	const char *key = fmt("%.*s", (int)len, path);
	struct kvtree *next = NULL;

	if (strcmp(key, "*") == 0) {
		for (struct kvtree *c = kvtree_first(t); c; c = next) {
			next = kvtree_next(c);
			scene_edit_node(t,
					fmt("%s%s", kvtree_key(c), path + len),
					value);
		}
		return;
	}
	must(value != NULL || kvtree_get(t, key) != NULL);
	if (rest != NULL)
		scene_edit_node(kvtree_put(t, key, NULL), rest + 1, value);
	else if (value == NULL)
		kvtree_remove(t, key);
	else
		must(kvtree_set(t, key, value, NULL) == 0);
}

static void
scene_edit(struct kvtree *t, void *arg)
{
	const struct scene_edit *e = arg;

	scene_edit_node(t, e->path, e->value);
}

void
edit_keys(const char *file, const char *path, const char *value)
{
	edit_tree(file, scene_edit, &(struct scene_edit){ path, value });
}

/* The path of a file as scene_do() names it, of another rank. */
static const char *
scene_file(const struct scene *s, const char *name, unsigned rank)
{
	const char *dot = strchr(name, '.');

	switch (name[0]) {
	case '@':
		return fmt("%s%s", scene_node(s, 0), name + 1);
	case 'f':
		must(dot != NULL);
		return scene_data(s, rank, (unsigned)atoi(dot + 1));
	case 'm':
		return scene_map(s, rank);
	default:
		must(strchr("rdRD", name[0]) != NULL);
		return scene_red(s, rank, name[0] == 'R' || name[0] == 'D',
				 name[0] == 'd' || name[0] == 'D');
	}
}

/* One command for a file, or for a rank if `path` is NULL. */
static void
scene_do_one(struct scene *s, char *const *word, const char *path,
	     unsigned rank)
{
	const char *verb = word[0];
	const char *value = word[2] != NULL ? word[3] : NULL;
	struct stat st;
	struct buf b = BUF_INIT;

	if (path == NULL && strcmp(verb, "lose") == 0) {
		scene_lose(s, rank);
	} else if (path == NULL && strcmp(verb, "data") == 0) {
		scene_lose_data(s, rank);
	} else if (path == NULL) {
		must(strcmp(verb, "reds") == 0 || strcmp(verb, "mapreds") == 0);
		scene_lose_reds(s, rank, verb[0] == 'm');
	} else if (strcmp(verb, "flip") == 0) {
		for (int i = 2; word[i] != NULL; i++)
			flip(path, atol(word[i]));
	} else if (strcmp(verb, "cut") == 0) {
		off_t size = atol(word[2]);

		must(stat(path, &st) == 0);
		must(truncate(path, size < 0 ? st.st_size + size : size) == 0);
	} else if (strcmp(verb, "set") == 0) {
		if (value != NULL && value[0] == '@')
			value = scene_file(s, value, rank);
		edit_keys(path, word[2], value);
	} else if (strcmp(verb, "copy") == 0) {
		read_whole(path, &b);
		write_file(scene_file(s, word[2], (unsigned)atoi(word[2] + 1)),
			   b.data, b.len);
		buf_free(&b);
	} else if (strcmp(verb, "tree") == 0) {
		value = scene_file(s, word[2], 0);
		must(system(fmt("mkdir -p '%s' && cp -a '%s/.' '%s'", value,
				path, value)) == 0);
	} else {
		remove_tree(path);
		if (strcmp(verb, "text") == 0)
			write_text(path, word[2] != NULL ? word[2] : "");
		else if (strcmp(verb, "fifo") == 0)
			must(mkfifo(path, 0666) == 0);
		else if (strcmp(verb, "dir") == 0) {
			must(mkdir(path, 0777) == 0);
			if (word[2] != NULL)
				write_text(fmt("%s/%s", path, word[2]), "");
		} else if (strcmp(verb, "link") == 0)
			link_by_anyone(word[2], path);
		else
			must(strcmp(verb, "rm") == 0);
	}
}

/* A command for each of these ranks, or for a file of each. */
static void
scene_do_ranks(struct scene *s, char *const *word, const char *which)
{
	bool file = strchr("@fmrdRD", which[0]) != NULL;
	const char *to = which[0] != '@' ? strchr(which, '-') : NULL;
	unsigned first = (unsigned)atoi(which + file);
	unsigned last = to != NULL ? (unsigned)atoi(to + 1) : first;

	for (unsigned r = first; r <= last; r++)
		scene_do_one(s, word, file ? scene_file(s, which, r) : NULL, r);
}

void
scene_do(struct scene *s, const char *commands)
{
	char *all = mem_strdup(commands), *rest = all;

	s->from = NULL;
	for (char *c = NULL; (c = strsep(&rest, ";")) != NULL;) {
		char *word[16] = { strtok(c, " ") };
		int n = 1;

		while (n < 15 && (word[n] = strtok(NULL, " ")) != NULL)
			n++;
		if (word[0] == NULL)
			continue;
		if (strcmp(word[0], "new") == 0)
			scene_make(s);
		else if (strcmp(word[0], "keep") == 0)
			scene_keep(s);
		else if (strcmp(word[0], "from") == 0)
			s->from = arena_strdup(s->arena, word[1]);
		else if (strstr("lose data reds mapreds rm", word[0]) != NULL)
			for (int i = 1; i < n; i++)
				scene_do_ranks(s, word, word[i]);
		else
			scene_do_ranks(s, word, word[1]);
	}
	mem_free(all);
}

bool
scene_has(const struct scene *s, const char *files, bool yes)
{
	auto_mem char *all = mem_strdup(files);
	bool good = true;

	for (char *f = strtok(all, " "); f != NULL; f = strtok(NULL, " "))
		good &= exists(scene_file(s, f, (unsigned)atoi(f + 1))) == yes;
	return good;
}

static const char *
scene_fate(enum fate f)
{
	return f == FATE_KEEP ? "" : f == FATE_LOST ? ", lost" : ", rebuild";
}

static void
scene_tell_set(struct buf *to, const struct plan_set *s)
{
	for (uint32_t m = 0; m < s->n; m++) {
		const struct plan_member *x = &s->members[m];
		bool good =
			x->state == RED_PRESENT || x->state == RED_UNCHECKED;

		if (!good || x->fate != FATE_KEEP)
			buf_printf(to, "%s%u %s%s: %s\n", s->map ? "R" : "r",
				   x->rank, red_state_name(x->state),
				   scene_fate(x->fate),
				   x->problem != NULL ? x->problem : "");
	}
	buf_printf(to, "%s %u: %u missing, %u spare", s->map ? "map" : "set",
		   s->number, s->missing, s->spare);
	if (s->salvage)
		buf_add_str(to, ", salvage");
	if (s->flaw != NULL)
		buf_printf(to, ", flaw: %s", s->flaw);
	if (s->verdict == SET_LOST)
		buf_printf(to, ", lost: %s", s->reason);
	buf_add_char(to, '\n');
}

static void
scene_tell(struct buf *to, const struct plan *p, const struct scene *s)
{
	for (size_t i = 0; i < p->nfiles; i++) {
		const struct plan_file *f = &p->files[i];

		if (f->state == FILE_PRESENT && f->fate == FATE_KEEP)
			continue;
		buf_printf(to, "%s %s", strrchr(f->cache_path, '/') + 1,
			   file_state_name(f->state));
		if (f->state == FILE_WRONG_SIZE)
			buf_printf(to, " %llu",
				   (unsigned long long)f->found_size);
		buf_add_str(to, scene_fate(f->fate));
		buf_printf(to, s->cache ? ", at %u\n" : "\n", f->place);
	}
	for (int64_t r = 0; r < p->nranks; r++) {
		const struct plan_meta *m = &p->ranks[r].map;

		const bool wrong =
			m->fate == FATE_REBUILD &&
			(m->image_size != s->maps[r].len ||
			 memcmp(m->image, s->maps[r].data, m->image_size) != 0);

		if (m->why != NULL || m->fate != FATE_KEEP)
			buf_printf(to, "m%lld %s%s\n", (long long)r, m->why,
				   wrong ? ", with wrong contents"
					 : scene_fate(m->fate));
	}
	if (s->was != NULL)
		buf_printf(to, "at %s: %s\n", p->recorded_root,
			   scene_find(p, 1, 1)->path);
	for (size_t i = 0; i < p->nsets; i++)
		scene_tell_set(to, &p->sets[i]);
	buf_printf(to,
		   "%zu files, %zu maps, %zu reds missing; "
		   "%zu files, %zu maps, %zu ranks lost; %llu bytes to write\n",
		   p->files_missing, p->maps_missing, p->red_missing,
		   p->files_lost, p->maps_lost, p->ranks_lost,
		   (unsigned long long)p->bytes_written);
}

static const char *const kinds[] = {
	[ERROR_NONE] = "none",	     [ERROR_USAGE] = "usage",
	[ERROR_ABSENT] = "absent",   [ERROR_SYSTEM] = "system",
	[ERROR_NOMEM] = "no memory", [ERROR_CORRUPT] = "corrupt",
	[ERROR_UNSAFE] = "unsafe",   [ERROR_LOST] = "lost",
	[ERROR_DAMAGED] = "damaged",
};

const char *
scene_told(const struct scene *s, unsigned flags)
{
	static const char *const verdicts[] = {
		[STATUS_OK] = "whole",
		[STATUS_DAMAGED] = "damaged",
		[STATUS_LOST] = "lost",
		[STATUS_FAILED] = "unknown",
	};
	static char text[8192];
	struct error err = ERROR_INIT;
	auto_buf b = BUF_INIT;
	auto_plan *p = scene_plan(s, flags, &err);

	if (p != NULL) {
		int status = plan_status(p);

		error_clear(&err);
		plan_error(p, &err);
		buf_printf(&b, "%s: %s\n", verdicts[status], err.text);
		scene_tell(&b, p, s);
	} else {
		buf_printf(&b, "refused %s: %s\n", kinds[err.kind], err.text);
	}
	must(buf_check(&b, NULL) == 0);
	snprintf(text, sizeof(text), "%s", b.data);
	return text;
}

void
scene_step(struct scene *s, unsigned flags, const char *what,
	   const char *change, const char *want)
{
	char *all = mem_strdup(want), *rest = all;
	const char *told = NULL;
	bool good = true, back = false;

	scene_do(s, change);
	told = scene_told(s, flags);
	for (char *part = NULL; (part = strsep(&rest, "|")) != NULL;)
		if (strcmp(part, "back") == 0)
			back = true;
		else if (part == all)
			good = str_starts(told, part);
		else
			good &= strstr(told, part) != NULL;
	if (!good)
		printf("# want %s\n# told %s", want, told);
	ok(good, what);
	if (back)
		ok(scene_rebuilds(s, scene_plan(s, flags, NULL)),
		   fmt("%s: comes back", what));
	mem_free(all);
}

/* `want`: "rebuilt: SAYS" or "fails KIND: SAYS". */
static void
scene_attempt(struct scene *s, const char *what, const char *change,
	      const char *want)
{
	const bool fails = str_starts(want, "fails ");
	const char *text = strchr(want, ':') + 1;
	struct error err = ERROR_INIT;
	struct rebuild_result r;
	struct plan *p = NULL;
	bool good = false;

	scene_do(s, change);
	if (fails)
		scene_keep(s);
	p = scene_plan(s, 0, &err);
	good = p != NULL && rebuild(p, NULL, &r, &err) == 0;
	plan_free(p);
	if (good)
		snprintf(err.text, sizeof(err.text),
			 "%zu files, %zu maps, %zu reds, "
			 "%zu descriptors, %zu sums wrong",
			 r.files, r.maps, r.redundancy, r.descriptors,
			 r.crc_wrong);
	good = good != fails && says(&err, text + strspn(text, " ")) &&
	       (!fails || str_starts(want + strlen("fails "),
				     fmt("%s:", kinds[err.kind])));
	if (!good)
		printf("# %s\n", err.text);
	ok(good, what);
	ok(scene_same(s), "... all files are as they should be");
}

void
scene_table(struct scene *s, unsigned flags, const char *section)
{
	struct row r = { .next = NULL };

	while (row_next(&r, section)) {
		const char *says = r.field[2];

		if (str_starts(says, "rebuilt:") || str_starts(says, "fails "))
			scene_attempt(s, r.field[0], r.field[1], says);
		else
			scene_step(s, flags, r.field[0], r.field[1], says);
	}
}
