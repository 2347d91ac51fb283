/* SPDX-License-Identifier: BSD-3-Clause */
#include "store/offload.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "clock.h"
#include "error.h"
#include "io.h"
#include "mem.h"
#include "meta/attr.h"
#include "pace.h"
#include "room.h"
#include "transfer/pump.h"

#define BLOCK ((size_t)4 << 20)

int
offload_class(int io)
{
	const int process = 1; /* there is no header for ioprio_set(2) */
	const long was = syscall(SYS_ioprio_get, process, 0);

	(void)syscall(SYS_ioprio_set, process, 0, io);
	return was < 0 ? 0 : (int)was;
}

bool
offload_lease(struct offload *o, int lease)
{
	/* The signal when somebody waits is one that nobody dies of. */
	o->leased = fcntl(o->from, F_SETSIG, SIGURG) == 0 &&
		    fcntl(o->from, F_SETLEASE, lease) == 0;
	return (o->leased || errno != EAGAIN) && fstat(o->from, &o->is) == 0;
}

bool
offload_holds(const struct offload *o)
{
	const int lease = o->leased ? fcntl(o->from, F_GETLEASE) : -1;
	struct stat is;

	if (o->leased && lease == F_RDLCK)
		(void)fcntl(o->from, F_SETLEASE, F_RDLCK);
	return o->leased ? lease != F_UNLCK
			 : fstat(o->from, &is) == 0 &&
				   is.st_size == o->is.st_size &&
				   is.st_mtim.tv_sec == o->is.st_mtim.tv_sec &&
				   is.st_mtim.tv_nsec == o->is.st_mtim.tv_nsec;
}

/* -1 without an error: the copy is given up. */
static int
keep_pace(void *arg, const void *data, size_t len, uint64_t at,
	  struct error *err)
{
	struct offload *o = arg;

	(void)data;
	(void)at;
	(void)err;
	return pace_keep(o->pace, len) && offload_holds(o) ? 0 : -1;
}

static void
copy_xattrs(int from, int to)
{
	char names[4096], value[4096];
	const ssize_t n = flistxattr(from, names, sizeof(names));
	ssize_t len = 0;

	for (const char *p = names; n > 0 && p < names + n;
	     p += strlen(p) + 1) {
		len = fgetxattr(from, p, value, sizeof(value));
		if (len >= 0)
			(void)fsetxattr(to, p, value, (size_t)len, 0);
	}
}

int
offload(struct offload *o, struct error *err)
{
	const uint64_t size = (uint64_t)o->is.st_size;
	const size_t room = size < BLOCK ? (size_t)size : BLOCK;
	const struct owner owner = { true, o->is.st_uid, o->is.st_gid };
	struct error why = ERROR_INIT;
	struct attr a;
	struct pump p = {
		.from = o->from,
		.name = o->name,
		.size = size,
		.to = o->to,
		.to_name = o->name,
		.block = mem_aligned(PUMP_ALIGN, room + PUMP_ALIGN),
		.room = room > 0 ? room : 1,
		.step = keep_pace,
		.arg = o,
	};
	int rc = 1;

	if (p.block == NULL)
		return error_no_memory(err);
	/* One with holes is not preallocated. */
	if (o->to >= 0 && (uint64_t)o->is.st_blocks * 512 >= size && size > 0 &&
	    fallocate(o->to, 0, 0, o->is.st_size) < 0 && errno != EOPNOTSUPP)
		rc = error_sys(&why, "%s: no room for its copy", o->name);
	/* What cannot be written so, such as the end, is not (io_pwrite()). */
	if (o->to >= 0 && size >= BLOCK)
		(void)fcntl(o->to, F_SETFL, O_DIRECT);
	if (rc == 1)
		rc = pump_run(&p, &why, &why);
	mem_free(p.block);
	o->crc = p.crc;
	o->unread = rc == 0;
	if (rc == 1 && !offload_holds(o))
		return 0;
	if (rc != 1 && why.kind == ERROR_NONE)
		return 0;
	if (rc == 1 && o->to >= 0) {
		attr_from_stat(&a, &o->is);
		copy_xattrs(o->from, o->to);
		if (attr_apply(&a, o->to, o->name, owner, NULL, &why) < 0 ||
		    io_fsync(o->to, o->name, &why) < 0)
			rc = -1;
	}
	if (rc == 1)
		return 1;
	error_pass(err, &why);
	return o->to < 0 ? -1 : room_explain(o->to, size, err);
}
