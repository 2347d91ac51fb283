/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * t_nodecache.c - the report of a node on its cache, whole and damaged; written
 * as JSON and read again.
 */
#include <fnmatch.h>

#include "copytest.h"
#include "steps.h"

static void
look(struct nodecache *n, const char *cachedir)
{
	const struct nodecache_where w = {
		.cntl = cache.cntl,
		.cachedirs = &cachedir,
		.ncachedirs = cachedir != NULL,
	};

	nodecache_read(n, &w);
}

/* Does the problem contain these words?  "(none)": there is none. */
static bool
told(const char *problem, const char *words)
{
	printf("# %s\n", problem != NULL ? problem : "(none)");
	return strstr(problem != NULL ? problem : "(none)", words) != NULL;
}

/* "map" or that the files are listed in a header; files; redundancy. */
static const char *
state_of(const struct nodecache_rank *r)
{
	return fmt("%s%s, %llu files, %llu bad%s%s", r->map ? "map" : "",
		   r->listed ? "listed" : "", (unsigned long long)r->files,
		   (unsigned long long)r->bad, r->red.there ? ", red" : "",
		   r->mapred.there ? ", mapred" : "");
}

#define RED_1 "er.1.partner.grp_1_of_1.mem_2_of_4.redset"

/* Damage to rank 1, what is told of it then, and why.  Without a filemap, files
 * and bad count those that the header lists: one, which is not there. */
static const struct damage {
	const char *what, *file; /* below the dataset directory */
	enum { GONE, SHORT, LINK, JUNK, DIRECTORY } how;
	const char *state, *problem;
} damages[] = {
	{ "a file gone", "rank 1.0", GONE, "map, 1 files, 1 bad, red, mapred",
	  "No such file" },
	{ "a file short", "rank 1.0", SHORT, "map, 1 files, 1 bad, red, mapred",
	  "50 bytes, expected 1100" },
	{ "a file a link", "rank 1.0", LINK, "map, 1 files, 1 bad, red, mapred",
	  "by a link that others may have made" },
	{ "a file a directory", "rank 1.0", DIRECTORY,
	  "map, 1 files, 1 bad, red, mapred", "not a regular file" },
	{ "a filemap gone", ".scr/filemap_1", GONE,
	  "listed, 0 files, 1 bad, red, mapred", "(none)" },
	{ "a filemap short", ".scr/filemap_1", SHORT,
	  "listed, 0 files, 1 bad, red, mapred", "filemap_1" },
	{ "a filemap junk", ".scr/filemap_1", JUNK,
	  "listed, 0 files, 1 bad, red, mapred", "filemap_1" },
	{ "a filemap a link", ".scr/filemap_1", LINK,
	  "listed, 0 files, 1 bad, red, mapred",
	  "by a link that others may have made" },
	{ "redundancy gone", ".scr/reddesc." RED_1, GONE,
	  "map, 2 files, 0 bad, mapred", "(none)" },
	{ "redundancy without a body", ".scr/reddesc." RED_1, SHORT,
	  "map, 2 files, 0 bad, mapred", "reddesc.er.1.partner" },
	{ "redundancy of the map junk", ".scr/reddescmap." RED_1, JUNK,
	  "map, 2 files, 0 bad, red", "reddescmap.er.1.partner" },
	{ "a descriptor gone", ".scr/reddesc.er.1.redset", GONE,
	  "map, 2 files, 0 bad, red, mapred", "(none)" },
};

static void
do_damage(const struct damage *d)
{
	const char *path = fmt("%s/%s", cache.dataset, d->file);

	if (d->how == SHORT) {
		must(truncate(path, 50) == 0);
		return;
	}
	must(unlink(path) == 0);
	if (d->how == JUNK)
		write_text(path, "junk, but long enough to be looked at");
	else if (d->how == LINK)
		link_by_anyone("/etc/passwd", path);
	else if (d->how == DIRECTORY)
		must(mkdir(path, 0777) == 0);
}

TEST(damaged)
{
	each (t, damages) {
		const struct damage *d = t;
		const struct nodecache_rank *r = NULL;
		auto_nodecache n;

		cache_make(&cache);
		do_damage(d);
		look(&n, NULL);
		must(n.ndatasets == 1 && n.datasets[0].nranks == CACHE_RANKS);
		r = n.datasets[0].ranks;
		is_str(state_of(&r[1]), d->state, d->what);
		ok(told(r[1].problem, d->problem), "... is told");
		ok(r[0].problem == NULL &&
			   strcmp(state_of(&r[0]),
				  "map, 2 files, 0 bad, red, mapred") == 0,
		   "... and the others are as they were");
	}
}

TEST(contradictions)
{
	auto_nodecache n;

	cache_make(&cache);
	edit_keys(fmt("%s/.scr/filemap_3", cache.dataset), "FILE>*>META>RANKS",
		  "8");
	edit_keys(fmt("%s/.scr/filemap_2", cache.dataset),
		  fmt("FILE>%s/rank 2.0>META>COMPLETE", cache.dataset), "0");
	look(&n, NULL);
	is_int(n.datasets[0].world, CACHE_RANKS, "the first number is kept");
	ok(told(n.datasets[0].problem, "written by 8 ranks"), "... and told");
	ok(n.datasets[0].ranks[2].bad == 1 && n.datasets[0].ranks[2].files == 1,
	   "a file that was never completed is bad");
	is_int(n.datasets[0].ranks[2].unfinished, 1, "... and unfinished");
	ok(told(n.datasets[0].ranks[2].problem, "never completed"), "... too");
}

#define INDEX "shm/u/scr.1/" CINDEX_FILE
#define JOB "ssd/u/scr.1"

/* Datasets found without the index, or missing in it: changes by the shell in
 * the scratch directory, the cache's directory, and a pattern for "problem of
 * the node; number of datasets; id, ranks, name: problem". */
static const struct {
	const char *what, *change, *cachedir, *want;
} searches[] = {
	{ "no index", "rm " INDEX, NULL, "*No such file*; 0;*" },
	{ "the directory is found without it", ":", JOB,
	  "*; 1; 5, 4, (none): *" },
	{ "an index of junk", "echo junk, and no tree of keys >" INDEX, JOB,
	  "*" CINDEX_FILE "*; 1; *" },
	{ "what both know comes once, with its name", "mv saved " INDEX, JOB,
	  "*; 1; 5, 4, ckpt 5: *" },
	{ "the index knows what is gone",
	  "cd " JOB " && mv scr.dataset.5 node.3 && mkdir v", JOB,
	  "*; 1; *: *cannot open*" },
	{ "and it is found in a view of a node",
	  "cd " JOB " && mv node.3 v/scr.dataset.5 && mv v node.3", JOB,
	  "*; 1; 5, 4, ckpt 5: (none)" },
	{ "a cache that is not there is empty", ":", "nowhere", "(none); *" },
};

TEST(lost_index)
{
	cache_make(&cache);
	must(system(fmt("cd %s && cp " INDEX " saved", cache.root)) == 0);
	each (s, searches) {
		const char *dir = s->cachedir;
		const char *text = NULL;
		auto_nodecache n;

		must(system(fmt("cd %s && %s", cache.root, s->change)) == 0);
		look(&n, dir != NULL ? fmt("%s/%s", cache.root, dir) : NULL);
		text = fmt("%s; %zu;", n.problem ? n.problem : "(none)",
			   n.ndatasets);
		if (n.ndatasets > 0) {
			const struct nodecache_dataset *d = n.datasets;

			text = fmt("%s %d, %zu, %s: %s", text, (int)d->id,
				   d->nranks, d->name ? d->name : "(none)",
				   d->problem ? d->problem : "(none)");
		}
		printf("# %s\n", text);
		ok(fnmatch(s->want, text, 0) == 0, s->what);
	}
}

/* --- JSON --- */

static bool
same_json(const struct nodecache *n, const char *text)
{
	auto_buf again = BUF_INIT;

	nodecache_json(n, &again);
	return strcmp(again.data, text) == 0;
}

static void
make_line(struct buf *line)
{
	auto_nodecache n;

	cache_make(&cache);
	must(unlink(fmt("%s/rank 3.0", cache.dataset)) == 0);
	must(unlink(fmt("%s/.scr/reddesc.er.2.partner.grp_1_of_1.mem_3_of_4"
			".redset",
			cache.dataset)) == 0);
	look(&n, NULL);
	/* Bytes that are not UTF-8 are preserved. */
	n.datasets[0].name = "ckpt \xff";
	nodecache_json(&n, line);
}

/* With many ranks the answer takes several lines.  No line exceeds pdsh's
 * limit, and strings are not split. */
TEST(long)
{
	enum { RANKS = 2000 };
	auto_free struct nodecache_rank *ranks = calloc(RANKS, sizeof(*ranks));
	struct nodecache_dataset d = {
		.id = 1,
		.name = "a \"b\\\",{\",",
		.dir = "/ssd",
		.world = RANKS,
		.store = "1:2",
		.nranks = RANKS,
		.ranks = ranks,
	};
	const struct nodecache n = {
		.host = "n", .cntl = "/c", .ndatasets = 1, .datasets = &d
	};
	struct nodecache got;
	auto_buf text = BUF_INIT;
	size_t longest = 0, line = 0;

	must(ranks != NULL);
	for (size_t i = 0; i < RANKS; i++) {
		ranks[i].rank = (int64_t)i;
		ranks[i].problem = "a problem, \"quoted\", and \\ more of it";
	}
	nodecache_json(&n, &text);
	for (const char *p = text.data; *p != '\0'; p = p + line + 1) {
		line = strcspn(p, "\n");
		longest = line > longest ? line : longest;
		if (p[line] == '\0')
			break;
	}
	ok(text.len > 128 << 10 && longest < 100 << 10, "in several lines");
	ok(nodecache_parse(&got, text.data, text.len, NULL) == 0 &&
		   got.datasets[0].nranks == RANKS &&
		   strcmp(got.datasets[0].name, d.name) == 0 &&
		   strcmp(got.datasets[0].ranks[RANKS - 1].problem,
			  ranks[0].problem) == 0,
	   "and read again");
	nodecache_free(&got);
}

TEST(json)
{
	auto_buf line = BUF_INIT;
	struct nodecache n;

	make_line(&line);
	ok(memchr(line.data, '\n', line.len) == NULL, "one line");
	is_int(nodecache_parse(&n, line.data, line.len, NULL), 0, "parsed");
	ok(same_json(&n, line.data), "... to the same");
	is_str(n.datasets[0].name, "ckpt \xff", "... to the byte");
	ok(told(n.datasets[0].ranks[3].problem, "rank 3.0"), "... problems");
	ok(!n.datasets[0].ranks[2].red.there &&
		   n.datasets[0].ranks[2].mapred.there,
	   "... redundancy");
	nodecache_free(&n);
}

#define HEAD "{'format':1,'host':'a','datasets':["
#define SET HEAD "{'id':1,'bypass':false,'ckpt':true,'output':false,'world':4,"
#define COUNTED "{'rank':3,'map':true,'files':1,'bytes':1,'bad':0"
#define RANK COUNTED ",'redundancy':9"
#define RANKS SET "'ranks':["
#define RED "{'type':'XOR','set':1,'sets':1,'member':1,'members':2,'failures':1"
#define SIZED RED ",'chunk':5,'bytes':10,"
#define LOST(ranges) RANKS RANK ",'red':" SIZED "'lost':[" ranges "]}}]}]}"

TEST(refused)
{
	/* With ' for ". */
	static const struct {
		const char *text, *says; /* NULL: it is read */
	} cases[] = {
		{ "", "JSON" },
		{ "[]", "format" },
		{ "{}", "format" },
		{ "null", "JSON" },
		{ "{'format':2,'host':'a','datasets':[]}", "format" },
		{ "{'format':1,'datasets':[]}", "host" },
		{ "{'format':1,'host':1,'datasets':[]}", "host" },
		{ "{'format':1,'host':'a'}", "datasets" },
		{ "{'format':1,'format':1,'host':'a'}", "JSON" },
		{ "{'format':1,'host':'a\\u0000b','datasets':[]}", "JSON" },
		{ HEAD "null]}", "id" },
		{ HEAD "{'id':0}]}", "id" },
		{ HEAD "{'id':2147483648}]}", "id" },
		{ HEAD "{'id':1,'bypass':0}]}", "bypass" },
		{ HEAD "{'id':1,'bypass':false,'ckpt':true,'output':false,"
		       "'world':-2}]}",
		  "world" },
		{ SET "'name':[]}]}", "name" },
		{ RANKS "{'rank':-1}]}]}", "rank" },
		{ RANKS RANK "}," RANK "}]}]}", "rank" },
		{ RANKS COUNTED "}]}]}", "redundancy" },
		{ RANKS RANK ",'red':{'type':'RAID'}}]}]}", "type" },
		{ RANKS RANK ",'red':{'type':'XOR','sets':1,'set':2}}]}]}",
		  "set" },
		{ SET "'name':'x','name_hex':'6'}]}", "name" },
		{ SET "'name':'x','name_hex':'00'}]}", "name" },
		{ LOST("{'from':0,'to':11}"), "lost" },
		{ LOST("{'from':3,'to':3}"), "lost" },
		{ LOST("{}"), "lost" },
		{ LOST("{'from':0,'to':5},{'from':4,'to':6}"), "lost" },
		{ RANKS RANK ",'red':" RED "}}]}]}", NULL },
	};

	each (c, cases) {
		char *text = fmt("%s", c->text);
		auto_nodecache n;
		int rc = 0;

		for (char *p = text; (p = strchr(p, '\'')) != NULL;)
			*p = '"';
		rc = nodecache_parse(&n, text, strlen(text), &why);
		if (c->says == NULL)
			ok(rc == 0 && n.datasets[0].ranks[0].red.there,
			   "what may be missing");
		else
			ok(rc < 0 && why.kind == ERROR_CORRUPT &&
				   says(&why, c->says),
			   text[0] ? text : "nothing at all");
	}
}
