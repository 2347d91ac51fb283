/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>
#include <time.h>

#include "buf.h"
#include "error.h"
#include "hostlist.h"
#include "tap.h"

#define LONG_50 "a2345678901234567890123456789012345678901234567890"
#define LONG_250 LONG_50 LONG_50 LONG_50 LONG_50 LONG_50

/* A list, and its names separated by blanks. */
struct vector {
	const char *text, *names;
};

static const struct vector good[] = {
	{ "", "" },
	{ " ,\n,\t ", "" },
	{ "vm", "vm" },
	{ "worker-a,worker-b", "worker-a worker-b" },
	{ "a b\nc\td, e,,f\r\n", "a b c d e f" },
	{ "a,a,b,a", "a a b a" },
	{ "x1000c0s0b0n0,x1000c0s0b0n1", "x1000c0s0b0n0 x1000c0s0b0n1" },
	{ "x1000c0s0b0n[0-3]",
	  "x1000c0s0b0n0 x1000c0s0b0n1 x1000c0s0b0n2 x1000c0s0b0n3" },
	{ "r1i0n3", "r1i0n3" },
	{ "r[1-3]i0n3", "r1i0n3 r2i0n3 r3i0n3" },
	{ "r[1-2]n[00-02]", "r1n00 r1n01 r1n02 r2n00 r2n01 r2n02" },
	{ "a[1-2][3-4]", "a13 a14 a23 a24" },
	{ "a[1-2]b[1,3]c[0-1]",
	  "a1b1c0 a1b1c1 a1b3c0 a1b3c1 a2b1c0 a2b1c1 a2b3c0 a2b3c1" },
	{ "n[08-10]", "n08 n09 n10" },
	{ "n[8-10]", "n8 n9 n10" },
	{ "n[098-100]", "n098 n099 n100" },
	{ "n[98-100]", "n98 n99 n100" },
	{ "n[098-1001,5]x",
	  NULL }, /* is accepted; its names are not compared */
	{ "n[0-0]", "n0" },
	{ "n[00]", "n00" },
	{ "n[1,3,5-7]", "n1 n3 n5 n6 n7" },
	{ "n[5-7,1,1]", "n5 n6 n7 n1 n1" },
	{ "n[1-3]-ib0", "n1-ib0 n2-ib0 n3-ib0" },
	{ "n[1-3,07]-ib[0-1],b c",
	  "n1-ib0 n1-ib1 n2-ib0 n2-ib1 n3-ib0 n3-ib1 n07-ib0 n07-ib1 b c" },
	{ "node[1-2].site.example.org",
	  "node1.site.example.org node2.site.example.org" },
	{ "10.0.0.[1-2]", "10.0.0.1 10.0.0.2" },
	{ "ip-10-0-0-1 ip-10-0-0-2", "ip-10-0-0-1 ip-10-0-0-2" },
	{ "fe80::1%eth0", "fe80::1%eth0" },
	{ "[1-3]", "1 2 3" },
	{ "n[999999999999999998-999999999999999999]",
	  "n999999999999999998 n999999999999999999" },
	{ "n12345678901234567890123456789", "n12345678901234567890123456789" },
	{ "a[1]b[1]c[1]d[1]e[1]f[1]g[1]h[1]i[1]j[1]k[1]l[1]m[1]n[1]o[1]p[1]",
	  "a1b1c1d1e1f1g1h1i1j1k1l1m1n1o1p1" },
};

/* A list, and a part of its error message. */
static const struct vector bad[] = {
	{ "n[", "character 3: \"\": expected a number" },
	{ "n[1", "character 3: \"1\": expected ',' or ']'" },
	{ "n[1,", "character 5: \"\": expected a number" },
	{ "n[1-", "character 3: \"1-\": expected a number" },
	{ "n[]", "character 3: \"]\": expected a number" },
	{ "n[1,]", "character 5: \"]\": expected a number" },
	{ "n[,1]", "character 3: \",1]\": expected a number" },
	{ "n[-1]", "character 3: \"-1]\": expected a number" },
	{ "n[1-2-3]", "character 3: \"1-2-3]\": expected ',' or ']'" },
	{ "n[1 ,2]", "character 3: \"1 ,2]\": expected ',' or ']'" },
	{ "n[1, 2]", "character 5: \" 2]\": expected a number" },
	{ "n[a-b]", "character 3: \"a-b]\": expected a number" },
	{ "n[[1]]", "character 3: \"[1]]\": expected a number" },
	{ "n1]", "character 3: \"]\": this ']' has no matching '['" },
	{ "n[1]]", "character 5: \"]\": this ']' has no matching '['" },
	{ "ok,n[3-1]", "character 6: \"3-1]\": a range goes from" },
	{ "n[1-010]", "character 3: \"1-010]\": both ends" },
	{ "n[008-10]", "character 3: \"008-10]\": both ends" },
	{ "n[08-010]", "character 3: \"08-010]\": both ends" },
	{ "n[1-4000000]", "character 3: \"1-4000000]\": too many names" },
	{ "n[1-2000000,1-2000000]",
	  "character 13: \"1-2000000]\": too many names" },
	{ "a,n[1-3000]x[1-3000]",
	  "character 3: \"n[1-3000]x[1-3000]\": too many names" },
	{ "n[1-1000000],m[1-1000000],o[1-1000000]", "more than 2097152 names" },
	{ "n[1-99999999999999999999]", "at most 18 digits" },
	{ "n[0-18446744073709551616]", "at most 18 digits" },
	{ "n[1234567890123456789]", "at most 18 digits" },
	{ LONG_250 "123456", "a name is too long" },
	{ "b[1-2]" LONG_250 "123[8-10]", "a name is too long" },
	{ "a[1]b[1]c[1]d[1]e[1]f[1]g[1]h[1]i[1]j[1]k[1]l[1]m[1]n[1]o[1]p[1]q[1]",
	  "too many brackets" },
	{ "a;b", "character 2: \";b\": a node name cannot have" },
	{ "a,$(reboot)",
	  "character 3: \"$(reboot)\": a node name cannot have" },
	{ "a,\033[2J", "character 3: \"\\x1b[2J\": a node name cannot have" },
	{ "n\xc3\xa9", "a node name cannot have this character" },
	{ "a,-oProxyCommand=x", "a node name cannot have this character" },
	{ "a,-oProxyCommand", "character 3: \"-oProxyCommand\": a node name" },
	{ "-[1-3]", "a node name must start with a letter or a digit" },
	{ "..", "a node name must start with a letter or a digit" },
};

/* Parse `text`. */
static struct hostlist
list(const char *text)
{
	struct hostlist h = HOSTLIST_INIT;

	if (hostlist_add(&h, text, NULL) < 0)
		abort();
	return h;
}

/* Does the list hold exactly these names, in order? */
static bool
is_names(const struct hostlist *h, const char *names)
{
	struct buf b = BUF_INIT;
	bool same = hostlist_plain(h, " ", &b, NULL) == 0 &&
		    strcmp(b.data, names) == 0;

	if (!same)
		printf("# got \"%s\"\n# expected \"%s\"\n",
		       b.data != NULL ? b.data : "", names);
	buf_free(&b);
	return same;
}

static void
test_expand(void)
{
	struct error err = ERROR_INIT;
	struct hostlist h;

	for (size_t i = 0; i < sizeof(good) / sizeof(*good); i++) {
		const struct vector *v = &good[i];

		h = (struct hostlist)HOSTLIST_INIT;
		ok(hostlist_add(&h, v->text, &err) == 0 &&
			   (v->names == NULL || is_names(&h, v->names)),
		   v->text[0] > ' ' ? v->text : "separators only");
		hostlist_free(&h);
	}
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		const struct vector *v = &bad[i];

		h = list("keep[1-2]");
		error_clear(&err);
		ok(hostlist_add(&h, v->text, &err) == -1 &&
			   err.kind == ERROR_USAGE &&
			   is_names(&h, "keep1 keep2"),
		   v->names);
		ok(strncmp(err.text, "node list: ", 11) == 0 &&
			   strstr(err.text, v->names) != NULL,
		   err.text);
		hostlist_free(&h);
	}
	h = list("a");
	hostlist_add(&h, "b[1-2]", NULL);
	ok(is_names(&h, "a b1 b2"), "a second text is added behind");
	is_int(hostlist_add(&h, "b[", NULL), -1, "no struct, no sentence");
	hostlist_free(&h);
	hostlist_free(&h);
	ok(h.names == NULL, "a list is freed twice without harm");
}

/* The longest valid names and numbers, to the byte. */
static void
test_limits(void)
{
	struct hostlist h = list(LONG_250 "[10000-10001]");
	char name[300];

	is_int((int64_t)strlen(h.names[1]), HOSTLIST_NAME_MAX,
	       "the longest name");
	hostlist_free(&h);
	h = (struct hostlist)HOSTLIST_INIT;
	is_int(hostlist_add(&h, LONG_250 "[9999-100000]", NULL), -1,
	       "one that is longer at the end of its range only");
	is_int(hostlist_add(&h, "n[1-2097152]", NULL), 0, "the longest list");
	is_str(hostlist_nth(&h, -1), "n2097152", "has its last name");
	is_int(hostlist_add(&h, "n", NULL), -1, "takes not one name more");
	is_int(hostlist_add_name(&h, "n", NULL), -1, "not by itself");
	is_int(hostlist_add_list(&h, &h, NULL), -1, "nor a list");
	is_int((int64_t)h.count, HOSTLIST_MAX, "and is unchanged");
	hostlist_free(&h);
	h = (struct hostlist)HOSTLIST_INIT;
	memset(name, 'a', sizeof(name));
	name[HOSTLIST_NAME_MAX] = '\0';
	is_int(hostlist_add_name(&h, name, NULL), 0, "the longest plain name");
	name[HOSTLIST_NAME_MAX] = 'a';
	name[HOSTLIST_NAME_MAX + 1] = '\0';
	is_int(hostlist_add_name(&h, name, NULL), -1, "a longer one");
	is_int(hostlist_add(&h, LONG_250 "[1-2000000]", NULL), -1,
	       "half a gigabyte of names");
	is_int((int64_t)h.count, 1, "none of them is left");
	hostlist_free(&h);
}

static void
test_add_name(void)
{
	static const char *const names[] = {
		"",	"a,b",	"a b", "a\nb", "n[1]", "n]",
		"-oX=", "-oX",	"a'b", "a;b",  "a/b",  "a$b",
		"a\\b", "a\"b", "a*b", "a@b",  ".",    "..",
	};
	struct error err = ERROR_INIT;
	struct hostlist h = list("a");

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		ok(hostlist_add_name(&h, names[i], &err) == -1 &&
			   err.kind == ERROR_USAGE && h.count == 1,
		   err.text);
	hostlist_add_name(&h, "a b", &err);
	is_str(err.text,
	       "node name: \"a b\": holds a character that no node name has",
	       "it says so");
	is_int(hostlist_add_name(&h, "x1-y_2.z:3", &err), 0, "a plain name");
	ok(is_names(&h, "a x1-y_2.z:3"), "is added as it is");
	hostlist_free(&h);
}

/* A list, and its text after compression. */
static const struct vector texts[] = {
	{ "", "" },
	{ "a", "a" },
	{ "vm vm", "vm,vm" },
	{ "b a c", "b,a,c" },
	{ "n1 n2 n3", "n[1-3]" },
	{ "n1 n3 n5 n6 n7", "n[1,3,5-7]" },
	{ "n3 n2 n1", "n[3,2,1]" },
	{ "n1 n1", "n[1,1]" },
	{ "n1 n2 n2 n3", "n[1-2,2-3]" },
	{ "n8 n9 n10", "n[8-10]" },
	{ "n08 n09 n10", "n[08-10]" },
	{ "n08 n9 n10", "n[08,9-10]" },
	{ "n9 n010", "n[9,010]" },
	{ "n99 n100", "n[99-100]" },
	{ "n099 n100", "n[099-100]" },
	{ "n098 n099 n100 n1000", "n[098-100,1000]" },
	{ "nid00008 nid00009 nid00010", "nid[00008-00010]" },
	{ "node01 node02 node10", "node[01-02,10]" },
	{ "x1000c0s0b0n0 x1000c0s0b0n1", "x1000c0s0b0n[0-1]" },
	{ "r1i0n3 r2i0n3 r3i0n3", "r[1-3]i0n3" },
	{ "r1n0 r1n1 r2n0 r2n1", "r[1-2]n[0-1]" },
	{ "r1n0 r2n0 r1n1 r2n1", "r[1-2]n0,r[1-2]n1" },
	{ "a1b1c0 a1b1c1 a1b3c0 a1b3c1 a2b1c0 a2b1c1 a2b3c0 a2b3c1",
	  "a[1-2]b[1,3]c[0-1]" },
	{ "n1-ib0 n2-ib0", "n[1-2]-ib0" },
	{ "ip-10-0-0-1 ip-10-0-0-2 ip-10-0-1-1",
	  "ip-10-0-0-[1-2],ip-10-0-1-1" },
	{ "10.0.0.1 10.0.0.2", "10.0.0.[1-2]" },
	{ "n1.a n2.a n3.b", "n[1-2].a,n3.b" },
	{ "n1 n", "n1,n" },
	{ "n n1 n12", "n,n[1,12]" },
	{ "1 2 3 x", "[1-3],x" },
	{ "n999999999999999999 n1", "n[999999999999999999,1]" },
	{ "n1000000000000000000 n1000000000000000001",
	  "n1000000000000000000,n1000000000000000001" },
	{ "n999999999999999999 n1000000000000000000",
	  "n999999999999999999,n1000000000000000000" },
	{ "a1b1c1d1e1f1g1h1i1j1k1l1m1n1o1p1q1 "
	  "a1b1c1d1e1f1g1h1i1j1k1l1m1n1o1p1q2",
	  "a1b1c1d1e1f1g1h1i1j1k1l1m1n1o1p1q[1-2]" },
};

static void
test_text(void)
{
	struct buf b = BUF_INIT, c = BUF_INIT;
	struct hostlist h;

	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		h = list(texts[i].text);
		buf_clear(&b);
		hostlist_text(&h, &b, NULL);
		is_str(b.data, texts[i].names, texts[i].text);
		hostlist_free(&h);
		h = list(b.data);
		ok(is_names(&h, texts[i].text), "and back");
		hostlist_free(&h);
	}
	h = list("n[1-3]");
	buf_clear(&c);
	buf_add_str(&c, "nodes ");
	hostlist_text(&h, &c, NULL);
	buf_add_char(&c, ':');
	hostlist_plain(&h, ", ", &c, NULL);
	is_str(c.data, "nodes n[1-3]:n1, n2, n3", "texts are added to a buf");
	hostlist_free(&h);
	buf_free(&b);
	buf_free(&c);
}

/* One step of a random number generator (xorshift), below `n`. */
static uint64_t
draw(uint64_t *state, uint64_t n)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state % n;
}

/* Add a name of up to four numbers between words.  Most numbers are close to
 * those of the last name. */
static void
add_random(struct hostlist *h, uint64_t *rnd, unsigned last[4])
{
	static const char *const words[] = { "n", "r", "-ib", ".x", "c" };
	struct buf b = BUF_INIT;
	const uint64_t parts = 1 + draw(rnd, 4);

	last[draw(rnd, 4)] += (unsigned)draw(rnd, 3);
	if (draw(rnd, 5) == 0)
		last[draw(rnd, 4)] = (unsigned)draw(rnd, 102);
	buf_add_str(&b, "h");
	for (uint64_t i = 0; i < parts; i++) {
		buf_add_str(&b, words[i < 3 ? i : draw(rnd, 5)]);
		if (draw(rnd, 20) != 0)
			buf_printf(&b, "%0*u", draw(rnd, 9) == 0 ? 3 : 1,
				   last[i]);
	}
	hostlist_add_name(h, b.data, NULL);
	buf_free(&b);
}

/* Does the text of `h` parse to the names of `h`? */
static bool
comes_back(const struct hostlist *h)
{
	struct buf b = BUF_INIT;
	struct hostlist again = HOSTLIST_INIT;
	bool same = hostlist_text(h, &b, NULL) == 0;

	same = same && hostlist_add(&again, b.data, NULL) == 0 &&
	       again.count == h->count;
	for (size_t i = 0; same && i < h->count; i++)
		same = strcmp(again.names[i], h->names[i]) == 0;
	if (!same)
		printf("# %zu names: %s\n", h->count, b.data);
	hostlist_free(&again);
	buf_free(&b);
	return same;
}

static void
test_random(void)
{
	const uint64_t seed = (uint64_t)time(NULL) | 1;
	uint64_t rnd = seed, n = 0, failed = 0;
	char what[80];

	for (int round = 0; round < 3000; round++) {
		unsigned last[4] = { 0 };
		struct hostlist h;

		h = (struct hostlist)HOSTLIST_INIT;
		for (n = draw(&rnd, 40); n > 0; n--)
			add_random(&h, &rnd, last);
		failed += !comes_back(&h);
		hostlist_free(&h);
	}
	snprintf(what, sizeof(what), "3,000 random lists come back, seed %llu",
		 (unsigned long long)seed);
	ok(failed == 0, what);
}

int
main(void)
{
	test_expand();
	test_limits();
	test_add_name();
	test_text();
	test_random();
	return tap_done();
}
