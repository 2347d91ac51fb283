/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * speed WHAT BYTES ROUNDS [FILES] - time a part of libscr and its reference in
 * turn, for `make bench`.  For each round after the first, rank 0 prints "OURS
 * REFERENCE OURS REFERENCE": seconds until the last rank has ended, and
 * processor seconds of all ranks.  WHAT is
 *
 *   encode  from SCR_Start_output() to the end of SCR_Complete_output(), each
 *           rank with a file of BYTES; against a copy of the files within the
 *           caches, by all ranks at once, and the coding of all of them by one
 *           core
 *   late    the same, half a second after the last one; the reference is 0
 *   parts   the same as encode, against the least that it takes with this
 *           MPI, each step by all ranks at once: the application's writing;
 *           reading and summing; sending what coding sends; the coding by one
 *           core; writing the check bytes.  A line "parts S S S S S" has the
 *           seconds of each
 *   flush   cache to prefix, FILES files a rank (1); against `cp` and `sync`
 *           on all nodes at once; tar: against `tar` and `sync`
 *   behind  the same in the background, while the application sleeps
 *   blocks  what the calls of the application take for that, with the commit;
 *           against a flush for which it waits, of files as large
 *   beside  a computation without calls, while datasets of FILES files are
 *           flushed; against the same one without a flush
 *   fetch   prefix to cache; against `cp`, likewise
 *   packed  the same from containers; against that of files
 *   init    no rounds: SCR_Init(), from caches; the reference is 0
 *   small   a dataset; against a barrier and the creation of a file of BYTES,
 *           with fsync()
 */
#include <fcntl.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "crc.h"
#include "encode/code.h"
#include "error.h"
#include "io.h"
#include "meta/dataset.h"
#include "scr/fetching.h"
#include "scr/flushing.h"
#include "scr/held.h"
#include "scr/output.h"
#include "scr/outset.h"
#include "scr/run.h"
#include "scr/scr.h"
#include "team/say.h"

#define BLOCK ((size_t)128 << 10)

static struct error err;
static struct run *run;
static char *data; /* what the application writes */
static size_t size;
static int files = 1; /* of a rank */
static const char *what;
static const char *series = "ckpt";
static int round_no;

static void
need(int rc)
{
	if (rc < 0)
		say_abort("%s", err.text);
}

/* --- Time --- */

struct cost {
	double wall, cpu; /* seconds */
};

static double
processor(int who)
{
	struct rusage u;

	getrusage(who, &u);
	return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
	       (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e6;
}

static struct cost
now(void)
{
	return (struct cost){ MPI_Wtime(), processor(RUSAGE_SELF) +
						   processor(RUSAGE_CHILDREN) };
}

static struct cost
since(struct cost then)
{
	const struct cost is = now();

	return (struct cost){ is.wall - then.wall, is.cpu - then.cpu };
}

/* Run `fn` on all ranks: the longest wall time, and the sum of the processor
 * times. */
static struct cost
timed(void (*fn)(void))
{
	struct cost is, all;
	MPI_Request r;

	MPI_Barrier(MPI_COMM_WORLD);
	is = now();
	fn();
	is = since(is);
	/* A rank that has finished sleeps, so that others can use its core. */
	MPI_Ibarrier(MPI_COMM_WORLD, &r);
	team_wait(&r, 1);
	MPI_Allreduce(&is.wall, &all.wall, 1, MPI_DOUBLE, MPI_MAX,
		      MPI_COMM_WORLD);
	MPI_Allreduce(&is.cpu, &all.cpu, 1, MPI_DOUBLE, MPI_SUM,
		      MPI_COMM_WORLD);
	return all;
}

static void
print(struct cost ours, struct cost reference)
{
	if (run->world.rank == 0 && round_no > 0)
		printf("%.6f %.6f %.6f %.6f\n", ours.wall, reference.wall,
		       ours.cpu, reference.cpu);
}

/* --- Ours --- */

static void
make_file(const char *name, bool sync)
{
	int fd = open(name, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	if (fd < 0)
		say_abort("%s: cannot be written", name);
	need(io_pwrite(fd, name, data, size, 0, &err));
	if (sync)
		need(io_fsync(fd, name, &err));
	close(fd);
}

static void
write_set(void)
{
	const struct dataset *d = NULL;
	char name[SCR_MAX_FILENAME], file[SCR_MAX_FILENAME];

	snprintf(name, sizeof(name), "%s.%d", series, round_no);
	need(output_start(run, name, SCR_FLAG_CHECKPOINT, &err));
	for (int i = 0; i < files; i++) {
		snprintf(name, sizeof(name), "%s/%s.%d/rank_%u.%d",
			 run->p.prefix, series, round_no, run->world.rank, i);
		need(outset_route(run->out, name, file, &err));
		make_file(file, false);
	}
	need(output_complete(run, true, &d, &err));
}

static void
flush(void)
{
	need(flushing_now(run, run->dataset_id, false, &err));
}

static void
begin_flush(void)
{
	run->p.flush = 1;
	if (!flushing_output(run, run->dataset_id))
		say_abort("no flush in the background");
	run->p.flush = 0;
}

static void
flush_behind(void)
{
	begin_flush();
	flushing_wait(run, INT64_MAX);
}

static void
end_flush(void)
{
	flushing_look(run);
	if (held_find(run->held, run->dataset_id)->flying)
		say_abort("the flush has not ended");
}

/* Some seconds of work that needs no memory. */
static void
compute(void)
{
	volatile double in = 3;
	double x = in;

	for (long i = 0; i < 700000000; i++)
		x = x * 0.999999 + 1e-7;
	in = x;
}

static void
fetch(void)
{
	need(fetching_latest(run, &err));
	if (run->restart_id != run->dataset_id)
		say_abort("dataset %lld was not fetched",
			  (long long)run->dataset_id);
}

static void
begin(void)
{
	run = run_begin(NULL, &err);
	need(run == NULL ? -1 : 0);
}

/* --- References --- */

static char from[8192], to[8192];

/* Set `from` to the file of this rank, `to` to a place for a copy. */
static void
name_copy(bool from_prefix, bool to_prefix)
{
	const struct held_set *s = held_find(run->held, run->dataset_id);
	const char *prefix = run->p.prefix;
	const unsigned rank = run->world.rank;

	if (from_prefix)
		snprintf(from, sizeof(from), "%s/%s/rank_%u.0", prefix,
			 s->d.name, rank);
	else
		snprintf(from, sizeof(from), "%s/rank_%u.0", s->dir, rank);
	if (to_prefix)
		snprintf(to, sizeof(to), "%s/reference.%u.0", prefix, rank);
	else
		snprintf(to, sizeof(to), "%s/../reference.%u.0", s->dir, rank);
}

/* Copy the file; first remove the last copy: libscr evicts a dataset, too. */
static void
copy(void)
{
	const int gone = unlink(to);
	int in = io_open_read(AT_FDCWD, from, &err);
	int out = open(to, O_WRONLY | O_CREAT | O_EXCL, 0600);
	char *block = aligned_alloc(4096, BLOCK);

	if (in < 0 || out < 0 || block == NULL || (gone < 0 && round_no > 0))
		say_abort("%s: cannot be copied", from);
	for (size_t at = 0, n = 0; at < size; at += n) {
		n = size - at < BLOCK ? size - at : BLOCK;
		need(io_pread(in, from, block, n, at, &err));
		need(io_pwrite(out, to, block, n, at, &err));
	}
	free(block);
	close(in);
	close(out);
}

static void
shell(const char *cmd)
{
	if (system(cmd) != 0)
		say_abort("%s failed", cmd);
}

/* Run this command on the last dataset. */
static void
command(const char *words)
{
	char cmd[256];

	snprintf(cmd, sizeof(cmd), "%s id:%lld -p \"$SCR_PREFIX\"", words,
		 (long long)run->dataset_id);
	if (run->world.rank == 0)
		shell(cmd);
	MPI_Barrier(MPI_COMM_WORLD);
}

/* Run the commands that a user would type to flush or fetch. */
static void
copy_and_sync(void)
{
	char cmd[sizeof(from) + 2 * sizeof(to) + 64];

	if (strcmp(what, "tar") == 0)
		snprintf(cmd, sizeof(cmd), "tar -cPf %s %.*s* && sync %s", to,
			 (int)strlen(from) - 1, from, to);
	else if (files == 1)
		snprintf(cmd, sizeof(cmd), "cp -p %s %s && sync %s", from, to,
			 to);
	else
		snprintf(cmd, sizeof(cmd),
			 "mkdir %s && cp -p %.*s* %s && sync %s/*", to,
			 (int)strlen(from) - 1, from, to, to);
	shell(cmd);
}

/* Drop `from` from the page cache: it is read from its disk. */
static void
evict(void)
{
	int fd = io_open_read(AT_FDCWD, from, &err);

	need(fd);
	if (posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED) != 0)
		say_abort("%s: stays in the page cache", from);
	close(fd);
}

/* Remove the files whose names differ from `path` in the last character. */
static void
drop(const char *path)
{
	char cmd[sizeof(from) + 64];

	snprintf(cmd, sizeof(cmd), "rm -rf %.*s*", (int)strlen(path) - 1, path);
	shell(cmd);
}

static void
barrier_and_file(void)
{
	MPI_Barrier(MPI_COMM_WORLD);
	make_file(to, true);
}

/* --- What an encoded dataset takes, step by step --- */

static void
write_only(void)
{
	unlink(to);
	make_file(to, false);
}

static void
read_and_sum(void)
{
	int in = io_open_read(AT_FDCWD, from, &err);
	char *block = aligned_alloc(4096, BLOCK);
	uint32_t crc = 0;

	if (in < 0 || block == NULL)
		say_abort("%s: cannot be read", from);
	for (size_t at = 0, n = 0; at < size; at += n) {
		n = size - at < BLOCK ? size - at : BLOCK;
		need(io_pread(in, from, block, n, at, &err));
		crc = crc_update(crc, block, n);
	}
	if (crc == 0) /* the compiler must not drop the loop */
		say_warn("%s: its checksum is 0", from);
	free(block);
	close(in);
}

static const struct level *
level_in_force(void)
{
	return levels_choose(&run->levels, SCR_FLAG_CHECKPOINT, 1);
}

/* The number of other ranks that keep bytes, or check bytes, of a rank. */
static unsigned
copies_sent(void)
{
	switch (level_in_force()->set.type) {
	case REDSET_SINGLE:
		return 0;
	case REDSET_RS:
		return level_in_force()->set.failures;
	default:
		return 1;
	}
}

/* The data to where it is coded, and the results to all but one member. */
static void
send_all(void)
{
	const int n = (int)run->world.size, me = (int)run->world.rank;
	const size_t k = copies_sent(), m = level_in_force()->set.members - k,
		     all = k > 0 ? size + (k - 1) * (size / m) : 0;
	char *block = aligned_alloc(4096, BLOCK);

	for (size_t at = 0, len = 0; at < all; at += len) {
		MPI_Request r[2];

		len = all - at < BLOCK ? all - at : BLOCK;
		MPI_Irecv(block, (int)len, MPI_BYTE, (me + n - 1) % n, 0,
			  MPI_COMM_WORLD, &r[0]);
		MPI_Isend(data + at % (size - len + 1), (int)len, MPI_BYTE,
			  (me + 1) % n, 0, MPI_COMM_WORLD, &r[1]);
		team_wait(r, 2);
	}
	free(block);
}

/* As many bytes as the redundancy file of a rank has. */
static void
write_checks(void)
{
	const struct sets_mine *set = &level_in_force()->set;
	const size_t whole = size;

	if (set->type == REDSET_SINGLE)
		return;
	if (set->type != REDSET_PARTNER)
		size = whole / (set->members - copies_sent()) * copies_sent();
	write_only();
	size = whole;
}

/* Rank 0 computes the check chunks of all members; the others sleep. */
static struct cost
code_alone(void)
{
	const struct level *l = level_in_force();
	const bool rs = l->set.type == REDSET_RS;
	const struct code c = { rs ? CODE_RS : CODE_XOR, l->set.members,
				rs ? l->set.failures : 1 };
	const bool coded = rs || l->set.type == REDSET_XOR;
	const uint64_t chunk = coded ? code_chunk_size(&c, size) : 0;
	const size_t slice = size < 65536 ? size : 65536;
	const struct cost then = now();
	char *sums = NULL;
	uint64_t at = 0;

	if (run->world.rank != 0 || !coded)
		return (struct cost){ 0, 0 };
	sums = aligned_alloc(4096, slice * c.k);
	for (unsigned s = 0; s < c.n; s++) {
		bool lost[CODE_MAX] = { false };
		struct recipe *r = NULL;

		for (unsigned m = 0; m < c.n; m++)
			lost[m] = code_slot(&c, m, s).check;
		r = recipe_new(&c, s, lost, &err);
		need(r == NULL || sums == NULL ? -1 : 0);
		for (uint64_t done = 0; done < chunk; done += slice) {
			void *in[CODE_MAX], *out[CODE_MAX];

			/* Each input is at another address, so that it
			 * comes from memory, not from a processor
			 * cache. */
			for (unsigned i = 0; i < r->nin; i++, at += slice)
				in[i] = data + at % (size - size % slice);
			for (unsigned i = 0; i < r->nout; i++)
				out[i] = sums + i * slice;
			recipe_run(r, slice, in, out);
		}
		recipe_free(r);
	}
	free(sums);
	return since(then);
}

static struct cost
coding(void)
{
	MPI_Request r;
	struct cost is = code_alone();

	MPI_Ibarrier(MPI_COMM_WORLD, &r);
	team_wait(&r, 1);
	MPI_Bcast(&is, 2, MPI_DOUBLE, 0, MPI_COMM_WORLD);
	return is;
}

/* One after the other.  As in a cache, each part reuses the memory that the
 * removal of the previous `to` has freed. */
static void
measure_parts(struct cost ours)
{
	struct cost part[5], all = { 0, 0 };

	part[0] = timed(write_only);
	part[1] = timed(read_and_sum);
	part[2] = timed(send_all);
	part[3] = coding();
	part[4] = timed(write_checks);
	for (int i = 0; i < 5; i++) {
		all.wall += part[i].wall;
		all.cpu += part[i].cpu;
	}
	print(ours, all);
	if (run->world.rank == 0 && round_no > 0)
		printf("parts %.3f %.3f %.3f %.3f %.3f\n", part[0].wall,
		       part[1].wall, part[2].wall, part[3].wall, part[4].wall);
}

static void
measure(void)
{
	struct cost ours, theirs, more;

	if (strcmp(what, "late") == 0)
		usleep(500000);
	ours = timed(write_set);
	name_copy(false, false);
	if (strcmp(what, "small") == 0) {
		print(ours, timed(barrier_and_file));
	} else if (strcmp(what, "late") == 0) {
		print(ours, (struct cost){ 0, 0 });
	} else if (strcmp(what, "parts") == 0) {
		measure_parts(ours);
	} else if (strcmp(what, "encode") == 0) {
		theirs = timed(copy);
		more = coding();
		theirs.wall += more.wall;
		theirs.cpu += more.cpu;
		print(ours, theirs);
	} else if (strcmp(what, "beside") == 0) {
		begin_flush();
		ours = timed(compute);
		end_flush(); /* the computation took longer */
		name_copy(true, true);
		drop(from);
		print(ours, timed(compute));
	} else if (strcmp(what, "packed") == 0) {
		flush();
		need(held_remove(run, run->dataset_id, &err));
		theirs = timed(fetch);
		command("scr_container -q pack");
		need(held_remove(run, run->dataset_id, &err));
		print(timed(fetch), theirs);
		command("scr_index -q --delete");
	} else if (strcmp(what, "blocks") == 0) {
		ours = timed(begin_flush);
		usleep(2000000);
		more = timed(end_flush);
		ours.wall += more.wall;
		name_copy(true, true);
		drop(from);
		series = "sync";
		write_set();
		print(ours, timed(flush));
		name_copy(true, true);
		drop(from);
		series = "ckpt";
	} else {
		ours = timed(strcmp(what, "behind") == 0 ? flush_behind
							 : flush);
		name_copy(false, true);
		theirs = timed(copy_and_sync);
		if (strcmp(what, "fetch") == 0) {
			drop(to);
			name_copy(true, false);
			evict();
			need(held_remove(run, run->dataset_id, &err));
			ours = timed(fetch);
			evict();
			theirs = timed(copy_and_sync);
		}
		print(ours, theirs);
		drop(to);
		/* Free the memory, so that the next round gets the same. */
		name_copy(true, true);
		if (run->p.use_containers)
			command("scr_index -q --delete");
		else
			drop(from);
	}
}

int
main(int argc, char **argv)
{
	struct cost is;

	MPI_Init(&argc, &argv);
	is = timed(begin);
	if (argc < 4)
		say_abort("speed: what, bytes, rounds");
	what = argv[1];
	if (argc > 4)
		files = atoi(argv[4]);
	size = strtoul(argv[2], NULL, 10);
	data = aligned_alloc(4096, size);
	if (data == NULL)
		say_abort("out of memory");
	for (size_t i = 0; i < size; i++)
		data[i] = (char)(i * 2654435761U >> 13) | 1;
	round_no = 1;
	if (strcmp(argv[1], "init") == 0)
		print(is, (struct cost){ 0, 0 });
	else
		for (round_no = 0; round_no <= atoi(argv[3]); round_no++)
			measure();
	free(data);
	run_end(run);
	MPI_Finalize();
	return 0;
}
