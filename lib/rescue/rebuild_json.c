/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * rebuild_json.c - what a rebuild did, as JSON, and added up again.
 */
#include "json.h"
#include "rescue/rebuild.h"

/* Key, member of struct rebuild_result. */
#define FACTS(X) \
	X(file_count, files) \
	X(filemap_count, maps) \
	X(redundancy_file_count, redundancy) \
	X(descriptor_count, descriptors) \
	X(bytes_read, bytes_read) \
	X(bytes_written, bytes_written) \
	X(checksums_compared, crc_checked) \
	X(checksums_wrong, crc_wrong)

struct json *
rebuild_json(const struct rebuild_result *r)
{
	struct json *j = json_new_object();

#define SET(key, member) json_set_u64(j, #key, r->member);
	FACTS(SET)
#undef SET
	return j;
}

void
rebuild_result_read(const struct json_value *j, struct rebuild_result *r)
{
	uint64_t n = 0;

#define ADD(key, member) \
	if (json_get_u64(j, #key, SIZE_MAX, &n)) \
		r->member += n;
	FACTS(ADD)
#undef ADD
}

void
rebuild_result_add(struct rebuild_result *r, const struct rebuild_result *more)
{
#define SUM(key, member) r->member += more->member;
	FACTS(SUM)
#undef SUM
}
