/* SPDX-License-Identifier: BSD-3-Clause */
#include "archive/manifest.h"

#include "hash.h"
#include "map.h"
#include "scratch.h"

#define S1 "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
#define S2 "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"

static const char *const paths[] = {
	"ckpt.1/rank_0",
	" with blanks ",
	"*star",
	"new\nline",
	"back\\slash",
	"\\n",
	"end\n",
	"end\\",
	"carriage\rreturn",
	"\r",
	"tab\t",
	"# hash",
	"\xc3\xbc/\xe6\x97",
	"bad\xff",
	"a/b/c.d/..e",
};
#define PATHS (COUNT(paths))

static struct manifest *
parse(const char *text, struct error *err)
{
	error_clear(err);
	return manifest_parse(text, strlen(text), err);
}

static void
write_all(struct buf *to)
{
	buf_clear(to);
	for (size_t i = 0; i < PATHS; i++)
		must(manifest_add(to, i % 2 ? S1 : S2, paths[i], NULL) == 0);
}

/* Is this what write_all() wrote? */
static bool
is_all(const struct manifest *m)
{
	bool same = m != NULL && m->count == PATHS;

	for (size_t i = 0; i < PATHS && same; i++)
		same = strcmp(m->entries[i].path, paths[i]) == 0 &&
		       strcmp(m->entries[i].sum, i % 2 ? S1 : S2) == 0;
	return same;
}

TEST(round_trip)
{
	auto_buf text = BUF_INIT;
	auto_manifest *m = NULL;
	size_t found = 0;

	write_all(&text);
	m = manifest_parse(text.data, text.len, &why);
	ok(is_all(m), "what is written is read, in order");
	must(m != NULL);
	for (size_t i = 0; i < PATHS; i++)
		found += map_get(m->by_path, paths[i]) == i;
	is_int(found, PATHS, "... and is found");
	ok(map_get(m->by_path, "other") == MAP_NONE, "... and nothing else");
	manifest_free(m);
	m = parse("", &why);
	ok(m != NULL && m->count == 0, "nothing is a manifest");
	manifest_free(NULL);
}

TEST(text)
{
	auto_buf text = BUF_INIT;
	auto_manifest *m = NULL;

	must(manifest_add(&text, S1, "a b", NULL) == 0);
	must(manifest_add(&text, S2, "c\\d\ne\rf", NULL) == 0);
	is_str(text.data, S1 "  a b\n\\" S2 "  c\\\\d\\ne\\rf\n",
	       "as sha256sum writes it");
	m = parse(S1 " *a\n\\" S2 " *\\\\\n", &why);
	ok(m != NULL && strcmp(m->entries[0].path, "a") == 0 &&
		   strcmp(m->entries[1].path, "\\") == 0,
	   "as sha256sum -b writes it");
}

TEST(refused)
{
	static const struct {
		const char *text;
		enum error_kind kind;
		const char *words;
	} bad[] = {
		{ "\n", ERROR_CORRUPT, "line 1: no sum" },
		{ "\\\n", ERROR_CORRUPT, "line 1" },
		{ "# comment\n", ERROR_CORRUPT, "line 1" },
		{ S1 "  a\n\n", ERROR_CORRUPT, "line 2" },
		{ S1 "  a", ERROR_CORRUPT, "is cut off" },
		{ S1 "\n", ERROR_CORRUPT, "no sum and path" },
		{ S1 "  \n", ERROR_CORRUPT, "no sum and path" },
		{ S1 " a\n", ERROR_CORRUPT, "no sum and path" },
		{ S1 " +a\n", ERROR_CORRUPT, "no sum and path" },
		{ S1 "0  a\n", ERROR_CORRUPT, "no sum and path" },
		{ " " S1 "  a\n", ERROR_CORRUPT, "no sum and path" },
		{ "E3" S1 "  a\n", ERROR_CORRUPT, "no sum and path" },
		{ "g" S1 "  a\n", ERROR_CORRUPT, "no sum and path" },
		{ "da39a3ee  a\n", ERROR_CORRUPT, "no sum and path" },
		{ "\\" S1 "  a\\tb\n", ERROR_CORRUPT, "wrong escape" },
		{ "\\" S1 "  a\\\n", ERROR_CORRUPT, "wrong escape" },
		{ "\\\\" S1 "  a\n", ERROR_CORRUPT, "no sum and path" },
		{ S1 "  a\n" S2 "  a\n", ERROR_CORRUPT, "line 2: a: named tw" },
		{ "\\" S1 "  a\n" S2 "  a\n", ERROR_CORRUPT, "line 2" },
		{ S1 "  /a\n", ERROR_UNSAFE, "line 1: /a" },
		{ S1 "  ../a\n", ERROR_UNSAFE, "line 1" },
		{ S1 "  a/../b\n", ERROR_UNSAFE, "line 1" },
		{ S1 "  a//b\n", ERROR_UNSAFE, "line 1" },
		{ S1 "  ./a\n", ERROR_UNSAFE, "line 1" },
		{ S1 "  a/\n", ERROR_UNSAFE, "line 1" },
		{ S1 "   /\n" S1 "  ..\n", ERROR_UNSAFE, "" },
	};
	static char nul[] = S1 "  a?b\n";

	for (size_t i = 0; i < COUNT(bad); i++)
		ok(parse(bad[i].text, &why) == NULL &&
			   why.kind == bad[i].kind && says(&why, bad[i].words),
		   fmt("refused: number %zu", i));
	nul[67] = '\0';
	refuses(manifest_parse(nul, sizeof(nul) - 1, &why), ERROR_CORRUPT,
		"NUL", "refused: a NUL");
	refuses(manifest_parse("", MANIFEST_MAX + 1, &why), ERROR_CORRUPT,
		"too long", "refused: too much, without a look at it");
}

/* The writer refuses more than the reader takes. */
TEST(too_long)
{
	auto_buf text = BUF_INIT;

	text.len = MANIFEST_MAX - 10; /* pretend that the text is that long */
	text.cap = MANIFEST_MAX + 100;
	text.data = malloc(text.cap);
	must(text.data != NULL);
	ok(manifest_add(&text, S1, "a", &why) < 0 && why.kind == ERROR_USAGE &&
		   text.len == MANIFEST_MAX - 10,
	   "more than can be read");
}

/* Cut anywhere, only a manifest of whole lines is accepted.  A wrong byte is an
 * error, or gives another name or checksum. */
TEST(damaged)
{
	auto_buf text = BUF_INIT;
	size_t wrong = 0, missed = 0;

	write_all(&text);
	for (size_t len = 0; len < text.len; len++) {
		auto_free char *exact = malloc(len + 1);
		auto_manifest *m = NULL;

		must(exact != NULL);
		memcpy(exact, text.data, len);
		m = manifest_parse(exact, len, &why);
		wrong +=
			(m != NULL) != (len == 0 || text.data[len - 1] == '\n');
	}
	is_int(wrong, 0, "cut: only whole lines are read");
	for (size_t at = 0; at < text.len; at++)
		for (unsigned bit = 1; bit < 256; bit <<= 1) {
			struct manifest *m = NULL;

			text.data[at] = (char)(text.data[at] ^ bit);
			m = manifest_parse(text.data, text.len, &why);
			/* Two blanks, and a blank and a star, mean the same. */
			missed += is_all(m) && text.data[at] != '*';
			wrong += m == NULL && why.kind != ERROR_CORRUPT &&
				 why.kind != ERROR_UNSAFE;
			manifest_free(m);
			text.data[at] = (char)(text.data[at] ^ bit);
		}
	is_int(missed, 0, "flipped: every bit counts");
	is_int(wrong, 0, "... and is CORRUPT or UNSAFE");
}

/* sha256sum accepts our manifests. */
TEST(sha256sum)
{
	struct hash *h = hash_new(HASH_SHA256, NULL);
	auto_buf text = BUF_INIT;
	char sum[HASH_TEXT];

	/* Before version 9 it knew nothing of carriage returns. */
	if (system("sha256sum --version | grep -Eq '(9|[1-9][0-9]+)\\.[0-9]'") !=
	    0) {
		skip("sha256sum", "none of version 9 or later");
		hash_free(h);
		return;
	}
	scratch_new();
	for (size_t i = 0; i < PATHS; i++) {
		write_text(here("%s", paths[i]), paths[i]);
		hash_update(h, paths[i], strlen(paths[i]));
		hash_text(h, sum);
		must(manifest_add(&text, sum, paths[i], NULL) == 0);
	}
	write_file(here("sums"), text.data, text.len);
	ok(system(fmt("cd '%s' && sha256sum -c --strict --quiet sums",
		      scratch_root)) == 0,
	   "sha256sum -c agrees");
	hash_free(h);
}
