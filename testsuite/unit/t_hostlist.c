/* SPDX-License-Identifier: BSD-3-Clause */
#include "hostlist.h"
#include "scratch.h"

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
	{ "a b\nc\td, e,,f\r\n", "a b c d e f" },
	{ "a,a,b,a", "a a b a" },
	{ "x1000c0s0b0n[0-3]",
	  "x1000c0s0b0n0 x1000c0s0b0n1 x1000c0s0b0n2 x1000c0s0b0n3" },
	{ "r[1-2]n[00-02]", "r1n00 r1n01 r1n02 r2n00 r2n01 r2n02" },
	{ "a[1-2]b[1,3]c[0-1]",
	  "a1b1c0 a1b1c1 a1b3c0 a1b3c1 a2b1c0 a2b1c1 a2b3c0 a2b3c1" },
	{ "n[08-10]", "n08 n09 n10" },
	{ "n[5-7,1,1]", "n5 n6 n7 n1 n1" },
	{ "n[1-3,07]-ib[0-1],b c",
	  "n1-ib0 n1-ib1 n2-ib0 n2-ib1 n3-ib0 n3-ib1 n07-ib0 n07-ib1 b c" },
	{ "node[1-2].site.example.org",
	  "node1.site.example.org node2.site.example.org" },
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
	{ "n[1-", "character 3: \"1-\": expected a number" },
	{ "n[1-2-3]", "character 3: \"1-2-3]\": expected ',' or ']'" },
	{ "n[1]]", "character 5: \"]\": this ']' has no matching '['" },
	{ "ok,n[3-1]", "character 6: \"3-1]\": a range goes from" },
	{ "n[1-010]", "character 3: \"1-010]\": both ends" },
	{ "n[008-10]", "character 3: \"008-10]\": both ends" },
	{ "n[1-4000000]", "character 3: \"1-4000000]\": too many names" },
	{ "n[1-2000000,1-2000000]",
	  "character 13: \"1-2000000]\": too many names" },
	{ "a,n[1-3000]x[1-3000]",
	  "character 3: \"n[1-3000]x[1-3000]\": too many names" },
	{ "n[1-1000000],m[1-1000000],o[1-1000000]", "more than 2097152 names" },
	{ "n[1234567890123456789]", "at most 18 digits" },
	{ LONG_250 "123456", "a name is too long" },
	{ "b[1-2]" LONG_250 "123[8-10]", "a name is too long" },
	{ "a[1]b[1]c[1]d[1]e[1]f[1]g[1]h[1]i[1]j[1]k[1]l[1]m[1]n[1]o[1]p[1]q[1]",
	  "too many brackets" },
	{ "a,$(reboot)",
	  "character 3: \"$(reboot)\": a node name cannot have" },
	{ "a,\033[2J", "character 3: \"\\x1b[2J\": a node name cannot have" },
	{ "n\xc3\xa9", "a node name cannot have this character" },
	{ "a,-oProxyCommand", "character 3: \"-oProxyCommand\": a node name" },
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
	auto_buf b = BUF_INIT;
	bool same = hostlist_plain(h, " ", &b, NULL) == 0 &&
		    strcmp(b.data, names) == 0;

	if (!same)
		printf("# got \"%s\"\n# expected \"%s\"\n",
		       b.data != NULL ? b.data : "", names);
	return same;
}

TEST(expand)
{
	struct hostlist h;

	each (g, good) {
		const struct vector *v = g;

		h = (struct hostlist)HOSTLIST_INIT;
		ok(hostlist_add(&h, v->text, &why) == 0 &&
			   is_names(&h, v->names),
		   v->text[0] > ' ' ? v->text : "separators only");
		hostlist_free(&h);
	}
	each (b, bad) {
		const struct vector *v = b;

		h = list("keep[1-2]");
		ok(hostlist_add(&h, v->text, &why) == -1 &&
			   why.kind == ERROR_USAGE &&
			   is_names(&h, "keep1 keep2"),
		   v->names);
		ok(strncmp(why.text, "node list: ", 11) == 0 &&
			   strstr(why.text, v->names) != NULL,
		   why.text);
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
TEST(limits)
{
	auto_hostlist h = list(LONG_250 "[10000-10001]");
	char name[300];

	is_int(strlen(h.names[1]), HOSTLIST_NAME_MAX, "longest name");
	hostlist_free(&h);
	h = (struct hostlist)HOSTLIST_INIT;
	is_int(hostlist_add(&h, LONG_250 "[9999-100000]", NULL), -1,
	       "one that is longer at the end of its range only");
	is_int(hostlist_add(&h, "n[1-2097152]", NULL), 0, "the longest list");
	is_str(hostlist_nth(&h, -1), "n2097152", "has its last name");
	is_int(hostlist_add(&h, "n", NULL), -1, "takes not one name more");
	is_int(hostlist_add_name(&h, "n", NULL), -1, "not by itself");
	is_int(hostlist_add_list(&h, &h, NULL), -1, "nor a list");
	is_int(h.count, HOSTLIST_MAX, "and is unchanged");
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
	is_int(h.count, 1, "none of them is left");
}

TEST(add_name)
{
	static const char *const names[] = {
		"",	"a,b",	"a b", "a\nb", "n[1]", "n]",
		"-oX=", "-oX",	"a'b", "a;b",  "a/b",  "a$b",
		"a\\b", "a\"b", "a*b", "a@b",  ".",    "..",
	};
	auto_hostlist h = list("a");

	each (n, names)
		ok(hostlist_add_name(&h, *n, &why) == -1 &&
			   why.kind == ERROR_USAGE && h.count == 1,
		   why.text);
	hostlist_add_name(&h, "a b", &why);
	is_str(why.text,
	       "node name: \"a b\": holds a character that no node name has",
	       "it says so");
	is_int(hostlist_add_name(&h, "x1-y_2.z:3", &why), 0, "a plain name");
	ok(is_names(&h, "a x1-y_2.z:3"), "is added as it is");
}

/* A list, and its text after compression. */
static const struct vector texts[] = {
	{ "", "" },
	{ "b a c", "b,a,c" },
	{ "n1 n3 n5 n6 n7", "n[1,3,5-7]" },
	{ "n3 n2 n1", "n[3,2,1]" },
	{ "n1 n1", "n[1,1]" },
	{ "n1 n2 n2 n3", "n[1-2,2-3]" },
	{ "n8 n9 n10", "n[8-10]" },
	{ "n08 n9 n10", "n[08,9-10]" },
	{ "n098 n099 n100 n1000", "n[098-100,1000]" },
	{ "r1i0n3 r2i0n3 r3i0n3", "r[1-3]i0n3" },
	{ "r1n0 r2n0 r1n1 r2n1", "r[1-2]n0,r[1-2]n1" },
	{ "a1b1c0 a1b1c1 a1b3c0 a1b3c1 a2b1c0 a2b1c1 a2b3c0 a2b3c1",
	  "a[1-2]b[1,3]c[0-1]" },
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

TEST(text)
{
	auto_buf b = BUF_INIT, c = BUF_INIT;
	auto_hostlist h;

	each (t, texts) {
		h = list(t->text);
		buf_clear(&b);
		hostlist_text(&h, &b, NULL);
		is_str(b.data, t->names, t->text);
		hostlist_free(&h);
		h = list(b.data);
		ok(is_names(&h, t->text), "and back");
		hostlist_free(&h);
	}
	h = list("n[1-3]");
	buf_clear(&c);
	buf_add_str(&c, "nodes ");
	hostlist_text(&h, &c, NULL);
	buf_add_char(&c, ':');
	hostlist_plain(&h, ", ", &c, NULL);
	is_str(c.data, "nodes n[1-3]:n1, n2, n3", "texts are added to a buf");
}

/* Is this the text of the list? */
static void
is_list(struct hostlist *h, const char *text, const char *what)
{
	auto_buf b = BUF_INIT;

	hostlist_text(h, &b, NULL);
	is_str(b.data, text, what);
	hostlist_free(h);
}

static int
unite(struct hostlist *h, const struct hostlist *other, struct error *err)
{
	return hostlist_add_list(h, other, err) < 0 ? -1
						    : hostlist_uniq(h, err);
}

TEST(sets)
{
	static const struct {
		int (*op)(struct hostlist *h, const struct hostlist *other,
			  struct error *err);
		const char *a, *b, *want, *what;
	} sets[] = {
		{ hostlist_minus, "n[1-5]", "n[2-3],x", "n[1,4-5]", "minus" },
		{ hostlist_minus, "c,a,b,a", "a", "c,b", "minus, in order" },
		{ hostlist_minus, "a,a,b", "b", "a,a", "minus, kept twice" },
		{ hostlist_minus, "n[1-3]", "n[01-03]", "n[1-3]", "n01, n1" },
		{ hostlist_minus, "n[1-3]", "", "n[1-3]", "minus nothing" },
		{ hostlist_minus, "", "n[1-3]", "", "nothing minus" },
		{ hostlist_minus, "n[1-3]", "n[1-3]", "", "minus all" },
		{ hostlist_both, "n[1-5]", "x,n[4,2]", "n[2,4]", "both" },
		{ hostlist_both, "c,a,b,a", "a,c", "c,a,a", "both, in order" },
		{ hostlist_both, "a", "", "", "both with nothing" },
		{ unite, "n[3,1,3]", "n[2-3],m", "n[3,1-2],m", "union" },
		{ unite, "", "b,a", "b,a", "union with nothing" },
		{ unite, "b,a,b,c,a", "", "b,a,c", "of each name the first" },
	};
	struct hostlist h;

	each (s, sets) {
		auto_hostlist other = list(s->b);

		h = list(s->a);
		is_int(s->op(&h, &other, NULL), 0, s->what);
		is_list(&h, s->want, s->what);
	}
	h = list("n[1-2]");
	is_int(hostlist_add_list(&h, &h, NULL), 0, "a list is added to itself");
	is_list(&h, "n[1-2,1-2]", "and doubled");
	h = list("n[1-2]");
	is_int(hostlist_minus(&h, &h, NULL), 0, "a list minus itself");
	is_list(&h, "", "is empty");
}

TEST(nth)
{
	static const struct {
		int64_t n;
		const char *want;
	} places[] = {
		{ 1, "n1" },   { 9, "n9" },	    { -1, "n9" },
		{ -9, "n1" },  { 0, NULL },	    { 10, NULL },
		{ -10, NULL }, { INT64_MIN, NULL }, { INT64_MAX, NULL },
	};
	struct hostlist h = list("n[1-9]");

	each (p, places)
		is_str(hostlist_nth(&h, p->n), p->want, "n-th");
	hostlist_keep(&h, 10);
	hostlist_keep(&h, -10);
	hostlist_keep(&h, INT64_MIN);
	is_int(h.count, 9, "more than there are is all");
	hostlist_keep(&h, 7);
	is_str(hostlist_nth(&h, -1), "n7", "the first 7");
	hostlist_keep(&h, -3);
	is_list(&h, "n[5-7]", "of these the last 3");
	h = list("n[1-9]");
	hostlist_keep(&h, 0);
	is_list(&h, "", "the first 0");
}

/* A list is unchanged if it cannot grow or be filtered. */
TEST(nomem_unchanged)
{
	struct hostlist other = list("n[1-100]"), h;
	auto_buf out = BUF_INIT;
	bool same = true;

	buf_add_str(&out, "text");
	for (long n = 0; n < 40; n++) {
		int rc = 0;

		h = list("a,a,n[1-14]");
		mem_fail_after(n);
		if (n % 4 == 0)
			rc = hostlist_add(&h, "m[1-5000]", NULL);
		else if (n % 4 == 1)
			rc = hostlist_add_list(&h, &other, NULL);
		else if (n % 4 == 2)
			rc = hostlist_minus(&h, &other, NULL);
		else
			rc = hostlist_uniq(&h, NULL);
		same = same && (rc == 0 || h.count == 16);
		mem_fail_after(n);
		if (hostlist_text(&h, &out, NULL) < 0)
			same = same && strcmp(out.data, "text") == 0;
		mem_fail_after(-1);
		out.len = 4;
		out.data[4] = '\0';
		same = same && h.count >= 2 && strcmp(h.names[0], "a") == 0;
		hostlist_free(&h);
	}
	ok(same, "a failure leaves list and buf unchanged");
	hostlist_free(&other);
}

TEST(no_memory)
{
	without_memory (m, 11, "no memory") {
		static const char *names[] = { "n1", "n2", "n3" };
		const struct hostlist other = { .names = names, .count = 3 };
		auto_buf out = BUF_INIT, plain = BUF_INIT;
		auto_hostlist h = HOSTLIST_INIT;

		m.rc = -1;
		if (hostlist_add(&h, "r[1-4]n[1-9,12],a,a,b", &m.err) == 0 &&
		    hostlist_add_name(&h, "c", &m.err) == 0 &&
		    hostlist_add_list(&h, &other, &m.err) == 0 &&
		    hostlist_uniq(&h, &m.err) == 0 &&
		    hostlist_both(&h, &other, &m.err) == 0 &&
		    hostlist_text(&h, &out, &m.err) == 0 &&
		    hostlist_plain(&h, "\n", &plain, &m.err) == 0 &&
		    hostlist_minus(&h, &other, &m.err) == 0 && h.count == 0)
			m.rc = 0;
	}
}
