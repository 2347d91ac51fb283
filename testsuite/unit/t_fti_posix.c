/* SPDX-License-Identifier: BSD-3-Clause */
/* POSIX checkpoints of FTI: metadata, content, sums. */
#include "fti/name.h"
#include "ftitest.h"

/* A file compared with its metadata: the verdict.  Prints findings. */
static enum fti_verdict
verdict_of(const struct fti_posix_file *f, const struct fti_source *s,
	   bool data)
{
	struct fti_checked c = { .posix = f, .source = s };
	enum fti_verdict v = FTI_UNREAD;

	must(fti_check(&c, 1, data, NULL, NULL) == 0);
	v = c.verdict;
	for (struct fti_finding *n = c.file->findings; n != NULL; n = n->next)
		printf("# %s: %s\n", s->name, n->text);
	fti_checked_fini(&c);
	return v;
}

/* --- Crafted metadata --- */

#define HEAD "[ckpt_info]\nckpt_id = 3\n[0]\nckpt_file_name = Ckpt3-Rank0.fti\n"
#define SIZE "ckpt_file_size = 10\n"
#define VAR "var0_id = 1\nvar0_size = 4\nvar0_pos = 0\n"

static const struct {
	const char *name, *text, *says;
} bad[] = {
	{ "nothing", "", "no checkpoint file" },
	{ "a member is missing",
	  HEAD SIZE "[2]\nckpt_file_name = a\nckpt_file_size = 1\n",
	  "[1] ckpt_file_name: missing" },
	{ "a name is a path", "[0]\nckpt_file_name = ../Ckpt3-Rank0.fti\n" SIZE,
	  "not a file name" },
	{ "no size", HEAD VAR, "[0] ckpt_file_size: missing" },
	{ "a variable without size", HEAD SIZE "var0_id = 1\n",
	  "var0_size: missing" },
	{ "an offset that overflows",
	  HEAD SIZE
	  "var0_id = 1\nvar0_size = 8\nvar0_pos = 9223372036854775807\n",
	  "var0: 8 bytes at 9223372036854775807" },
	{ "an id of more than 32 bits",
	  HEAD SIZE "var0_id = 4294967296\nvar0_size = 1\n", "var0_id" },
	{ "too many dimensions", HEAD SIZE VAR "var0_ndims = 65\n",
	  "var0_ndims" },
	{ "a missing dimension", HEAD SIZE VAR "var0_ndims = 1\n",
	  "var0_dim0: missing" },
};

TEST(bad)
{
	each (b, bad) {
		refuses(fti_posix_parse("x", b->text, strlen(b->text), &why),
			ERROR_CORRUPT, b->says, b->name);
	}
}

/* Metadata as old versions of FTI write it: names with capitals, no positions,
 * no types, no section of the checkpoint. */
TEST(old)
{
	static const char old[] =
		"[0]\nCkpt_file_name = Ckpt5-Rank2.fti\nCkpt_file_size = 7\n"
		"Var0_id = 1\nVar0_size = 4\nVar1_id = 2\nVar1_size = 3\n";
	auto_fti_posix *p = fti_posix_parse("x", old, strlen(old), NULL);

	ok(p != NULL && p->id == 5 && !p->layered && p->files[0].nvars == 2 &&
		   p->files[0].vars[1].at == 4 && p->files[0].vars[1].type < 0,
	   "what is missing is known otherwise");
}

static const char full[] =
	"\n[ckpt_info]\n"
	"ckpt_type                      = full\n"
	"ckpt_id                        = 3\n\n"
	"\n[0]\n"
	"ckpt_file_name                 = Ckpt3-Rank0.fti\n"
	"ckpt_file_size                 = 10\n"
	"ckpt_file_maxs                 = 10\n"
	"ckpt_checksum                  = a925576942e94b2ef57a066101b48876\n"
	"var0_id                        = 1\n"
	"var0_typeid                    = 2\n"
	"var0_typesize                  = 2\n"
	"var0_size                      = 4\n"
	"var0_pos                       = 0\n"
	"var0_name                      = x y\n"
	"var0_idchar                    = \n"
	"var0_ndims                     = 2\n"
	"var0_dim0                      = 2\n"
	"var0_dim1                      = 1\n"
	"var1_id                        = 7\n"
	"var1_typeid                    = 0\n"
	"var1_typesize                  = 1\n"
	"var1_size                      = 6\n"
	"var1_pos                       = 4\n"
	"var1_name                      = \n"
	"var1_idchar                    = \n"
	"var1_ndims                     = 0\n\n\n";
static const char data[] = "abcdefghij";

/* The metadata above, for fti_posix_free(). */
static struct fti_posix *
good_one(void)
{
	struct fti_posix *p = fti_posix_parse("x", full, strlen(full), NULL);

	must(p != NULL);
	return p;
}

TEST(content)
{
	auto_fti_posix *p = good_one();
	struct fti_content c;
	struct fti_source s;
	auto_buf out = BUF_INIT;
	char read[6];

	fti_source_memory(&s, data, 10, "data");
	ok(fti_content_posix(&c, &p->files[0], &s, &why) == 0 && c.nvars == 2 &&
		   c.vars[0].described->type == 2 &&
		   c.vars[0].described->type_size == 2 &&
		   str_eq(c.vars[0].described->name, "x y") &&
		   fti_content_read(&c, fti_content_var(&c, 7), read, 6, 0,
				    &why) == 0 &&
		   memcmp(read, "efghij", 6) == 0,
	   "the content with names and types");
	fti_content_fini(&c);
	s.size = 9;
	refuses(fti_content_posix(&c, &p->files[0], &s, &why), ERROR_CORRUPT,
		"variable 7 has 6 bytes at 4", "a file that is too short");
	fti_content_fini(&c);
	ok(p->files[0].vars[0].ndims == 2 && p->files[0].vars[0].dims[1] == 1,
	   "dimensions");
	p->files[0].vars[1].name = "a#b";
	refuses(fti_posix_print(p, &out, &why), ERROR_USAGE, NULL,
		"a name that no ini file can hold is refused");
}

/* --- Damage --- */

TEST(damage)
{
	auto_fti_posix *p = good_one();
	struct fti_source s;
	char bytes[10];
	bool all = true;

	memcpy(bytes, data, 10);
	fti_source_memory(&s, bytes, 10, "data");
	is_int(verdict_of(&p->files[0], &s, true), FTI_INTACT,
	       "an intact file");
	for (size_t i = 0; i < 10; i++) {
		bytes[i] ^= 1;
		all = all && verdict_of(&p->files[0], &s, true) == FTI_DAMAGED;
		ok(verdict_of(&p->files[0], &s, false) == FTI_INTACT,
		   "only the data are wrong");
		bytes[i] ^= 1;
	}
	ok(all, "each changed byte");
	for (s.size = 0; s.size < 10; s.size++)
		all = all && verdict_of(&p->files[0], &s, false) == FTI_DAMAGED;
	ok(all, "each truncation, without reading data");
	p->files[0].sum = NULL;
	is_int(verdict_of(&p->files[0], &s, true), FTI_DAMAGED, "no sum");
	p->files[0].sum = "x\n";
	is_int(verdict_of(&p->files[0], &s, true), FTI_DAMAGED,
	       "what is no sum");
	fti_posix_free(p);
	p = good_one();
	p->files[0].vars[1].at = 3;
	is_int(verdict_of(&p->files[0], &s, true), FTI_REFUSED,
	       "variables that overlap");
	p->files[0].vars[1].at = 4;
	p->files[0].vars[1].size = 5;
	is_int(verdict_of(&p->files[0], &s, true), FTI_REFUSED,
	       "bytes of no variable");
}

static int
fail_read(const struct fti_source *s, void *to, size_t len, uint64_t off,
	  struct error *err)
{
	(void)to;
	(void)len;
	(void)off;
	errno = EIO;
	return error_sys(err, "%s: cannot read", s->name);
}

TEST(unread)
{
	auto_fti_posix *p = good_one();
	struct fti_source s = { .size = 10, .name = "data", .read = fail_read };
	struct fti_checked c = { .posix = &p->files[0], .source = &s };

	ok(fti_check(&c, 1, true, NULL, NULL) == 0 && c.verdict == FTI_UNREAD &&
		   c.unread != NULL &&
		   strstr(c.unread, "data: cannot read: ") == c.unread,
	   "a file that cannot be read is unknown");
	fti_checked_fini(&c);
}
