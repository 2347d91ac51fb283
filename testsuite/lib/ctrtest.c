/* SPDX-License-Identifier: BSD-3-Clause */
#include "ctrtest.h"

const struct catalogue_options ctr_options = { .work = { .memory = 1 << 20 } };

/* The byte at offset `at` of all files end to end. */
static unsigned char
byte_at(uint64_t at)
{
	return (unsigned char)(at * 31 + at / 251);
}

void
store(struct segmap *m, uint64_t size, size_t nranks, bool wrong)
{
	unsigned char *all = NULL;
	auto_rank2file w;
	uint64_t at = 0;
	auto_fd int fd = -1;

	must(segmap_cut(m, SEGMAP_DATA, size, 0, NULL) == 0);
	all = mem_alloc(m->bytes + 1, 1);
	for (uint64_t i = 0; i < m->bytes; i++)
		all[i] = byte_at(i);
	for (size_t i = 0; i < m->nfiles; i++) {
		m->files[i].has_crc = true;
		m->files[i].crc = crc_update(0, all + m->files[i].start,
					     m->files[i].size);
	}
	scratch_new();
	for (size_t i = 0; i < m->ncontainers; i++) {
		struct segmap_container *c = &m->containers[i];

		write_file(here(DIR "/%s", c->name), all + at, c->size);
		c->has_crc = true;
		c->crc = crc_update(0, all + at, c->size);
		at += c->size;
	}
	mem_free(all);
	for (size_t i = 0; wrong && i < m->nfiles; i += 2)
		m->files[i].size++;
	fd = open(here(DIR), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	must(fd >= 0);
	must(segmap_write(m, nranks, false, &w, NULL) == 0);
	must(rank2file_store(fd, "rank2file", &w, NULL) == 0);
}

void
small(void)
{
	auto_segmap m;

	must(segmap_init(&m, 5, NULL) == 0);
	add_file(&m, 0, "d/a", 4);
	add_file(&m, 0, "d/b<&\xff\">", 9);
	add_file(&m, 0, "d/empty", 0);
	add_file(&m, 1, "d/c", 1);
	add_file(&m, 1, "d/d", 10);
	store(&m, 10, 2, false);
}

char *
ctr(int n)
{
	return here(DIR "/.scr/ctr.%d.scr", n);
}

static void
hear(void *arg, const char *what)
{
	struct opened *o = arg;

	must(buf_printf(&o->told, "%s\n", what) == 0);
}

void
look_at(struct opened *o, const struct plan *plan, bool sums)
{
	struct error err = ERROR_INIT;
	const struct catalogue_options options = {
		.work = ctr_options.work,
		.checksums = sums,
	};
	const struct verify_listener flaws = { hear, o };

	*o = (struct opened){ .c = catalogue_open(scratch_root, NULL) };
	must(o->c != NULL);
	o->k = containers_open(o->c, "7", &ctr_options, &err);
	must_be(o->k != NULL, err.text);
	must_be(containers_look(o->k, plan, &options, &flaws, &err) == 0,
		err.text);
}

void
close_it(struct opened *o)
{
	containers_free(o->k);
	catalogue_close(o->c);
	buf_free(&o->told);
}

const char *
letters(const struct containers *k)
{
	static char text[4096];
	size_t *first = NULL;
	struct container_span *spans = containers_spans(k, &first);
	char *to = text;

	for (size_t i = 0; i < k->count; i++) {
		char *from = to;

		memset(to, '.', k->list[i].size);
		to += k->list[i].size;
		*to++ = ' ';
		for (size_t j = first[i]; j < first[i + 1]; j++) {
			const struct container_span *p = &spans[j];
			char c = p->file->path[2];

			must(j == first[i] || spans[j - 1].off <= p->off);
			for (uint64_t b = 0; b < p->len; b++)
				if (p->off + b < k->list[i].size)
					from[p->off + b] =
						p->bad ? (char)(c - 32) : c;
		}
	}
	mem_free(spans);
	mem_free(first);
	*to = '\0';
	return text;
}

const char *
states(const struct containers *k)
{
	char *to = fmt("%zu:", k->damaged);

	for (size_t i = 0; i < k->count; i++)
		to = fmt("%s %s", to, container_state_name(k->list[i].state));
	return to;
}

const struct style plain = { .width = 60 };
