/* SPDX-License-Identifier: BSD-3-Clause */
/* calls_threads.c - several threads or processes at once, signals,
 * cancellation. */
#include <pthread.h>
#include <setjmp.h>
#include <stdatomic.h>

#include "calls.h"

enum { RECORD = 1 << 20, RECORDS = 12, THREADS = 4 };

static int shared_fd;

/* Records whose words are all the same. */
static void *
write_records(void *arg)
{
	const unsigned me = (unsigned)(uintptr_t)arg;
	uint32_t *record = malloc(RECORD);
	const int n = RECORDS / THREADS;

	for (int i = 0; i < n; i++) {
		for (size_t k = 0; k < RECORD / 4; k++)
			record[k] = me * 1000 + (unsigned)i;
		if (write(shared_fd, record, RECORD) != RECORD)
			say("write: %s", strerror(errno));
	}
	free(record);
	return arg;
}

/* Each record is there once, and whole. */
static void
count_records(const char *path)
{
	static uint32_t record[RECORD / 4];
	int fd = open(path, O_RDONLY), seen[THREADS][16] = { { 0 } };
	unsigned mixed = 0, once = 0;

	while (read(fd, record, RECORD) == RECORD) {
		const uint32_t is = record[0];

		for (size_t k = 1; k < RECORD / 4; k++)
			mixed += record[k] != is;
		if (is / 1000 < THREADS && is % 1000 < 16)
			once += ++seen[is / 1000][is % 1000] == 1;
	}
	close(fd);
	say("%s: %u records, %u words mixed", path, once, mixed);
}

CASE(threads, true)
{
	static const int flags[] = { 0, O_APPEND };
	pthread_t t[THREADS];
	char name[20];

	for (int round = 0; round < 12; round++) {
		snprintf(name, sizeof(name), "by.%s",
			 round < 10 ? "threads" : "append");
		unlink(name);
		shared_fd = open(name, O_CREAT | O_WRONLY | flags[round >= 10],
				 0644);
		for (int i = 0; i < THREADS; i++)
			pthread_create(&t[i], NULL, write_records,
				       (void *)(uintptr_t)i);
		for (int i = 0; i < THREADS; i++)
			pthread_join(t[i], NULL);
		close(shared_fd);
		count_records(name);
		unlink(name); /* in any order */
	}
}

CASE(processes, false)
{
	for (int round = 0; round < 6; round++) {
		pid_t pid[THREADS];

		unlink("by.processes");
		shared_fd = open("by.processes", O_CREAT | O_WRONLY, 0644);
		for (uintptr_t i = 0; i < THREADS; i++) {
			pid[i] = fork();
			if (pid[i] == 0) {
				write_records((void *)i);
				exit(0);
			}
		}
		/* While they write. */
		if (round % 2 == 1)
			close(shared_fd);
		for (int i = 0; i < THREADS; i++)
			ended(pid[i]);
		count_records("by.processes");
		unlink("by.processes");
	}
}

static sigjmp_buf jump;
static int writes_in_handler;

static void
interrupt(int number)
{
	const int saved = errno;

	(void)number;
	if (shared_fd < 0)
		siglongjmp(jump, 1);
	if (write(shared_fd, "0123456789abcdef", 16) == 16)
		writes_in_handler++;
	errno = saved;
}

static void
every(long microseconds)
{
	const struct timeval t = { 0, microseconds };

	setitimer(ITIMER_REAL, &(struct itimerval){ t, t }, NULL);
}

CASE(signals, true)
{
	static char record[1 << 20];
	int fd = open("file", O_CREAT | O_RDWR, 0644), bad = 0;
	static volatile int n;
	struct stat is;

	memset(record, 'r', sizeof(record));
	signal(SIGALRM, interrupt);
	shared_fd = fd;
	every(300);
	while (writes_in_handler < 50 && n < 2000) {
		if (pwrite(fd, record, sizeof(record), 1 << 20) != 1 << 20 ||
		    lseek(fd, 0, SEEK_END) < 0)
			bad++;
		n++;
	}
	every(0);
	R(fstat(fd, &is));
	say("%d bad, %d", bad, is.st_size >= 2 << 20);
	R(unlink("file"));
	/* A handler that does not return: the write may be done or not. */
	fd = open("left", O_CREAT | O_RDWR, 0644);
	shared_fd = -1;
	n = 0;
	if (sigsetjmp(jump, 1) == 0 || n < 100) {
		n++;
		every(400);
		for (;;)
			(void)!pwrite(fd, record, sizeof(record), 0);
	}
	every(0);
	R(write(fd, record, sizeof(record)));
	R(lseek(fd, 1 << 20, SEEK_SET));
	R(write(fd, record, sizeof(record)));
	R(write(fd, record, sizeof(record)));
	R(close(fd));
	look("left");
}

/* A write that grows the file is left, repeated, and stays. */
CASE(left_and_repeated, true)
{
	static char record[2 << 20];
	static volatile int n;
	static int fd;

	memset(record, 's', sizeof(record));
	signal(SIGALRM, interrupt);
	shared_fd = -1;
	for (n = 0; n < 60;) {
		char name[20];

		n++;
		snprintf(name, sizeof(name), "again%c", 'a' + n % 20);
		fd = open(name, O_CREAT | O_RDWR | O_TRUNC, 0644);
		if (sigsetjmp(jump, 1) == 0) {
			every(100 + 40 * n);
			for (int k = 0; k < 4; k++)
				(void)!pwrite(fd, record, sizeof(record),
					      k << 21);
		}
		every(0);
		for (int k = 0; k < 4; k++)
			if (pwrite(fd, record, sizeof(record), k << 21) !=
			    sizeof(record))
				say("pwrite: %s", strerror(errno));
		close(fd);
	}
	for (n = 0; n < 20; n++) {
		char name[20];

		snprintf(name, sizeof(name), "again%c", 'a' + n);
		look(name);
	}
}

static void *
write_for_ever(void *arg)
{
	static char record[2 << 20];

	for (off_t off = 0;; off = off < 8 << 20 ? off + (1 << 20) : 0)
		(void)!pwrite(shared_fd, record, sizeof(record), off);
	return arg;
}

CASE(cancelled, true)
{
	static char record[4 << 20];
	pthread_t t;

	memset(record, 'c', sizeof(record));
	for (int i = 0; i < 10; i++) {
		void *how = NULL;

		unlink("file");
		shared_fd = open("file", O_CREAT | O_RDWR, 0644);
		pthread_create(&t, NULL, write_for_ever, NULL);
		usleep(3000);
		R(pthread_cancel(t));
		R(pthread_join(t, &how));
		R(how == PTHREAD_CANCELED);
		R(ftruncate(shared_fd, 0));
		R(write(shared_fd, record, sizeof(record)));
		R(pwrite(shared_fd, record, sizeof(record), 4 << 20));
		R(close(shared_fd));
		look("file");
	}
}

/* One thread forks, and its children close and end, while another writes. */
CASE(forks_meanwhile, true)
{
	pthread_t t;
	int fd = open("file", O_CREAT | O_RDWR, 0644);

	shared_fd = fd;
	pthread_create(&t, NULL, write_records, NULL);
	for (int i = 0; i < 20; i++) {
		pid_t pid = fork();

		if (pid == 0) {
			close(fd);
			exit(0);
		}
		waitpid(pid, NULL, 0);
	}
	pthread_join(t, NULL);
	close(fd);
	count_records("file");
}
