/* SPDX-License-Identifier: BSD-3-Clause */
#include "maptest.h"
#include "container/hidden.h"
#include "meta/dataset_dir.h"

/* --- Maps as text --- */

const char *
map_text(const struct segmap *m)
{
	static struct buf b;

	buf_free(&b);
	buf_printf(&b, "size %" PRIu64 " bytes %" PRIu64 " segs %zu%s\n",
		   m->container_size, m->bytes, m->nsegs,
		   m->moving ? " moving" : "");
	for (size_t i = 0; i < m->ncontainers; i++) {
		const struct segmap_container *c = &m->containers[i];

		buf_printf(&b, "%s: %" PRIu64, c->name, c->used);
		if (c->has_size)
			buf_printf(&b, " of %" PRIu64, c->size);
		if (c->has_crc)
			buf_printf(&b, " crc %" PRIx32, c->crc);
		buf_add_char(&b, '\n');
	}
	for (size_t i = 0; i < m->nfiles; i++) {
		const struct segmap_file *f = &m->files[i];

		buf_printf(&b, "%" PRIu32 " %s at %" PRIu64, f->rank, f->path,
			   f->start);
		if (f->has_size || f->nsegs > 0)
			buf_printf(&b, " size %" PRIu64, f->size);
		if (f->has_crc)
			buf_printf(&b, " crc %" PRIx32, f->crc);
		for (size_t k = 0; k < f->nsegs; k++) {
			const struct segment *s = &m->segs[f->first + k];

			buf_printf(&b, " %s %" PRIu64 "+%" PRIu64,
				   m->containers[s->container].name, s->off,
				   s->len);
		}
		buf_add_char(&b, '\n');
	}
	return b.data;
}

bool
same_map(const struct segmap *a, const struct segmap *b)
{
	auto_mem char *text = mem_strdup(map_text(a));
	bool same = strcmp(text, map_text(b)) == 0;

	if (!same)
		printf("# %s# is not\n# %s", text, map_text(b));
	return same;
}

const char *
segs_text(const struct segmap *m, size_t file)
{
	char *to = fmt("%s", "");

	for (size_t k = 0; k < m->files[file].nsegs; k++) {
		const struct segment *s = &m->segs[m->files[file].first + k];

		to = fmt("%s %s %" PRIu64 "+%" PRIu64, to,
			 m->containers[s->container].name, s->off, s->len);
	}
	return to;
}

static void
source_line(struct rank2file *r, char *line)
{
	char *save = NULL, *word = strtok_r(line, " ", &save);
	struct rank2file_rank *rank = &r->ranks[strtoul(word, NULL, 10)];
	struct rank2file_file *f = &rank->files[rank->nfiles++];
	struct rank2file_seg *segs = arena_alloc(r->arena, 8, sizeof(*segs));

	f->path = strtok_r(NULL, " ", &save);
	word = strtok_r(NULL, " ", &save);
	f->has_size = word[0] != '-';
	f->size = f->has_size ? strtoull(word, NULL, 10) : 0;
	f->segs = segs;
	while ((word = strtok_r(NULL, " ", &save)) != NULL) {
		segs[f->nsegs].file = word;
		word = strtok_r(NULL, " ", &save);
		must(sscanf(word, "%" SCNu64 "+%" SCNu64, &segs[f->nsegs].off,
			    &segs[f->nsegs].len) == 2);
		f->nsegs++;
	}
}

void
source_init(struct source *s, const char *table, const char *files)
{
	struct rank2file *r = &s->r;
	char *save = NULL, *line = NULL, *text = NULL;

	*r = (struct rank2file){ .nranks = RANKS, .arena = arena_new() };
	r->ranks = arena_alloc(r->arena, RANKS, sizeof(*r->ranks));
	for (size_t i = 0; i < RANKS; i++)
		r->ranks[i] = (struct rank2file_rank){
			.present = true,
			.files = arena_alloc(r->arena, 8,
					     sizeof(*r->ranks[i].files)),
		};
	s->table = table[0] != '\0' ? tree_of(table) : NULL;
	r->containers = s->table;
	text = arena_strdup(r->arena, files);
	for (line = strtok_r(text, "\n", &save); line != NULL;
	     line = strtok_r(NULL, "\n", &save))
		source_line(r, line);
}

void
source_fini(struct source *s)
{
	kvtree_free(s->table);
	rank2file_free(&s->r);
}

void
read_map(struct segmap *m, const char *table, const char *files,
	 struct source *s)
{
	struct error err = ERROR_INIT;

	source_init(s, table, files);
	must_be(segmap_read(m, &s->r, &err) == 0, err.text);
}

/* --- Files --- */

int map_dir = -1;

void
map_enter(void)
{
	map_dir = scratch_fd();
}

/* --- Generated maps --- */

void
add_file(struct segmap *m, uint32_t rank, const char *path, uint64_t size)
{
	m->files[m->nfiles++] = (struct segmap_file){
		.rank = rank,
		.path = arena_strdup(m->arena, path),
		.size = size,
	};
}

void
make_map(struct segmap *m, size_t nranks, size_t nfiles, bool mixed)
{
	must(segmap_init(m, nfiles, NULL) == 0);
	for (size_t i = 0; i < nfiles; i++) {
		size_t rank = mixed ? i * 7 % nranks : i * nranks / nfiles;

		add_file(m, (uint32_t)rank, fmt("dir/f %zu\xc3\xa9", i),
			 below(5) == 0 ? 0 : below(100000));
		m->files[i].has_crc = below(2);
		m->files[i].crc = m->files[i].has_crc ? below(1 << 30) : 0;
	}
	must(segmap_cut(m, SEGMAP_DATA, 30000, 0, NULL) == 0);
	for (size_t i = 0; i < m->ncontainers; i += 3) {
		m->containers[i].has_crc = true;
		m->containers[i].crc = (uint32_t)i;
	}
	if (m->ncontainers > 1)
		m->containers[1].has_size = false;
}

size_t
parts_there(const char *path)
{
	DIR *dir = opendir(path);
	const struct dirent *e = NULL;
	size_t n = 0;

	must(dir != NULL);
	while ((e = readdir(dir)) != NULL)
		n += dataset_dir_packed(e->d_name) >= 0;
	closedir(dir);
	return n;
}
