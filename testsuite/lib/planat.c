/* SPDX-License-Identifier: BSD-3-Clause */
#include "planat.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "error.h"
#include "path.h"

struct plan *
plan_at(const char *prefix, int64_t id, const struct plan_options *o,
	struct error *err)
{
	struct plan_dataset d = { .prefix = prefix, .meta_fd = -1, .id = id };
	struct plan *p = NULL;
	char meta[64];

	snprintf(meta, sizeof(meta), ".scr/scr.dataset.%lld", (long long)id);
	d.prefix_fd = open(prefix, O_RDONLY | O_DIRECTORY);
	if (d.prefix_fd < 0)
		error_sys(err, "%s: cannot open", prefix);
	else
		d.meta_fd = path_open_beneath(d.prefix_fd, meta,
					      O_RDONLY | O_DIRECTORY, 0, err);
	if (d.meta_fd >= 0) {
		p = plan_prefix(&d, o, err);
		close(d.meta_fd);
	}
	if (d.prefix_fd >= 0)
		close(d.prefix_fd);
	return p;
}
