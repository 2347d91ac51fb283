/* SPDX-License-Identifier: BSD-3-Clause */
/* Complaints of many nodes as few lines. */
#include "remote/complaints.h"

#include "scratch.h"

static void
note(struct complaints *c, const char *node, const char *text)
{
	must(complaints_add(c, node, text, NULL) == 0);
}

TEST(lines)
{
	struct complaints c = { .count = 0 };
	auto_buf out = BUF_INIT;

	must(complaints_take(&c, &out, NULL) == 0);
	is_int(out.len, 0, "no complaint, no line");
	note(&c, "n1", "host n1 port 22: Connection refused");
	note(&c, "n7", "no space, 1.5 GB of n70 is free");
	note(&c, "n3", "host n3 port 22: Connection refused");
	note(&c, "n2", "host n2 port 22: Connection refused");
	note(&c, "n2", "host n2 port 22: Connection refused");
	note(&c, "n4", "closed by 10.0.0.4 port 22");
	note(&c, "n5", "closed by 10.0.0.15 port 22");
	note(&c, "n6", "closed by 10.0.0 of n5");
	must(complaints_take(&c, &out, NULL) == 0);
	is_str(out.data,
	       "n[1,3,2]: host NODE port 22: Connection refused\n"
	       "n7: no space, 1.5 GB of n70 is free\n"
	       "n[4-5]: closed by ADDRESS port 22\n"
	       "n6: closed by 10.0.0 of n5\n",
	       "nodes with the same complaint share a line");
	buf_clear(&out);
	must(complaints_take(&c, &out, NULL) == 0);
	is_int(out.len, 0, "each is told once");
}

TEST(no_memory)
{
	without_memory (m, 2, "no memory") {
		struct complaints c = { .count = 0 };
		auto_buf out = BUF_INIT;

		m.rc = 0;
		for (int i = 0; i < 20 && m.rc == 0; i++)
			m.rc = complaints_add(&c, i % 2 ? "a" : "b",
					      i % 3 ? "a is full" : "b is slow",
					      &m.err);
		if (m.rc == 0)
			m.rc = complaints_take(&c, &out, &m.err);
		complaints_free(&c);
	}
}
