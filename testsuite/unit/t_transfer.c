/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * t_transfer.c - strings copied between files that are cut differently; read
 * and write errors; the checksums SCR 1.1.8 recorded ($SCRKIT_GOLDEN).
 */
#include "transfer/transfer.h"

#include <errno.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/wait.h>

#include "crc.h"
#include "maptest.h"
#include "par.h"
#include "work.h"

static const struct work little = { .memory = 1 }; /* smallest blocks */
static char root[96];
static int rootfd = -1;

/* --- Strings --- */

#define PARTS_MAX 600

/* Source or target.  Neighbouring parts can be in the same file, with other
 * bytes between them, and then share a checksum. */
struct side {
	struct stripe s;
	struct stripe_part parts[PARTS_MAX];
	struct stripe_sum sums[PARTS_MAX];
	size_t nsums;
	char names[PARTS_MAX][16];
};

struct scene {
	uint64_t len;
	unsigned char *from, *to; /* memory of parts without a file */
	unsigned char *whole;	  /* the bytes to be read */
	struct side in, out;
};

/* Parts of a target can be in no file and no memory. */
static void
cut_side(struct scene *s, struct side *side, const char *stem, uint32_t longest,
	 bool out)
{
	uint64_t at = 0, end = 0;

	while (at < s->len && side->s.nparts < PARTS_MAX) {
		struct stripe_part *p = &side->parts[side->s.nparts];
		struct stripe_part *last = side->s.nparts > 0 ? p - 1 : NULL;
		uint64_t len = 1 + below(longest);
		uint32_t kind = below(8);

		len = len < s->len - at ? len : s->len - at;
		if (kind == 0) { /* a gap */
			at += len;
			continue;
		}
		*p = (struct stripe_part){
			.start = at,
			.len = len,
			.dirfd = rootfd,
			.create = out,
			.sum = side->nsums,
		};
		if (kind == 1) {
			p->mem = (out ? s->to : s->from) + at;
		} else if (kind == 2 && last != NULL && last->path != NULL) {
			p->path = last->path;
			p->off = end + below(50);
			p->sum = last->sum;
			p->sum_off = side->sums[p->sum].size;
		} else if (kind > 3 || !out) {
			snprintf(side->names[side->nsums], 16, "%s%zu", stem,
				 side->nsums);
			p->path = side->names[side->nsums];
			p->off = below(3) == 0 ? below(9999) : 0;
		}
		end = p->off + len;
		side->nsums += p->sum == side->nsums;
		side->sums[p->sum].size += len;
		side->s.nparts++;
		at += len;
	}
}

/* Fill the files of `in`; its gaps read as zeros. */
static void
fill(struct scene *s)
{
	for (size_t i = 0; i < s->in.s.nparts; i++) {
		struct stripe_part *p = &s->in.parts[i];
		unsigned char *data = s->whole + p->start;
		int fd = -1;

		for (uint64_t b = 0; b < p->len; b++)
			data[b] = (unsigned char)below(256);
		if (p->mem != NULL) {
			memcpy(p->mem, data, p->len);
			continue;
		}
		fd = openat(rootfd, p->path, O_WRONLY | O_CREAT | O_CLOEXEC,
			    0600);
		must(io_pwrite(fd, p->path, data, p->len, p->off, NULL) == 0);
		close(fd);
	}
}

static struct scene *
scene_new(uint64_t len, uint32_t longest)
{
	struct scene *s = mem_calloc(1, sizeof(*s));

	if (rootfd >= 0)
		close(rootfd);
	scratch_dir(root, sizeof(root));
	rootfd = open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	must(s != NULL && rootfd >= 0);
	s->len = len;
	s->from = mem_calloc(3 * len + 1, 1);
	s->to = s->from + len;
	s->whole = s->to + len;
	s->in.s.parts = s->in.parts;
	s->out.s.parts = s->out.parts;
	cut_side(s, &s->in, "in", longest, false);
	cut_side(s, &s->out, "out", longest, true);
	fill(s);
	return s;
}

static void
scene_free(struct scene *s)
{
	mem_free(s->from);
	mem_free(s);
}

/* Are the bytes of this part in the right place? */
static bool
part_right(const struct scene *s, const struct stripe_part *p)
{
	unsigned char *got = NULL;
	bool right = true;
	int fd = -1;

	if (p->mem != NULL)
		return memcmp(p->mem, s->whole + p->start, p->len) == 0;
	if (p->path == NULL)
		return true;
	got = mem_alloc(p->len, 1);
	fd = openat(rootfd, p->path, O_RDONLY | O_CLOEXEC);
	right = fd >= 0 &&
		io_pread(fd, p->path, got, p->len, p->off, NULL) == 0 &&
		memcmp(got, s->whole + p->start, p->len) == 0;
	close(fd);
	mem_free(got);
	return right;
}

/* Are all checksums right? */
static bool
sums_right(const struct scene *s, const struct side *side)
{
	uint32_t crcs[PARTS_MAX] = { 0 };
	bool right = true;

	for (size_t i = 0; i < side->s.nparts; i++) {
		const struct stripe_part *p = &side->parts[i];

		crcs[p->sum] =
			crc_update(crcs[p->sum], s->whole + p->start, p->len);
	}
	for (size_t i = 0; i < side->nsums; i++)
		right &= side->sums[i].seen == side->sums[i].size &&
			 side->sums[i].crc == crcs[i];
	return right;
}

/* --- Copying --- */

static void
copies(unsigned threads)
{
	static const uint64_t memory[] = { 0, 1, 20000, 1 << 20 };
	struct par *par = par_new(threads, NULL);
	bool good = true, bytes = true, in = true, out = true;

	for (int round = 0; round < 12; round++) {
		struct scene *s =
			scene_new(below(4) == 0 ? below(9000) : below(1200000),
				  round < 6 ? 30000 : 400000);
		const struct work work = { .par = round % 2 ? par : NULL,
					   .memory = memory[round % 4] };
		struct transfer_options o = {
			.work = &work,
			.sums = round % 3 < 2 ? s->in.sums : NULL,
			.sums_to = round % 3 > 0 ? s->out.sums : NULL,
		};

		good &= transfer(&s->in.s, &s->out.s, s->len, &o, NULL) == 0;
		for (size_t i = 0; i < s->out.s.nparts; i++)
			bytes &= part_right(s, &s->out.parts[i]);
		in &= o.sums == NULL || sums_right(s, &s->in);
		out &= o.sums_to == NULL || sums_right(s, &s->out);
		scene_free(s);
	}
	ok(good, fmt("copied by %u threads", threads));
	ok(bytes, "... each byte");
	ok(in && out, "... both sides summed up");
	par_free(par);
}

/* A part without memory. */
static struct stripe_part
part(uint64_t start, uint64_t len, const char *path, size_t sum)
{
	return (struct stripe_part){ .start = start,
				     .len = len,
				     .dirfd = rootfd,
				     .path = path,
				     .sum = sum };
}

/* Only the beginning of a string is copied; the rest is unchanged. */
static void
beginning(void)
{
	unsigned char data[5000], got[5000] = { 0 };
	struct stripe_part in = part(0, 5000, NULL, 0);
	struct stripe_part out = in;
	const struct stripe a = { 1, &in }, b = { 1, &out }, none = { 0 };
	struct stripe_sum sum = { .size = 4097 };
	const struct transfer_options o = { .work = &little, .sums = &sum };

	memset(data, 7, sizeof(data));
	in.mem = data;
	out.mem = got;
	is_int(transfer(&a, &b, 4097, &o, NULL), 0,
	       "the beginning of a string");
	ok(got[4096] == 7 && got[4097] == 0 &&
		   sum.crc == crc_update(0, data, 4097),
	   "... and no more");
	ok(transfer(&none, &none, 0, &o, NULL) == 0 &&
		   transfer(&none, &none, 1000000, &o, NULL) == 0,
	   "no bytes, and padding alone");
}

/* --- Read errors --- */

struct unread {
	_Atomic size_t calls, sum; /* of the part */
	int answer;
	struct error last;
};

static int
unreadable(void *arg, const struct stripe_part *part, const struct error *why)
{
	struct unread *u = arg;

	u->sum = part->sum;
	if (u->calls++ == 0)
		u->last = *why;
	return u->answer;
}

/* Three files of one block, of which the second is missing or short, are copied
 * to files with other limits. */
static void
neighbours(bool gone)
{
	static const uint64_t cuts[] = { 0, 600, 1000, 1200, 1900, 2000, 3000 };
	unsigned char data[3000];
	struct stripe_part in[3], out[6];
	struct stripe_sum from[3], to[6];
	const struct stripe a = { 3, in }, b = { 6, out };
	struct unread u = { .answer = 0 };
	struct transfer_options o = {
		.sums = from, .sums_to = to, .unreadable = unreadable, .arg = &u
	};
	struct error err = ERROR_INIT;
	size_t bad = 0;

	for (size_t i = 0; i < 3000; i++)
		data[i] = (unsigned char)below(256);
	for (size_t i = 0; i < 3; i++) {
		char *name = fmt("in%zu", i);

		write_file(fmt("%s/%s", root, name), data + i * 1000, 1000);
		in[i] = part(i * 1000, 1000, name, i);
		from[i] = (struct stripe_sum){ .size = 1000 };
	}
	for (size_t i = 0; i < 6; i++) {
		uint64_t len = cuts[i + 1] - cuts[i];

		out[i] = part(cuts[i], len, NULL, i);
		to[i] = (struct stripe_sum){ .size = len };
	}
	must(gone ? unlinkat(rootfd, "in1", 0) == 0
		  : truncate(fmt("%s/in1", root), 500) == 0);

	is_int(transfer(&a, &b, 3000, &o, &err), 0,
	       gone ? "a missing file is passed over" : "so is a short one");
	ok(u.calls > 0 && says(&u.last, "in1") && u.sum == 1 &&
		   u.last.kind == (gone ? ERROR_ABSENT : ERROR_CORRUPT),
	   "... and named");
	ok(from[0].seen == 1000 && from[0].crc == crc_update(0, data, 1000) &&
		   from[2].seen == 1000 &&
		   from[2].crc == crc_update(0, data + 2000, 1000),
	   "... its neighbours are read, once");
	is_int((int64_t)from[1].seen, gone ? 0 : 200, "... and what it has");
	for (size_t i = 0; i < 6; i++) {
		bool lost =
			cuts[i + 1] > (gone ? 1000 : 1200) && cuts[i] < 2000;
		uint32_t crc = crc_update(0, data + cuts[i], out[i].len);

		bad += lost ? to[i].seen > 0
			    : to[i].seen != out[i].len || to[i].crc != crc;
	}
	is_int((int64_t)bad, 0, "... all is written that does not touch it");
	u.answer = -1;
	u.calls = 0;
	ok(transfer(&a, &b, 3000, &o, &err) < 0 &&
		   err.kind == (gone ? ERROR_ABSENT : ERROR_CORRUPT) &&
		   says(&err, "in1"),
	   "... unless one does not want to");
	is_int(u.calls, 1, "... which ends it at once");
}

/* Does any byte of `p` come from a missing file of `in`? */
static bool
touches(const struct scene *s, const struct stripe_part *p, const bool *gone)
{
	for (size_t i = 0; i < s->in.s.nparts; i++) {
		const struct stripe_part *q = &s->in.parts[i];

		if (gone[q->sum] && q->start < p->start + p->len &&
		    p->start < q->start + q->len)
			return true;
	}
	return false;
}

/* With any files missing, parts that do not depend on them arrive, with their
 * checksums. */
static void
losses(unsigned threads)
{
	struct par *par = par_new(threads, NULL);
	bool good = true;

	for (int round = 0; round < 8; round++) {
		struct scene *s = scene_new(600000, 20000);
		bool gone[PARTS_MAX] = { false };
		struct unread u = { .answer = 0 };
		const struct work work = { .par = par, .memory = round % 2 };
		const struct transfer_options o = {
			.work = &work,
			.sums = s->in.sums,
			.sums_to = s->out.sums,
			.unreadable = unreadable,
			.arg = &u,
		};

		for (size_t i = 0; i < s->in.s.nparts; i++) {
			const struct stripe_part *p = &s->in.parts[i];

			if (p->path != NULL && below(20) == 0) {
				gone[p->sum] = true;
				(void)unlinkat(rootfd, p->path, 0);
			}
		}
		good &= transfer(&s->in.s, &s->out.s, s->len, &o, NULL) == 0;
		for (size_t i = 0; i < s->in.nsums; i++)
			good &= s->in.sums[i].seen ==
				(gone[i] ? 0 : s->in.sums[i].size);
		for (size_t i = 0; i < s->out.s.nparts; i++) {
			const struct stripe_part *p = &s->out.parts[i];
			const struct stripe_sum *sum = &s->out.sums[p->sum];
			bool alone = sum->size == p->len;

			if (touches(s, p, gone))
				good &= sum->seen < sum->size;
			else
				good &= part_right(s, p) &&
					(!alone || sum->seen == p->len);
		}
		scene_free(s);
	}
	ok(good, fmt("losses cost nothing else, %u threads", threads));
	par_free(par);
}

/* --- Fatal errors --- */

static _Atomic int calls_left;

static bool
stop_later(void)
{
	return calls_left-- <= 0;
}

static void
stopping(unsigned threads)
{
	struct scene *s = scene_new(900000, 50000);
	struct par *par = par_new(threads, NULL);
	const struct work work = { .par = par,
				   .memory = 1,
				   .stop = stop_later };
	const struct transfer_options o = { .work = &work };
	struct error err = ERROR_INIT;

	calls_left = 50;
	ok(transfer(&s->in.s, &s->out.s, s->len, &o, &err) < 0 &&
		   err.kind == ERROR_SYSTEM && err.errnum == EINTR &&
		   calls_left > -50,
	   fmt("stopped, %u threads", threads));
	calls_left = 0;
	ok(transfer(&s->in.s, &s->out.s, s->len, &o, &err) < 0 &&
		   err.errnum == EINTR,
	   "... before the first byte");
	par_free(par);
	scene_free(s);
}

static void
write_errors(void)
{
	unsigned char data[100] = { 0 };
	struct stripe_part in = part(0, 100, "file/below", 0);
	struct stripe_part out = part(0, 100, "not/there", 0);
	const struct stripe from = { 1, &in }, to = { 1, &out };
	struct unread u = { .answer = 0 };
	struct transfer_options o = { .unreadable = unreadable, .arg = &u };
	struct error err = ERROR_INIT;

	in.mem = data;
	out.create = true;
	ok(transfer(&from, &to, 100, &o, &err) < 0 &&
		   err.kind == ERROR_ABSENT && says(&err, "not/there"),
	   "no directory to write to");
	out.path = "nothing";
	out.create = false;
	ok(transfer(&from, &to, 100, &o, &err) < 0 &&
		   err.kind == ERROR_ABSENT && says(&err, "nothing"),
	   "no file to write to");
	is_int(u.calls, 0, "which has nothing to do with reading");
	in.mem = NULL;
	write_text(fmt("%s/file", root), "x");
	ok(transfer(&from, &to, 100, &(struct transfer_options){ .work = NULL },
		    &err) < 0 &&
		   err.kind == ERROR_SYSTEM && err.errnum == ENOTDIR &&
		   says(&err, "file/below"),
	   "the number of an error is kept");
}

/* In a child with its own file system: 0 good, 77 not possible. */
static int
fill_disk(void)
{
	struct transfer_options o = { .work = &little };
	struct error err = ERROR_INIT;
	const char *small = fmt("%s/small", root);
	struct stripe_part out = part(0, 1000000, "file", 0);
	const struct stripe from = { 0, NULL }, to = { 1, &out };

	if (unshare(CLONE_NEWNS) < 0 ||
	    mount("none", "/", "none", MS_REC | MS_PRIVATE, NULL) < 0 ||
	    mkdir(small, 0777) < 0 ||
	    mount("tmpfs", small, "tmpfs", 0, "size=64k") < 0)
		return 77;
	out.create = true;
	out.dirfd = open(small, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (transfer(&from, &to, 1000000, &o, &err) == 0 ||
	    err.kind != ERROR_SYSTEM || err.errnum != ENOSPC ||
	    strstr(err.text, "file") == NULL)
		return 1;
	return 0;
}

static void
full_disk(void)
{
	const char *what = "a full file system is told, and the file named";
	int status = 0;
	pid_t pid = fork();

	must(pid >= 0);
	if (pid == 0)
		_exit(fill_disk());
	must(waitpid(pid, &status, 0) == pid);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
		skip(what, "cannot mount a file system of its own");
	else
		ok(WIFEXITED(status) && WEXITSTATUS(status) == 0, what);
}

static int
fail_transfer(void *arg, struct error *err)
{
	struct scene *s = arg;
	const struct transfer_options o = {
		.sums = s->in.sums,
		.sums_to = s->out.sums,
		.work = &little,
	};

	return transfer(&s->in.s, &s->out.s, s->len, &o, err);
}

static void
no_memory(void)
{
	struct scene *s = scene_new(100000, 9000);

	ok(fails_well(fail_transfer, NULL, s), "no memory");
	scene_free(s);
}

/* --- SCR 1.1.8 --- */

/* The packed files of a golden dataset, read from its containers, have the
 * recorded checksums. */
static void
golden(const char *name)
{
	const char *dir = fmt("containers/%s/scr.dataset.1", name);
	int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int meta = openat(fd, ".scr", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	static struct side in, out;
	struct transfer_options o = { .sums_to = out.sums, .work = &little };
	struct error err = ERROR_INIT;
	struct rank2file r;
	struct segmap m;
	uint64_t at = 0;
	bool same = true;

	if (faccessat(fd, ".scr/ctr.0.scr", F_OK, 0) < 0) {
		skip(name, "the selection has no containers");
		goto out;
	}
	must_be(rank2file_load(meta, "rank2file.scr", &r, &err) == 0, err.text);
	must_be(segmap_read(&m, &r, &err) == 0, err.text);
	for (size_t i = 0; i < m.nsegs; i++) {
		const struct segment *s = &m.segs[i];

		in.parts[i] =
			part(at, s->len, m.containers[s->container].name, 0);
		in.parts[i].dirfd = fd;
		in.parts[i].off = s->off;
		at += s->len;
	}
	out.s = (struct stripe){ 0, out.parts };
	for (size_t i = 0; i < m.nfiles; i++) {
		const struct segmap_file *f = &m.files[i];

		out.sums[i] = (struct stripe_sum){ .size = f->size };
		if (f->size > 0)
			out.parts[out.s.nparts++] =
				part(f->start, f->size, NULL, i);
	}
	in.s = (struct stripe){ m.nsegs, in.parts };
	is_int(transfer(&in.s, &out.s, m.bytes, &o, &err), 0, name);
	for (size_t i = 0; i < m.nfiles; i++)
		same &= m.files[i].has_crc && out.sums[i].crc == m.files[i].crc;
	ok(same, "... its files have the checksums it recorded");
	segmap_free(&m);
	rank2file_free(&r);
out:
	close(meta);
	close(fd);
}

int
main(void)
{
	for (unsigned threads = 1; threads <= 4; threads++) {
		copies(threads);
		losses(threads);
	}
	neighbours(true);
	neighbours(false);
	beginning();
	stopping(1);
	stopping(4);
	write_errors();
	full_disk();
	no_memory();
	close(rootfd);
	remove_tree(root);
	if (!golden_enter("what SCR 1.1.8 packed"))
		return tap_done();
	golden("many");
	golden("seed_example");
	return tap_done();
}
