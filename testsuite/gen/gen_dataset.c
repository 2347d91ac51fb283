/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * gen_dataset - make a dataset with redundancy on pretend nodes, as LLNL's
 * library and a scavenge leave it, or check the files of a rebuilt one.
 */
#include "app.h"
#include "gen/gen.h"
#include "meta/dataset.h"
#include "num.h"
#include "opt.h"
#include "scratch.h"

/* --- Options --- */

struct settings {
	const char *prefix, *recorded, *nodes_dir, *name, *dir, *type, *size;
	const char *layout;
	const char *lose;
	uint64_t ranks, nodes, files, failures, set_size, id, time, seed, owner;
	const char *mode;
	bool cyclic, output, ckpt, crc, check;
};

static int
parse_type(struct gen *g, const struct settings *s, struct error *err)
{
	g->none = str_eq(s->type, "NONE");
	if (g->none)
		return 0;
	for (g->type = 0; g->type < REDSET_TYPES; g->type++)
		if (str_eq(s->type, redset_type_name(g->type)))
			break;
	if (g->type == REDSET_TYPES)
		return error_set(
			err, ERROR_USAGE,
			"--type %s: not NONE, SINGLE, PARTNER, XOR, RS",
			s->type);
	g->failures = g->type == REDSET_SINGLE ? 0
		      : g->type == REDSET_XOR  ? 1
		      : s->failures > 0	       ? (uint32_t)s->failures
		      : g->type == REDSET_RS   ? 2
					       : 1;
	return 0;
}

/* Parse "BYTES" or "BYTES,SPREAD". */
static int
parse_size(struct gen *g, const char *text, struct error *err)
{
	const char *comma = strchrnul(text, ',');
	char first[64];

	snprintf(first, sizeof(first), "%.*s", (int)(comma - text), text);
	if (num_bytes(first, UINT64_MAX / 4, &g->size, err) < 0)
		return -1;
	return *comma == '\0'
		       ? 0
		       : num_bytes(comma + 1, UINT64_MAX / 4, &g->spread, err);
}

/* Parse node numbers separated by commas. */
static int
parse_lost(struct gen *g, const char *text, struct error *err)
{
	const char *end = NULL;
	uint64_t node = 0;
	char number[32];

	g->lost = gen_alloc(g->arena, g->nnodes, sizeof(*g->lost));
	for (; text != NULL && *text != '\0'; text = *end ? end + 1 : end) {
		end = strchrnul(text, ',');
		snprintf(number, sizeof(number), "%.*s", (int)(end - text),
			 text);
		if (num_u64(number, 0, g->nnodes - 1, &node, err) < 0)
			return error_wrap(err, "--lose");
		g->lost[node] = true;
	}
	return 0;
}

/* Find the directories.  Those of the nodes are beside the prefix, and so is
 * `local`, the path by which each node knows its own. */
static int
find_places(struct gen *g, const struct settings *s, struct error *err)
{
	struct buf real = BUF_INIT;
	const char *slash = NULL;

	if (mkdir(s->prefix, 0777) < 0 && access(s->prefix, F_OK) < 0)
		return error_sys(err, "%s", s->prefix);
	if (path_real(s->prefix, &real, err) < 0)
		return -1;
	g->prefix = gen_printf(g, "%s", real.data);
	buf_free(&real);
	g->recorded = s->recorded != NULL ? s->recorded : g->prefix;
	if (g->recorded[0] != '/')
		return error_set(err, ERROR_USAGE,
				 "%s: the recorded prefix must be absolute",
				 s->recorded);
	slash = strrchr(g->prefix, '/');
	g->nodes_dir =
		s->nodes_dir != NULL
			? s->nodes_dir
			: gen_printf(g, "%.*s/nodes", (int)(slash - g->prefix),
				     g->prefix);
	slash = strrchr(g->recorded, '/');
	g->cache_dir =
		gen_printf(g,
			   "%.*s/local/cache/" GEN_USER "/scr." GEN_JOB
			   "/scr.dataset.%" PRId64,
			   (int)(slash - g->recorded), g->recorded, g->id);
	return 0;
}

static int
apply_settings(struct gen *g, const struct settings *s, struct error *err)
{
	if (s->prefix == NULL)
		return error_set(err, ERROR_USAGE, "--prefix is missing");
	if (s->nodes > s->ranks)
		return error_set(err, ERROR_USAGE, "more nodes than ranks");
	g->id = (int64_t)s->id;
	g->time = (int64_t)s->time;
	g->mode = s->mode != NULL ? (uint32_t)strtoul(s->mode, NULL, 8) : 0;
	g->uid = s->owner < UINT32_MAX ? (uint32_t)s->owner : geteuid();
	g->gid = s->owner < UINT32_MAX ? (uint32_t)s->owner : getegid();
	g->nranks = (uint32_t)s->ranks;
	g->nnodes = s->nodes > 0 ? (uint32_t)s->nodes : g->nranks;
	g->nfiles = (uint32_t)s->files;
	g->set_size = (uint32_t)s->set_size;
	g->cyclic = s->cyclic;
	g->is_output = s->output;
	g->is_ckpt = s->ckpt || !s->output;
	g->crc = s->crc;
	g->name = s->name != NULL ? s->name
				  : gen_printf(g, "ckpt.%" PRId64, g->id);
	g->ranks = gen_alloc(g->arena, g->nranks, sizeof(*g->ranks));
	g->dir = s->dir != NULL ? s->dir : g->name;
	g->seed = s->seed;
	if (!dataset_name_ok(g->name) || !path_is_clean(g->dir))
		return error_set(err, ERROR_USAGE, "%s: not a name", g->name);
	g->in_prefix = !str_eq(s->layout, "cache");
	g->in_cache = !str_eq(s->layout, "prefix");
	if (g->in_prefix && g->in_cache && !str_eq(s->layout, "both"))
		return error_set(err, ERROR_USAGE,
				 "--layout %s: not prefix, cache, both",
				 s->layout);
	if (parse_type(g, s, err) < 0 || parse_size(g, s->size, err) < 0 ||
	    parse_lost(g, s->lose, err) < 0)
		return -1;
	return find_places(g, s, err);
}

/* --- Making --- */

static void
write_data_file(const struct gen *g, uint32_t rank, uint32_t number,
		unsigned char *block)
{
	struct gen_file *f = &g->ranks[rank].files[number];
	struct place_file out;
	size_t len = 0;

	place_create(g, rank, f->rel, f->base, &out);
	/* A lost file is not written; only its checksum is needed. */
	if (out.n == 0 && !g->crc)
		return;
	for (uint64_t off = 0; off < f->attr.size; off += len) {
		len = f->attr.size - off < GEN_BLOCK
			      ? (size_t)(f->attr.size - off)
			      : GEN_BLOCK;
		content_fill(g->seed, rank, number, off, len, block);
		if (g->crc)
			f->crc = crc_update(f->crc, block, len);
		place_write(&out, block, len, off);
	}
	place_done(&out, &f->attr);
}

static void
make(struct gen *g, unsigned char *block)
{
	place_open(g);
	for (uint32_t r = 0; r < g->nranks; r++)
		for (uint32_t i = 0; i < g->nfiles; i++)
			write_data_file(g, r, i, block);
	metawrite_filemaps(g);
	metawrite_indexes(g);
	if (!g->none) {
		redundancy_write(g, true);
		redundancy_write(g, false);
	}
}

/* --- Checking --- */

/* Return 0 if the file has the right bytes, size, mode and time.  `block` has
 * two blocks. */
static int
check_file(const struct gen *g, uint32_t rank, uint32_t number,
	   unsigned char *block, struct error *err)
{
	const struct gen_file *f = &g->ranks[rank].files[number];
	unsigned char *want = block + GEN_BLOCK;
	struct stat st;
	size_t len = 0;
	auto_fd int fd =
		open(fmt("%s/%s", g->prefix, f->rel), O_RDONLY | O_CLOEXEC);
	int rc = 0;

	if (fd < 0 || fstat(fd, &st) < 0)
		rc = error_sys(err, "%s", f->rel);
	else if ((uint64_t)st.st_size != f->attr.size ||
		 st.st_mode != f->attr.mode ||
		 st.st_mtim.tv_sec != f->attr.mtime.tv_sec ||
		 st.st_mtim.tv_nsec != f->attr.mtime.tv_nsec)
		rc = error_set(err, ERROR_DAMAGED,
			       "%s: size, mode or time differs", f->rel);
	for (uint64_t off = 0; rc == 0 && off < f->attr.size; off += len) {
		len = f->attr.size - off < GEN_BLOCK
			      ? (size_t)(f->attr.size - off)
			      : GEN_BLOCK;
		content_fill(g->seed, rank, number, off, len, want);
		rc = io_pread(fd, f->rel, block, len, off, err);
		if (rc == 0 && memcmp(block, want, len) != 0)
			rc = error_set(err, ERROR_DAMAGED,
				       "%s: contents differ", f->rel);
	}
	return rc;
}

static int
check(struct gen *g, unsigned char *block)
{
	struct error err = ERROR_INIT;
	int status = STATUS_OK;

	for (uint32_t r = 0; r < g->nranks; r++)
		for (uint32_t i = 0; i < g->nfiles; i++)
			if (check_file(g, r, i, block, &err) < 0)
				status = app_report(status, &err);
	return status == STATUS_OK ? STATUS_OK : STATUS_FAILED;
}

static const struct app_info info = {
	.name = "gen_dataset",
	.summary = "make a dataset on pretend nodes",
	.usage = "--prefix DIR [OPTION]...",
};

static int
run(const struct settings *s, struct error *err)
{
	struct gen g = { .arena = arena_new() };
	unsigned char *block = gen_alloc(g.arena, 2, GEN_BLOCK);
	int status = STATUS_OK;

	if (apply_settings(&g, s, err) == 0 && sets_assign(&g, err) == 0) {
		metawrite_plan(&g);
		if (s->check)
			status = check(&g, block);
		else
			make(&g, block);
	}
	arena_free(g.arena);
	return app_report(status, err);
}

int
main(int argc, char **argv)
{
	struct settings s = {
		.type = "XOR",
		.size = "64K",
		.layout = "prefix",
		.ranks = 4,
		.files = 1,
		.set_size = 8,
		.id = 1,
		.time = 1700000000,
		.owner = UINT32_MAX,
	};
	const struct opt opts[] = {
		OPT_STRING('p', "prefix", &s.prefix, "DIR", OPT_DIR,
			   "write below this directory"),
		OPT_U64('n', "ranks", &s.ranks, "N", 1, 1000000,
			"number of ranks (4)"),
		OPT_U64('m', "nodes", &s.nodes, "N", 1, 1000000,
			"number of nodes (as many as ranks)"),
		OPT_FLAG(0, "cyclic", &s.cyclic,
			 "rank r on node r modulo nodes, not in blocks"),
		OPT_STRING('t', "type", &s.type, "TYPE", OPT_ANY,
			   "NONE, SINGLE, PARTNER, XOR or RS (XOR)"),
		OPT_U64('k', "failures", &s.failures, "K", 1, 200,
			"losses to survive: RS (2), PARTNER (1)"),
		OPT_U64(0, "set-size", &s.set_size, "N", 1, 1000000,
			"least members of a set (8)"),
		OPT_U64('f', "files", &s.files, "N", 0, 10000000,
			"files of each rank (1)"),
		OPT_STRING('s', "size", &s.size, "BYTES[,SPREAD]", OPT_ANY,
			   "size of each file, and how much larger some are"),
		OPT_STRING(0, "name", &s.name, "NAME", OPT_ANY,
			   "of the dataset (ckpt.ID)"),
		OPT_STRING(0, "dir", &s.dir, "DIR", OPT_ANY,
			   "directory of the files (default: the name)"),
		OPT_U64(0, "seed", &s.seed, "N", 0, UINT32_MAX,
			"other contents for each value (default: 0)"),
		OPT_U64('i', "id", &s.id, "ID", 1, 2147483647,
			"of the dataset (1)"),
		OPT_FLAG(0, "ckpt", &s.ckpt, "a checkpoint (unless --output)"),
		OPT_FLAG(0, "output", &s.output, "an output dataset"),
		OPT_STRING(0, "layout", &s.layout, "WHERE", OPT_ANY,
			   "prefix, cache or both (prefix)"),
		OPT_STRING(0, "nodes-dir", &s.nodes_dir, "DIR", OPT_DIR,
			   "the nodes' directories (nodes, beside the prefix)"),
		OPT_STRING(0, "lose", &s.lose, "NODE,...", OPT_ANY,
			   "nodes of which nothing is left"),
		OPT_FLAG(0, "crc", &s.crc, "store checksums in the filemaps"),
		OPT_STRING(0, "recorded-prefix", &s.recorded, "DIR", OPT_DIR,
			   "path of the prefix as the metadata have it"),
		OPT_STRING(0, "mode", &s.mode, "OCTAL", OPT_ANY,
			   "of all files, and as recorded"),
		OPT_U64(0, "owner", &s.owner, "UID", 0, UINT32_MAX - 1,
			"user and group as recorded"),
		OPT_U64(0, "time", &s.time, "SECONDS", 0, 4000000000,
			"recorded times start here"),
		OPT_FLAG(0, "check", &s.check,
			 "write nothing: compare all files below the prefix"),
		OPT_END,
	};
	struct error err = ERROR_INIT;
	int count = 0;

	app_start(&info, argc, argv, opts, &count);
	if (count > 0)
		app_usage("no arguments are expected");
	return app_finish(run(&s, &err));
}
