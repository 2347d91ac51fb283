/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * tool VERB DIR [ARGUMENT]... - what the tests do with a store, whatever is
 * measured on this machine:
 *     make DIR POOL        make it a store with a pool of POOL bytes
 *     fill DIR SIZE COUNT  add files to the pool, until it has so many; writes
 *                          of 16 KiB and more are mapped copies
 *     tend DIR             once
 *     serve DIR SIZE COUNT  both, again and again, until stdin ends
 *     status DIR           as words
 *     set DIR FIELD VALUE [SLOT]  a field of the state, for damage
 */
#include <errno.h>
#include <poll.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "error.h"
#include "store/store_impl.h"
#include "store/tend.h"

static struct error err = ERROR_INIT;

static int
fill(struct store *s, char **args)
{
	const uint64_t clean = atomic_load(&s->state->clean);
	const uint64_t count = strtoull(args[1], NULL, 0);
	struct tend_populate p = {
		.size = strtoull(args[0], NULL, 0),
		.count = count > clean ? count - clean : 0,
	};

	atomic_store(&s->state->least, 16384);
	if (tend_populate(s, &p, &err) < 0)
		return -1;
	return 0;
}

static int
serve(struct store *s, char **args, struct tend_done *done)
{
	struct pollfd p = { .fd = 0, .events = POLLIN };

	while (poll(&p, 1, 10) == 0)
		if (tend_once(s, done, &err) < 0 || fill(s, args) < 0)
			return -1;
	return 0;
}

static int
status(const struct store *s)
{
	struct store_status is;

	if (store_status(s, &is, &err) < 0)
		return -1;
	printf("used %llu clean %llu in %llu dirty %llu in %llu taken %llu "
	       "orphans %llu\n",
	       (unsigned long long)is.used, (unsigned long long)is.clean,
	       (unsigned long long)is.clean_files, (unsigned long long)is.dirty,
	       (unsigned long long)is.dirty_files,
	       (unsigned long long)is.taken_files,
	       (unsigned long long)is.orphans);
	return 0;
}

/* What a damaged state has there. */
static int
set(struct store *s, char **args)
{
	struct state *t = s->state;
	struct slot *l =
		&t->slot[args[1] != NULL && args[2] != NULL ? atoi(args[2])
							    : 0];
	const struct {
		const char *name;
		void *at;
		size_t size;
	} fields[] = {
		{ "magic", t->magic, 8 },
		{ "slots", &t->slots, 4 },
		{ "size", &t->size, 8 },
		{ "pool", &t->pool, 8 },
		{ "spill_size", &t->spill_size, 8 },
		{ "page", &t->page, 8 },
		{ "least", &t->least, 4 },
		{ "clean", &t->clean, 4 },
		{ "given", &t->given, 4 },
		{ "spill", t->spill, sizeof(t->spill) },
		{ "job", t->job, sizeof(t->job) },
		{ "earlier", t->earlier, sizeof(t->earlier) },
		{ "word", &l->word, 4 },
		{ "node", &l->node, 4 },
		{ "ino", &l->ino, 8 },
		{ "capacity", &l->capacity, 8 },
		{ "before", &l->before, 8 },
		{ "after", &l->after, 8 },
		{ "writing", &l->writing, 4 },
	};

	for (size_t i = 0; i < sizeof(fields) / sizeof(*fields); i++) {
		const uint64_t v =
			args[1] == NULL ? 0 : strtoull(args[1], NULL, 0);

		if (args[0] == NULL)
			puts(fields[i].name);
		else if (strcmp(args[0], fields[i].name) == 0)
			for (size_t k = 0; k < fields[i].size; k += 4)
				memcpy((char *)fields[i].at + k,
				       (const char *)&v + k % 8, 4);
	}
	return 0;
}

int
main(int argc, char **argv)
{
	struct tend_done done = { 0 };
	struct store *s = NULL;
	int rc = -1;

	if (argc < 3)
		return 2;
	if (strcmp(argv[1], "make") == 0) {
		const struct store_options o = {
			.pool = argc > 3 ? strtoull(argv[3], NULL, 0) : 0,
		};

		rc = store_make(argv[2], &o, &err);
	} else {
		s = store_open(argv[2], &err);
	}
	if (s == NULL)
		;
	else if (strcmp(argv[1], "fill") == 0 && argc > 4)
		rc = fill(s, argv + 3);
	else if (strcmp(argv[1], "tend") == 0)
		rc = tend_once(s, &done, &err);
	else if (strcmp(argv[1], "serve") == 0 && argc > 4)
		rc = serve(s, argv + 3, &done);
	else if (strcmp(argv[1], "status") == 0)
		rc = status(s);
	else if (strcmp(argv[1], "set") == 0)
		rc = set(s, argv + 3);
	if (done.cleaned + done.dropped + done.recovered + done.trimmed > 0)
		printf("cleaned %llu dropped %llu recovered %llu trimmed %llu\n",
		       (unsigned long long)done.cleaned,
		       (unsigned long long)done.dropped,
		       (unsigned long long)done.recovered,
		       (unsigned long long)done.trimmed);
	store_close(s);
	if (rc < 0)
		fprintf(stderr, "tool: %s\n", err.text);
	return rc < 0;
}
