/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * t_salvage.c - what the caches of many nodes hold together, and the verdict if
 * some of them are lost.
 */
#include "json.h"
#include "report/scavenged.h"
#include "scavenge/salvage.h"
#include "scratch.h"

/* A job of `nodes` nodes with `per` ranks each.  Sets have `size` ranks on
 * neighbouring nodes; rank r of each node is in its own series of sets. */
struct job {
	uint32_t nodes, per, size;
	enum redset_type type;
	uint32_t failures;
};

static struct nodecache_red
seat_of(const struct job *j, uint32_t rank)
{
	uint32_t node = rank / j->per, row = rank % j->per;
	uint32_t size = j->type == REDSET_SINGLE ? 1 : j->size;
	uint32_t left = node - node % size + (node + size - 1) % size;

	return (struct nodecache_red){
		.there = true,
		.type = j->type,
		.set = node / size * j->per + row + 1,
		.sets = j->nodes / size * j->per,
		.member = node % size + 1,
		.members = size,
		.failures = j->failures,
		.chunk = j->type > REDSET_PARTNER ? 1000 : 0,
		.bytes = 1000 * (size - j->failures),
		.left = 1000 * (size - j->failures),
		.left_rank = left * j->per + row,
	};
}

static struct salvage_dataset *
dataset(struct salvage *p, int64_t id, int64_t world)
{
	const struct nodecache_dataset like = {
		.id = id, .name = "ckpt", .ckpt = true, .world = world
	};

	return salvage_dataset(p, &like, NULL);
}

static void
add_rank(struct salvage *p, const struct job *j, int64_t id, uint32_t node,
	 uint32_t rank, uint64_t bad)
{
	struct nodecache_rank f = {
		.rank = rank,
		.map = true,
		.files = 2 - bad,
		.bytes = 1000 * (2 - bad),
		.redundancy = 100,
		.bad = bad,
		.red = seat_of(j, rank),
		.mapred = seat_of(j, rank),
	};
	struct salvage_dataset *d = dataset(p, id, j->nodes * j->per);

	must(d != NULL && salvage_found(p, d, node, &f, NULL) == 0);
}

static void
fill(struct salvage *p, const struct job *j, int64_t id)
{
	salvage_init(p, j->nodes);
	for (uint32_t n = 0; n < j->nodes; n++)
		for (uint32_t r = 0; r < j->per; r++)
			add_rank(p, j, id, n, n * j->per + r, 0);
}

/* The dataset's verdict after these nodes, digits in a string, are lost. */
static struct salvage_dataset *
verdict(struct salvage *p, int64_t id, const char *gone)
{
	for (; *gone != '\0'; gone++)
		salvage_lose(p, (uint32_t)(*gone - '0'));
	salvage_plan(p);
	return salvage_find(p, id);
}

/* --- Verdicts --- */

TEST(verdicts)
{
	static const struct {
		struct job job;
		const char *gone; /* lost nodes */
		enum salvage_state want;
		const char *says;
	} cases[] = {
#define JOB(type, per, size, failures) { 4, per, size, REDSET_##type, failures }
		{ JOB(XOR, 2, 4, 1), "", SALVAGE_COMPLETE, "" },
		{ JOB(XOR, 2, 4, 1), "2", SALVAGE_RECOVERABLE, "" },
		{ JOB(XOR, 2, 4, 1), "12", SALVAGE_LOST,
		  "set 1 of 2 (XOR, filemaps): 2 of 4 members are missing" },
		{ JOB(XOR, 2, 2, 1), "02", SALVAGE_RECOVERABLE, "" },
		{ JOB(XOR, 2, 2, 1), "01", SALVAGE_LOST,
		  "ranks 0 1 2 3 (filemaps): no redundancy is left that could "
		  "rebuild all" },
		{ JOB(RS, 2, 4, 2), "03", SALVAGE_RECOVERABLE, "" },
		{ JOB(RS, 1, 4, 2), "013", SALVAGE_LOST,
		  "set 1 of 1 (RS, filemaps): 3 of 4 members are missing" },
		{ JOB(PARTNER, 2, 4, 1), "02", SALVAGE_RECOVERABLE, "" },
		{ JOB(PARTNER, 2, 4, 1), "30", SALVAGE_LOST, "" },
		{ JOB(PARTNER, 2, 4, 2), "30", SALVAGE_RECOVERABLE, "" },
		{ JOB(SINGLE, 1, 1, 0), "", SALVAGE_COMPLETE, "" },
		{ JOB(SINGLE, 1, 1, 0), "1", SALVAGE_LOST,
		  "rank 1 (filemaps): no redundancy is left that could rebuild "
		  "it" },
#undef JOB
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		auto_salvage p;
		const struct salvage_dataset *d = NULL;

		fill(&p, &cases[i].job, 7);
		d = verdict(&p, 7, cases[i].gone);
		is_str(salvage_state_name(d->state),
		       salvage_state_name(cases[i].want), fmt("case %zu", i));
		ok((d->why == NULL) == (d->state != SALVAGE_LOST) &&
			   (d->why == NULL ||
			    strncmp(d->why, cases[i].says,
				    strlen(cases[i].says)) == 0),
		   d->why ? d->why : "... and no reason needed");
	}
}

/* A living node with missing files counts as a missing member. */
TEST(bad_files)
{
	const struct job j = { 4, 1, 4, REDSET_XOR, 1 };
	auto_salvage p, bare, mixed;
	const struct salvage_dataset *d = NULL;

	salvage_init(&p, 4);
	salvage_init(&bare, 4);
	salvage_init(&mixed, 4);
	for (uint32_t n = 0; n < 4; n++) {
		struct nodecache_rank f = { .rank = n, .map = true };

		add_rank(&p, &j, 1, n, n, n == 2);
		must(salvage_found(&bare, dataset(&bare, 1, 4), n, &f, NULL) ==
		     0);
		/* One rank lost its data, another only its redundancy file, so
		 * the set of the latter is unknown. */
		f.red = f.mapred = seat_of(&j, n);
		f.bad = n == 1;
		f.red.there = n != 2;
		must(salvage_found(&mixed, dataset(&mixed, 1, 4), n, &f,
				   NULL) == 0);
	}
	d = verdict(&p, 1, "");
	ok(d->state == SALVAGE_RECOVERABLE && d->missing == 1 &&
		   d->files == 7 && d->bytes == 7400,
	   "one short file comes back, the rest is copied");
	d = verdict(&p, 1, "0");
	ok(d->state == SALVAGE_RECOVERABLE && d->missing == 2,
	   "with a dead node it may still");
	d = verdict(&p, 1, "1");
	ok(d->state == SALVAGE_LOST && d->missing == 3, "with two it cannot");
	is_str(d->why, "set 1 of 1 (XOR, filemaps): 2 of 4 members are missing",
	       "... so");
	ok(verdict(&bare, 1, "")->state == SALVAGE_COMPLETE,
	   "without redundancy files, but with all data: complete");
	ok(verdict(&mixed, 1, "")->state == SALVAGE_RECOVERABLE,
	   "where it cannot be told, it is tried");
}

/* What each rank of one set has lost: nothing; r: only its redundancy file;
 * e: an empty file; d: all. */
TEST(ranks_of_a_set)
{
	static const struct {
		enum redset_type type;
		uint32_t failures;
		const char *ranks, *name;
		enum salvage_state want;
	} cases[] = {
		{ REDSET_RS, 2, ".r.rd.",
		  "33: no stripe lacks more than two chunks",
		  SALVAGE_RECOVERABLE },
		{ REDSET_RS, 2, "..rrd.", "a stripe lacks three",
		  SALVAGE_LOST },
		{ REDSET_XOR, 1, ".rd.", "two of a stripe", SALVAGE_LOST },
		{ REDSET_PARTNER, 1, "d.e",
		  "33: an empty file, whose copy is gone, has no bytes",
		  SALVAGE_RECOVERABLE },
		{ REDSET_PARTNER, 1, ".r.d", "the copy is with the next",
		  SALVAGE_RECOVERABLE },
		{ REDSET_PARTNER, 1, "r..d", "and here it may be",
		  SALVAGE_RECOVERABLE },
		{ REDSET_SINGLE, 0, "e", "33: an empty file needs no copy",
		  SALVAGE_RECOVERABLE },
		{ REDSET_SINGLE, 0, "d", "33: unless nothing names it",
		  SALVAGE_LOST },
	};

	each (c, cases) {
		const uint32_t n = (uint32_t)strlen(c->ranks);
		const struct job j = { n, 1, n, c->type, c->failures };
		auto_salvage p;

		salvage_init(&p, n);
		for (uint32_t r = 0; r < n; r++) {
			struct nodecache_rank f = { .rank = r, .map = true };

			f.red = f.mapred = seat_of(&j, r);
			f.red.there = f.mapred.there = c->ranks[r] != 'r';
			f.bad = c->ranks[r] == 'e';
			must(c->ranks[r] == 'd' ||
			     salvage_found(&p, dataset(&p, 1, n), r, &f,
					   NULL) == 0);
		}
		must(dataset(&p, 1, n) != NULL);
		is_str(salvage_state_name(verdict(&p, 1, "")->state),
		       salvage_state_name(c->want), c->name);
	}
}

/* --- Assignment of copies --- */

/* All nodes share one cache. */
TEST(shared)
{
	const struct job j = { 4, 4, 4, REDSET_XOR, 1 };
	auto_salvage p;
	auto_buf text = BUF_INIT;
	uint32_t *nodes = NULL;
	size_t count = 0, copied = 0;
	struct salvage_dataset *d = NULL;

	salvage_init(&p, 4);
	for (uint32_t n = 0; n < 4; n++)
		for (uint32_t r = 0; r < 16; r++)
			add_rank(&p, &j, 3, n, r, 0);
	d = verdict(&p, 3, "");
	ok(d->state == SALVAGE_COMPLETE && d->bytes == 33600,
	   "copied once, whoever has it");
	count = salvage_nodes(&p, d, &nodes);
	is_int(count, 4, "all four have something to do");
	for (uint32_t n = 0; n < 4; n++) {
		uint32_t ranks = 0;

		for (uint32_t r = 0; r < 16; r++)
			ranks += d->ranks[r].best->node == n;
		copied += ranks == 4;
	}
	is_int(copied, 4, "each as much as the others");
	d = verdict(&p, 3, "1");
	count = salvage_nodes(&p, d, &nodes);
	ok(count == 3 && nodes[0] == 0 && nodes[1] == 2 && nodes[2] == 3 &&
		   d->state == SALVAGE_COMPLETE,
	   "one dies: the others do its part");
	salvage_free(&p);

	fill(&p, &j, 3);
	salvage_ranks(verdict(&p, 3, ""), 2, &text);
	is_str(text.data, "8-11", "a node's ranks");
	salvage_free(&p);
	salvage_init(&p, 2);
	for (uint32_t r = 0; r < 9; r++)
		add_rank(&p, &j, 3, r % 3 == 1, r, 0);
	buf_clear(&text);
	salvage_ranks(verdict(&p, 3, ""), 0, &text);
	is_str(text.data, "0,2-3,5-6,8", "... in stretches");
}

/* --- Malformed input --- */

TEST(odd)
{
	auto_salvage p;
	struct salvage_dataset *d = NULL;
	struct nodecache_rank f = { .rank = 4 };
	auto_buf text = BUF_INIT;

	salvage_init(&p, 4);
	salvage_plan(&p);
	report_salvage(&p, 0, &text);
	is_str(text.data, "DSET  STATE  KIND  RANKS  TO COPY  TIME  NAME\n",
	       "nothing at all: a heading");
	d = dataset(&p, 1, 4);
	refuses(salvage_found(&p, d, 0, &f, &why), ERROR_CORRUPT, NULL,
		"a rank beyond the job is refused");
	f.rank = 0;
	refuses(salvage_found(&p, d, 4, &f, &why), ERROR_CORRUPT, NULL,
		"so is a node");
	f.red = (struct nodecache_red){
		.there = true, .set = 1, .sets = 1, .member = 5, .members = 4
	};
	refuses(salvage_found(&p, d, 0, &f, &why), ERROR_CORRUPT, NULL,
		"and a member beyond its set");
	ok(dataset(&p, 1, 5) == NULL && dataset(&p, 1, -1) != NULL,
	   "two sizes of one job cannot be used together");
	/* Far more members than ranks: the verdict is still fast, and a rebuild
	 * is tried. */
	f.red = f.mapred =
		(struct nodecache_red){ .there = true,
					.type = REDSET_PARTNER,
					.set = 1,
					.sets = 1,
					.member = 1,
					.members = SALVAGE_MAX_RANKS };
	f.map = true;
	must(salvage_found(&p, d, 0, &f, NULL) == 0);
	salvage_plan(&p);
	ok(d->state == SALVAGE_RECOVERABLE, "sets that cannot be say nothing");
	d = dataset(&p, 2, -1);
	must(d != NULL);
	d = verdict(&p, 2, "");
	ok(d->state == SALVAGE_LOST && d->why != NULL,
	   "nobody knows how many ranks: lost, and why");
}

TEST(reports)
{
	const struct job j = { 4, 2, 4, REDSET_XOR, 1 };
	auto_salvage p;
	auto_buf text = BUF_INIT;
	struct json *json = NULL;
	struct salvage_dataset *d = NULL;

	fill(&p, &j, 5);
	for (uint32_t r = 0; r < 8; r++)
		add_rank(&p, &j, 12, r / 2, r, 0);
	d = verdict(&p, 5, "3");
	d->done = true;
	report_salvage(&p, 100, &text);
	is_str(text.data,
	       "DSET  STATE        KIND        RANKS   TO COPY   TIME  NAME\n"
	       "  12  recoverable  checkpoint    6/8  12.3 KiB  2 min  ckpt\n"
	       "   5  saved        checkpoint    6/8       0 B    0 s  ckpt\n",
	       "as text, the newest first");
	json = report_salvage_json(&p, 0);
	must(json != NULL);
	json_free(json);
}

/* The answer of a node of job `j`: a line of JSON. */
static void
answer(const struct job *j, uint32_t node, struct buf *out)
{
	auto_free struct nodecache_rank *ranks = calloc(j->per, sizeof(*ranks));
	struct nodecache_dataset d[3];
	struct nodecache n = { .ndatasets = 3, .datasets = d };

	must(ranks != NULL);
	n.host = fmt("node%u", node);
	n.cntl = "/dev/shm/user/scr.1000";
	for (uint32_t i = 0; i < j->per; i++) {
		ranks[i] = (struct nodecache_rank){
			.rank = (int64_t)node * j->per + i,
			.map = true,
			.files = 2,
			.bytes = UINT64_C(123456789012),
			.red = seat_of(j, node * j->per + i),
		};
		ranks[i].mapred = ranks[i].red;
	}
	for (size_t i = 0; i < 3; i++)
		d[i] = (struct nodecache_dataset){
			.id = (int64_t)i + 1,
			.name = "timestep.000042",
			.dir = "/ssd/user/scr.1000/scr.dataset.1",
			.ckpt = true,
			.world = (int64_t)j->nodes * j->per,
			.store = "fd00:12345678",
			.nranks = j->per,
			.ranks = ranks,
		};
	nodecache_json(&n, out);
}

/* Read the answer as a scavenge does. */
static void
take(struct salvage *p, uint32_t node, const struct buf *text)
{
	auto_nodecache n;

	must(nodecache_parse(&n, text->data, text->len, NULL) == 0);
	for (size_t i = 0; i < n.ndatasets; i++) {
		const struct nodecache_dataset *v = &n.datasets[i];
		struct salvage_dataset *d = dataset(p, v->id, v->world);

		must(d != NULL);
		for (size_t r = 0; r < v->nranks; r++)
			must(salvage_found(p, d, node, &v->ranks[r], NULL) ==
			     0);
	}
}

/*
 * 10,000 nodes of 16 ranks, three datasets, 300 nodes lost: all answers are in
 * memory, as remote_run() returns them; they are read, and the plan is made.
 * (Fewer nodes and no time limit unless SCRKIT_SLOW is set.)
 */
TEST(many)
{
	const bool all = getenv("SCRKIT_SLOW") != NULL && tap_timed();
	const uint32_t few = tap_timed() ? 800 : 80;
	const struct job j = { all ? 10000 : few, 16, 8, REDSET_XOR, 1 };
	const uint32_t lost = j.nodes * 3 / 100;
	auto_free struct buf *texts = calloc(j.nodes, sizeof(*texts));
	struct salvage p;
	struct rusage use;
	clock_t from = 0;
	double secs = 0;
	size_t bytes = 0;

	must(texts != NULL);
	for (uint32_t n = 0; n < j.nodes; n++) {
		answer(&j, n, &texts[n]);
		bytes += texts[n].len;
	}
	from = clock();
	salvage_init(&p, j.nodes);
	for (uint32_t n = 0; n < j.nodes; n++)
		take(&p, n, &texts[n]);
	for (uint32_t n = 0; n < lost; n++)
		salvage_lose(&p, n * 8 + n % 8);
	salvage_plan(&p);
	secs = (double)(clock() - from) / CLOCKS_PER_SEC;
	must(getrusage(RUSAGE_SELF, &use) == 0);
	printf("# %u nodes, 3 datasets of %u ranks, %zu MB of answers: %.2f s, "
	       "%ld MiB\n",
	       j.nodes, j.nodes * j.per, bytes / 1000000, secs,
	       use.ru_maxrss / 1024);
	ok(salvage_find(&p, 2)->state == SALVAGE_RECOVERABLE &&
		   salvage_find(&p, 2)->missing == lost * 16,
	   "one node of a set gone, in 3 of 100 sets");
	ok(use.ru_maxrss < 1024 * 1024, "in less than a gigabyte");
	ok(secs < 10 || !all, "in less than ten seconds");
	salvage_free(&p);
	for (uint32_t n = 0; n < j.nodes; n++)
		buf_free(&texts[n]);
}
