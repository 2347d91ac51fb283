/* SPDX-License-Identifier: BSD-3-Clause */
#include "ftijob/tree.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "arena.h"
#include "buf.h"
#include "dir.h"
#include "error.h"
#include "fti/ini.h"
#include "io.h"
#include "mem.h"
#include "path.h"
#include "str.h"
#include "work.h"

/* Deepest directory below the root. */
#define DEPTH 16

#define CONFIG "config.fti"

/* What the names of the directories above a file say. */
struct above {
	const char *exec;
	enum fti_level level;
	int64_t node;
	uint32_t id; /* of Ckpt_<id>, else 0 */
};

struct walk {
	struct fti_tree *t;
	const struct work *w;
	struct above above;
	const char *path; /* of the directory, below the root; "" */
	int fd;
	unsigned depth;
	bool out;	  /* behind a link */
	const char *last; /* name of the directory itself */
};

static int read_dir(struct walk *d, struct error *err);

/* What the directory `name`, in directory `parent`, adds. */
static void
enter(struct above *a, const char *name, const char *parent)
{
	const enum fti_level level = fti_level_parse(name);
	uint32_t node = 0;

	if (level != FTI_NO_LEVEL) {
		/* An archived checkpoint has all its directories below. */
		a->level = a->id != 0 ? FTI_ARCHIVE : level;
		a->exec = parent;
	} else if (fti_name_node(name, &node)) {
		a->node = node;
	} else if (fti_name_archived(name) != 0) {
		a->id = fti_name_archived(name);
	}
}

static int
enter_dir(struct walk *d, const char *name, bool link, struct error *err)
{
	struct walk in = *d;
	struct stat st, root;
	int rc = 0, fd = -1, at = -1;

	if (d->depth >= DEPTH || str_starts(name, FTI_OURS))
		return 0;
	in.last = arena_strdup(d->t->arena, name);
	in.path = fti_tree_join(d->t->arena, d->path, name);
	in.depth++;
	in.out = d->out || link;
	enter(&in.above, in.last, d->last);
	/* Of links only a trusted one that leads out of the root is followed,
	 * and not into the root again, which is another name of it. */
	if (!in.out) {
		fd = dir_open_plain(d->fd, name);
	} else if (!link || !d->out) {
		at = path_open_trusted(d->t->fd, in.path);
		fd = at < 0 ? -1 : dir_open(at, ".");
		io_close(at);
	}
	if (fd >= 0 && in.out && fstat(fd, &st) == 0 &&
	    fstat(d->t->fd, &root) == 0 && st.st_dev == root.st_dev &&
	    st.st_ino == root.st_ino) {
		close(fd);
		return 0;
	}
	if (fd < 0 && in.out && (errno == ENOTDIR || errno == ELOOP))
		return 0;
	/* Others may have all files. */
	if (fd < 0 && (in.out || errno == EACCES) && d->t->unread == NULL)
		d->t->unread = in.path;
	if (fd < 0)
		return errno == ENOENT || errno == EACCES || in.out
			       ? 0
			       : error_sys(err, "%s/%s: cannot open",
					   d->t->root, in.path);
	in.fd = fd;
	rc = read_dir(&in, err);
	close(fd);
	return rc;
}

static int
read_dir(struct walk *d, struct error *err)
{
	struct fti_tree *t = d->t;
	struct dir_walk w;
	const char *name = NULL;
	int rc = dir_walk(&w, d->fd, d->path[0] == '\0' ? t->root : d->path,
			  err);

	while (rc == 0 && (name = dir_next(&w)) != NULL) {
		const struct fti_name n = fti_name_parse(name);
		const bool of_exec = n.kind == FTI_NAME_TOPOLOGY ||
				     n.kind == FTI_NAME_HISTORY;
		const bool config = str_eq(name, CONFIG);
		struct fti_entry *e = NULL;
		struct stat st;

		rc = work_go_on(d->w, err);
		if (rc < 0)
			break;
		if (dir_stat(d->fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0) {
			if (errno != ENOENT)
				rc = error_sys(
					err, "%s/%s: cannot stat", t->root,
					fti_tree_join(t->arena, d->path, name));
			continue;
		}
		if (config && t->config == NULL && !S_ISDIR(st.st_mode))
			t->config = fti_tree_join(t->arena, d->path, name);
		/* What is no file under the name of one, whoever reads it
		 * refuses. */
		if (n.kind == FTI_NAME_OTHER &&
		    (S_ISDIR(st.st_mode) || (S_ISLNK(st.st_mode) && !config)))
			rc = enter_dir(d, name, S_ISLNK(st.st_mode), err);
		if (n.kind == FTI_NAME_OTHER)
			continue;
		(void)MEM_ROOM(t->list, t->count, t->room);
		e = &t->list[t->count++];
		*e = (struct fti_entry){
			/* Topology and history stand in the directory of the
			 * execution. */
			.exec = of_exec ? d->last : d->above.exec,
			.level = d->above.level,
			.name = n,
			.node = d->above.node,
			.path = fti_tree_join(t->arena, d->path, name),
			.size = (uint64_t)st.st_size,
			.mtime = st.st_mtime,
			.inode = st.st_ino,
		};
		if (of_exec || n.kind == FTI_NAME_SECTOR)
			e->name.id = d->above.id;
	}
	return dir_done(&w, rc, err);
}

/* What the directories say in which the root lies: it may be that of a level
 * itself. */
static int
enter_root(struct walk *d, struct error *err)
{
	struct buf real = BUF_INIT;
	const char *parent = "";
	char *at = NULL, *save = NULL;

	if (path_real(d->t->root, &real, err) < 0)
		return -1;
	at = arena_strdup(d->t->arena, real.data);
	buf_free(&real);
	for (char *name = strtok_r(at, "/", &save); name != NULL;
	     name = strtok_r(NULL, "/", &save)) {
		enter(&d->above, name, parent);
		parent = name;
	}
	d->last = parent;
	/* Those of a level lie in it, unless they are archived. */
	if (d->above.id == 0 && fti_level_parse(parent) == FTI_NO_LEVEL) {
		d->above.level = FTI_NO_LEVEL;
		d->above.exec = "";
	}
	return 0;
}

static int
compare(const void *a, const void *b)
{
	const struct fti_entry *x = a, *y = b;
	int rc = strcmp(x->exec, y->exec);

	if (rc != 0)
		return rc;
	if (x->level != y->level)
		return x->level < y->level ? -1 : 1;
	if (x->name.id != y->name.id)
		return x->name.id < y->name.id ? -1 : 1;
	if (x->name.kind != y->name.kind)
		return x->name.kind < y->name.kind ? -1 : 1;
	if (x->name.rank != y->name.rank)
		return x->name.rank < y->name.rank ? -1 : 1;
	return strcmp(x->path, y->path);
}

int
fti_tree_open(struct fti_tree *t, const char *root, const struct work *w,
	      struct error *err)
{
	struct walk d = {
		.t = t,
		.w = w,
		.above = { .exec = "", .level = FTI_NO_LEVEL, .node = -1 },
		.path = "",
	};
	enum fti_level all = FTI_NO_LEVEL;

	*t = (struct fti_tree){ .root = root, .arena = arena_new() };

	t->fd = dir_open(AT_FDCWD, root);
	if (t->fd < 0)
		return error_sys(err, "%s: cannot open", root);
	d.fd = t->fd;
	if (enter_root(&d, err) < 0 || read_dir(&d, err) < 0)
		return -1;
	if (t->count > 0)
		qsort(t->list, t->count, sizeof(*t->list), compare);
	/* The level of files outside of a directory of one: that of their
	 * kinds.  All parts of a checkpoint have one id. */
	for (size_t i = 0, end = 0; i < t->count; i = end) {
		const struct fti_entry *e = &t->list[i];
		enum fti_level level = FTI_L1;

		for (end = i;
		     end < t->count && t->list[end].level == e->level &&
		     str_eq(t->list[end].exec, e->exec) &&
		     t->list[end].name.id == e->name.id;
		     end++) {
			const enum fti_name_kind kind = t->list[end].name.kind;

			if (kind == FTI_NAME_PARITY)
				level = FTI_L3;
			else if (kind == FTI_NAME_COPY && level != FTI_L3)
				level = FTI_L2;
		}
		if (e->level != FTI_NO_LEVEL)
			continue;
		for (size_t k = i; k < end; k++)
			if (fti_name_is_of_rank(t->list[k].name.kind)) {
				t->list[k].flat = true;
				t->list[k].level = all = level;
			}
	}
	/* Metadata have no id. */
	for (size_t i = 0; i < t->count; i++)
		if (t->list[i].level == FTI_NO_LEVEL &&
		    t->list[i].name.kind == FTI_NAME_SECTOR)
			t->list[i].level = all;
	if (t->count > 0)
		qsort(t->list, t->count, sizeof(*t->list), compare);
	return 0;
}

void
fti_tree_close(struct fti_tree *t)
{
	if (t->arena != NULL)
		io_close(t->fd);
	mem_free(t->list);
	arena_free(t->arena);
	*t = (struct fti_tree){ .fd = -1 };
}

const char *
fti_tree_dir(struct arena *a, const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash == NULL ? ""
			     : arena_strndup(a, path, (size_t)(slash - path));
}

const char *
fti_tree_join(struct arena *a, const char *dir, const char *name)
{
	return arena_printf(a, "%s%s%s", dir, dir[0] == '\0' ? "" : "/", name);
}

bool
fti_tree_beside(const char *a, const char *b)
{
	const size_t len = (size_t)(path_base(a) - a);

	return (size_t)(path_base(b) - b) == len && strncmp(a, b, len) == 0;
}

/* More than any machine has. */
#define NODE_SIZE_MAX (1 << 20)

#define BASIC "basic"
#define RESTART "restart"
#define ADVANCED "advanced"

static const struct number {
	const char *section, *key;
	struct fti_ini_range range;
	size_t at; /* of the member */
} numbers[] = {
#define MEMBER(name) offsetof(struct fti_config, name)
	{ BASIC, "head", { 0, 1 }, MEMBER(head) },
	{ BASIC, "node_size", { 1, NODE_SIZE_MAX }, MEMBER(node_size) },
	{ BASIC, "group_size", { 2, 31 }, MEMBER(group_size) },
	{ ADVANCED, "local_test", { 0, 1 }, MEMBER(local_test) },
};

static const struct text {
	const char *section, *key;
	size_t at;
} texts[] = {
	{ RESTART, "exec_id", MEMBER(exec_id) },
	{ BASIC, "ckpt_dir", MEMBER(ckpt_dir) },
	{ BASIC, "glbl_dir", MEMBER(glbl_dir) },
	{ BASIC, "meta_dir", MEMBER(meta_dir) },
};

int
fti_config_take(struct fti_config *c, struct fti_ini *ini, struct error *err)
{
	*c = (struct fti_config){ .ini = ini };
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
		const struct number *n = &numbers[i];
		const char *text = fti_ini_get(ini, n->section, n->key);
		int64_t value = -1;

		if (text != NULL && text[0] != '\0' &&
		    fti_ini_number(ini, n->section, n->key, n->range, &value,
				   err) < 0)
			return -1;
		memcpy((char *)c + n->at, &value, sizeof(value));
	}
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		const char *text =
			fti_ini_get(ini, texts[i].section, texts[i].key);

		if (text != NULL && text[0] != '\0')
			memcpy((char *)c + texts[i].at, &text, sizeof(text));
	}
	/* exec_id is the name of a directory. */
	if (c->exec_id == NULL ||
	    (path_is_clean(c->exec_id) && strchr(c->exec_id, '/') == NULL))
		return 0;
	return error_set(err, ERROR_CORRUPT,
			 "%s: [" RESTART "] exec_id: not a name of a directory",
			 fti_ini_name(c->ini));
}

int
fti_config_open(struct fti_config *c, int dirfd, const char *path,
		struct error *err)
{
	struct fti_ini *ini = fti_ini_read(dirfd, path, err);

	*c = (struct fti_config){ .ini = ini };
	return ini == NULL ? -1 : fti_config_take(c, ini, err);
}

void
fti_config_close(struct fti_config *c)
{
	fti_ini_free(c->ini);
	*c = (struct fti_config){ .ini = NULL };
}

int
fti_config_beneath(const char *configured, struct buf *out, struct error *err)
{
	struct buf normal = BUF_INIT;
	const char *rel = NULL;
	int rc = 0;

	path_normal(configured, &normal, NULL);
	rel = normal.data + strspn(normal.data, "/");
	rel = rel[0] == '\0' ? "." : rel;
	buf_clear(out);
	if (str_eq(rel, ".") || path_is_clean(rel))
		buf_add_str(out, rel);
	else
		rc = error_set(err, ERROR_UNSAFE,
			       "%s: leads out of the root directory",
			       configured);
	buf_free(&normal);
	return rc;
}

int
fti_config_dir(const char *root, const char *config, const char *configured,
	       struct buf *out, struct error *err)
{
	struct buf real = BUF_INIT, path = BUF_INIT;
	const char *below = NULL;
	int rc = path_real(root, &real, err);

	if (rc == 0 && configured[0] == '/') {
		path_normal(configured, &path, NULL);
		below = path_below(path.data, real.data);
		if (below == NULL || below[0] == '\0')
			below = configured;
	} else if (rc == 0) {
		/* It is below the directory of the configuration. */
		buf_printf(&path, "%.*s%s", (int)(path_base(config) - config),
			   config, configured);
		below = path.data;
	}
	if (rc == 0)
		rc = fti_config_beneath(below, out, err);
	buf_free(&real);
	buf_free(&path);
	return rc;
}
