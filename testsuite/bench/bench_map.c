/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * bench_map - the segment map of a large packed dataset.
 *
 *   bench_map make PREFIX FILES   make a dataset of FILES files of 100 KiB, one
 *                                 for each rank, in a sparse container
 *   bench_map read PREFIX         read its map five times; print entries per
 *                                 second, and the time to look up a file
 */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "arena.h"
#include "catalogue/catalogue.h"
#include "common.h"
#include "container/extract.h"
#include "container/packed.h"
#include "container/segmap.h"
#include "error.h"
#include "kvtree/kvtree.h"
#include "meta/rank2file.h"
#include "meta/summary.h"
#include "par.h"

#define FILE_BYTES ((uint64_t)100 << 10)

static int
die(const struct error *err)
{
	fprintf(stderr, "bench_map: %s\n", err->text);
	return 1;
}

static int
write_summary(int dir, uint64_t files, struct error *err)
{
	struct kvtree *desc = kvtree_new(err), *t = NULL;
	int rc = -1;

	if (desc != NULL && kvtree_set_u64(desc, "ID", 1, err) == 0 &&
	    kvtree_set(desc, "NAME", "ckpt.1", err) == 0 &&
	    kvtree_set_u64(desc, "FILES", files, err) == 0 &&
	    kvtree_set_u64(desc, "SIZE", files * FILE_BYTES, err) == 0)
		t = summary_build(desc, 1, err);
	if (t != NULL)
		rc = kvtree_write_file(t, dir, SUMMARY_FILE, err);
	kvtree_free(t);
	kvtree_free(desc);
	return rc;
}

static int
make(const char *prefix, uint64_t files, struct error *err)
{
	char path[4096];
	struct rank2file r;
	struct segmap m;
	int dir = -1, fd = -1, rc = -1;

	snprintf(path, sizeof(path),
		 "mkdir -p '%s/.scr/scr.dataset.1/" SEGMAP_DIR "'", prefix);
	if (system(path) != 0)
		return error_set(err, ERROR_SYSTEM, "cannot make %s", prefix);
	snprintf(path, sizeof(path), "%s/.scr/scr.dataset.1", prefix);
	dir = open(path, O_RDONLY | O_DIRECTORY);
	if (dir < 0 || segmap_init(&m, (size_t)files, err) < 0)
		return -1;
	for (size_t i = 0; i < files; i++) {
		m.files[i] = (struct segmap_file){
			.rank = (uint32_t)i,
			.path = arena_printf(m.arena, "ckpt.1/rank_%zu.ckpt",
					     i),
			.size = FILE_BYTES,
			.has_size = true,
		};
	}
	m.nfiles = (size_t)files;
	if (segmap_cut(&m, SEGMAP_DATA, SEGMAP_SIZE_DEFAULT, 0, err) < 0 ||
	    segmap_write(&m, (size_t)files, false, &r, err) < 0)
		goto out;
	for (size_t i = 0; i < m.ncontainers; i++) {
		fd = openat(dir, m.containers[i].name, O_WRONLY | O_CREAT,
			    0666);
		if (fd < 0 || ftruncate(fd, (off_t)m.containers[i].size) < 0)
			error_sys(err, "%s", m.containers[i].name);
		close(fd);
	}
	rc = rank2file_store(dir, "rank2file", &r, err);
	if (rc == 0)
		rc = write_summary(dir, files, err);
	rank2file_free(&r);
out:
	segmap_free(&m);
	close(dir);
	return rc;
}

static int
read_map(const char *prefix, struct error *err)
{
	struct catalogue_options o = {
		.work = { .par = par_new(par_cpus(), err) },
	};
	struct catalogue *c = catalogue_open(prefix, err);
	int null = open("/dev/null", O_WRONLY);

	if (c == NULL || o.work.par == NULL)
		return -1;
	for (int i = 0; i < 5; i++) {
		double start = now(), map = 0, cat = 0;
		struct packed p;

		if (catalogue_packed_open(c, "1", false, &o, &p, err) < 0)
			return -1;
		map = now() - start;
		start = now();
		if (extract_cat(&p, p.map.nfiles / 3, null, &o.work, err) < 0)
			return -1;
		cat = now() - start;
		printf("%zu entries\t%.4f s\t%.2f million a second\tone file "
		       "%.4f s\n",
		       p.map.nsegs, map, (double)p.map.nsegs / map / 1e6, cat);
		packed_close(&p);
	}
	close(null);
	par_free(o.work.par);
	catalogue_close(c);
	return 0;
}

int
main(int argc, char **argv)
{
	struct error err = ERROR_INIT;
	int rc = -1;

	if (argc == 4 && strcmp(argv[1], "make") == 0)
		rc = make(argv[2], strtoull(argv[3], NULL, 10), &err);
	else if (argc == 3 && strcmp(argv[1], "read") == 0)
		rc = read_map(argv[2], &err);
	else
		error_set(&err, ERROR_USAGE, "make PREFIX FILES | read PREFIX");
	return rc < 0 ? die(&err) : 0;
}
