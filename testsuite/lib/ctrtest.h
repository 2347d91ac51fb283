/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ctrtest.h - packed datasets on disk, made to be looked at; included once.
 */
#ifndef UNIT_CTRTEST_H
#define UNIT_CTRTEST_H

#include "crc.h"
#include "maptest.h"
#include "report/condition.h"
#include "report/containers.h"
#include "report/report.h"

#define DIR ".scr/scr.dataset.7"

static char place[128];

static const struct catalogue_options options = { .work = { .memory = 1
								      << 20 } };

/* --- Datasets --- */

/* The byte of the string of all files at `at`. */
static inline unsigned char
byte_at(uint64_t at)
{
	return (unsigned char)(at * 31 + at / 251);
}

/* Containers of `size` bytes for m's files, on disk, with all checksums.
 * `wrong`: every other file is longer than its segments. */
static inline void
store(struct segmap *m, uint64_t size, size_t nranks, bool wrong)
{
	unsigned char *all = NULL;
	struct rank2file w;
	uint64_t at = 0;
	int fd = -1;

	must(segmap_cut(m, SEGMAP_DATA, size, 0, NULL) == 0);
	all = mem_alloc(m->bytes + 1, 1);
	for (uint64_t i = 0; i < m->bytes; i++)
		all[i] = byte_at(i);
	for (size_t i = 0; i < m->nfiles; i++) {
		m->files[i].has_crc = true;
		m->files[i].crc = crc_update(0, all + m->files[i].start,
					     m->files[i].size);
	}
	scratch_dir(place, sizeof(place));
	for (size_t i = 0; i < m->ncontainers; i++) {
		struct segmap_container *c = &m->containers[i];

		write_file(fmt("%s/" DIR "/%s", place, c->name), all + at,
			   c->size);
		c->has_crc = true;
		c->crc = crc_update(0, all + at, c->size);
		at += c->size;
	}
	mem_free(all);
	for (size_t i = 0; wrong && i < m->nfiles; i += 2)
		m->files[i].size++;
	fd = open(fmt("%s/" DIR, place), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	must(fd >= 0);
	must(segmap_write(m, nranks, false, &w, NULL) == 0);
	must(rank2file_store(fd, "rank2file", &w, NULL) == 0);
	rank2file_free(&w);
	close(fd);
}

/* Four files of two ranks in three containers of ten bytes: aaaabbbbbb
 * bbbcdddddd dddd. */
static inline void
small(void)
{
	struct segmap m;

	must(segmap_init(&m, 5, NULL) == 0);
	add_file(&m, 0, "d/a", 4);
	add_file(&m, 0, "d/b<&\xff\">", 9);
	add_file(&m, 0, "d/empty", 0);
	add_file(&m, 1, "d/c", 1);
	add_file(&m, 1, "d/d", 10);
	store(&m, 10, 2, false);
	segmap_free(&m);
}

static inline char *
ctr(int n)
{
	return fmt("%s/" DIR "/.scr/ctr.%d.scr", place, n);
}

/* An open dataset, looked at. */
struct opened {
	struct catalogue *c;
	struct containers *k;
	struct buf told;
};

static inline void
hear(void *arg, const char *what)
{
	struct opened *o = arg;

	must(buf_printf(&o->told, "%s\n", what) == 0);
}

static inline void
look_at(struct opened *o, const struct plan *plan, bool sums)
{
	struct error err = ERROR_INIT;
	const struct containers_look look = {
		.plan = plan,
		.o = &options,
		.sums = sums,
		.tell = hear,
		.arg = o,
	};

	*o = (struct opened){ .c = catalogue_open(place, NULL) };
	must(o->c != NULL);
	o->k = containers_open(o->c, "7", &options, &err);
	scene_must(o->k != NULL, err.text);
	scene_must(containers_look(o->k, &look, &err) == 0, err.text);
}

static inline void
close_it(struct opened *o)
{
	containers_free(o->k);
	catalogue_close(o->c);
	buf_free(&o->told);
}

/* A letter for each byte of each container: the file's last one, in capitals
 * where it is bad; '.': of no file. */
static inline const char *
letters(const struct containers *k)
{
	static char text[4096];
	struct container_spans s;
	char *to = text;

	must(container_spans(k, &s, NULL) == 0);
	for (size_t i = 0; i < k->count; i++) {
		char *from = to;

		memset(to, '.', k->list[i].size);
		to += k->list[i].size;
		*to++ = ' ';
		for (size_t j = s.first[i]; j < s.first[i + 1]; j++) {
			const struct container_span *p = &s.spans[j];
			char c = p->file->path[2];

			must(j == s.first[i] || s.spans[j - 1].off <= p->off);
			for (uint64_t b = 0; b < p->len; b++)
				if (p->off + b < k->list[i].size)
					from[p->off + b] =
						p->bad ? (char)(c - 32) : c;
		}
	}
	container_spans_free(&s);
	*to = '\0';
	return text;
}

/* "whole truncated ...": the states. */
static inline const char *
states(const struct containers *k)
{
	char *to = fmt("%zu:", k->damaged);

	for (size_t i = 0; i < k->count; i++)
		to = fmt("%s %s", to, container_state_name(k->list[i].state));
	return to;
}

/* A terminal without any finesse. */
static const struct report_style plain = { .width = 60 };

#endif /* UNIT_CTRTEST_H */
