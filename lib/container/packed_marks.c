/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * packed_marks.c - files with bytes that an interrupted rebuild left half
 * written, or whose containers are missing.
 */
#include <string.h>
#include <sys/stat.h>

#include "container/marks.h"
#include "container/packed.h"
#include "error.h"
#include "path.h"
#include "str.h"

int
packed_refuse_marked(const struct packed *p, size_t first, size_t count,
		     const bool *only, struct error *err)
{
	struct marks marks = { .count = 0 };
	int rc = p->layout == 3 ? marks_load(&marks, p->meta_fd, err) : 0;

	for (size_t i = first; marks.count > 0 && rc == 0 && i < first + count;
	     i++) {
		const struct segmap_file *f = &p->map.files[i];

		if ((only != NULL && !only[i]) ||
		    !marks_any(&marks, &p->map, f->first, f->nsegs))
			continue;
		error_set(err, ERROR_DAMAGED,
			  "%s: %s: its rebuild was interrupted: run the "
			  "rebuild again first",
			  p->name, str_shown(f->path));
		rc = error_remedy(err, REMEDY_REBUILD);
	}
	marks_free(&marks);
	return rc;
}

/* Are all segments of the file in their containers? */
static int
file_present(const struct packed *p, const struct segmap *m,
	     const struct segmap_file *f, bool *present, struct error *err)
{
	struct error why = ERROR_INIT;
	struct stat st;

	*present = true;
	for (size_t i = 0; i < f->nsegs && *present; i++) {
		const struct segment *s = &m->segs[f->first + i];

		if (path_stat_beneath(p->root_fd,
				      m->containers[s->container].name, &st,
				      &why) == 0)
			*present = (uint64_t)st.st_size >= s->off + s->len;
		else if (why.kind == ERROR_ABSENT)
			*present = false;
		else
			return error_pass(err, &why);
	}
	return 0;
}

int
packed_lost_redundancy(const struct packed *p, bool *lost, size_t *count,
		       struct error *err)
{
	const struct segmap *m = &p->hidden.red;
	struct marks marks = { .count = 0 };
	int rc = p->layout == 3 ? marks_load(&marks, p->meta_fd, err) : 0;

	*count = 0;
	for (size_t i = 0; rc == 0 && i < m->nfiles; i++) {
		bool present = false;

		rc = file_present(p, m, &m->files[i], &present, err);
		lost[i] = !present || marks_any(&marks, m, m->files[i].first,
						m->files[i].nsegs);
		*count += lost[i];
	}
	marks_free(&marks);
	return rc;
}
