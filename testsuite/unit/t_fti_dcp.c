/* SPDX-License-Identifier: BSD-3-Clause */
/* Differential checkpoints of FTI with POSIX I/O: layers, content, sums.  For
 * golden files see t_fti_rankfile. */
#include "fti/posix.h"

#include <endian.h>

#include "ftitest.h"
#include "hash.h"

static enum fti_verdict
verdict_of(const struct fti_posix_file *f, const struct fti_source *s)
{
	struct fti_checked c = { .posix = f, .source = s };
	enum fti_verdict v = FTI_UNREAD;

	must(fti_check(&c, 1, true, NULL, NULL) == 0);
	v = c.verdict;
	fti_checked_fini(&c);
	return v;
}

#define BLOCK 512
#define META \
	"[ckpt_info]\nckpt_type = dcp\nckpt_id = 9\n" \
	"[0]\nckpt_file_name = dcp-id0-rank0.fti\n"

/* Layers are made in `text` (metadata) and `file`. */
static struct buf text, file;
static size_t nlayers, start;
static bool by_crc;
static struct hash *sum;

static void
add(uint64_t n, size_t size)
{
	const uint64_t raw = htole64(n);

	must(buf_add(&file, &raw, size) == 0);
}

static void
add_blocks(char fill, unsigned count)
{
	char block[BLOCK];
	unsigned char md5[HASH_MD5_SIZE];
	struct hash *h = hash_new(HASH_MD5, NULL);
	uint32_t crc = 0;

	memset(block, fill, sizeof(block));
	crc = htole32(crc_update(0, block, sizeof(block)));
	hash_update(h, block, sizeof(block));
	hash_sum(h, md5);
	hash_free(h);
	for (unsigned i = 0; i < count; i++) {
		must(buf_add(&file, block, sizeof(block)) == 0);
		if (by_crc)
			hash_update(sum, &crc, sizeof(crc));
		else
			hash_update(sum, md5, sizeof(md5));
	}
}

/* Begin a layer: of the checkpoint after `before`. */
static void
begin(uint32_t before, uint32_t vars)
{
	start = file.len;
	if (nlayers == 0) {
		add(BLOCK, 4);
		add(5, 4);
	}
	add(before, 4);
	add(vars, 4);
}

static void
add_record(uint64_t id, uint64_t block, char fill)
{
	add(id | block << 18, 6);
	add_blocks(fill, 1);
}

static void
end(void)
{
	char hash[HASH_MD5_TEXT];

	hash_text(sum, hash);
	must(buf_printf(&text,
			"dcp_layer%zu_size = %zu\ndcp_layer%zu_hash = %.30s\n",
			nlayers, file.len - start, nlayers, hash) == 0);
	nlayers++;
}

/* Variable 3 of 1100 bytes (3 blocks) and 5 of 512; then two layers. */
static void
craft(void)
{
	buf_clear(&text);
	buf_clear(&file);
	nlayers = 0;
	must(buf_add_str(&text, META) == 0);
	begin(0, 2);
	add(3, 4);
	add(1100, 8);
	add_blocks('a', 3);
	add(5, 4);
	add(512, 8);
	add_blocks('b', 1);
	end();
	begin(4, 2);
	add_record(3, 1, 'c');
	end();
	begin(7, 2);
	add_record(3, 0, 'd');
	add_record(3, 1, 'e');
	add_record(5, 0, 'f');
	end();
}

/* The metadata of these variables; `s`: the file that was made. */
static struct fti_posix *
described(const char *vars, struct fti_source *s)
{
	struct error err = ERROR_INIT;
	struct buf all = BUF_INIT;
	struct fti_posix *p = NULL;

	must(buf_printf(&all, "%s%sckpt_file_size = %zu\n", text.data, vars,
			file.len) == 0);
	p = fti_posix_parse("x", all.data, all.len, &err);
	must_be(p != NULL, err.text);
	buf_free(&all);
	fti_source_memory(s, file.data, file.len, "f");
	return p;
}

#define VAR0 "var0_id = 3\nvar0_size = "
#define SAME VAR0 "1100\nvar1_id = 5\nvar1_size = 512\n"

/* What the content after the layer is: for each variable its id and the runs of
 * its bytes, as "3:a512c512a76 5:b512". */
static const char *
state_of(const struct fti_posix *p, const struct fti_source *s, size_t layer)
{
	struct error err = ERROR_INIT;
	auto_buf out = BUF_INIT;
	auto_fti_content c = { .source = NULL };
	struct fti_dcp d;
	int rc = fti_dcp_read(&d, &p->files[0], s, &err);

	if (rc == 0)
		rc = fti_content_dcp(&c, &d, layer, &err);
	if (rc < 0)
		buf_add_str(&out, err.text);
	for (size_t i = 0; i < c.nvars && rc >= 0; i++) {
		const struct fti_content_var *v = &c.vars[i];

		buf_printf(&out, "%s%" PRId32 ":", i > 0 ? " " : "", v->id);
		for (size_t k = v->first; k < v->first + v->count; k++)
			buf_printf(&out, "%c%" PRIu64,
				   file.data[c.pieces[k].at], c.pieces[k].len);
	}
	if (rc > 0)
		buf_add_str(&out, " ...");
	fti_dcp_fini(&d);
	return fmt("%s", out.data);
}

static const char *
state(const char *vars, size_t layer)
{
	struct fti_source s;
	auto_fti_posix *p = described(vars, &s);
	const char *shown = state_of(p, &s, layer);

	return shown;
}

/* The layers, and metadata that are older than the file. */
static void
test_layers(void)
{
	struct fti_source s;
	struct fti_posix *p = NULL;
	struct fti_dcp d;

	craft();
	p = described(SAME, &s);
	must(fti_dcp_read(&d, &p->files[0], &s, NULL) == 0);
	ok(d.nlayers == 3 && d.block == BLOCK && d.nvars == 2, "three layers");
	ok(fti_dcp_id(&d, 0) == 4 && fti_dcp_id(&d, 1) == 7 &&
		   fti_dcp_id(&d, 2) == -1 && fti_dcp_id(&d, SIZE_MAX) == -1,
	   "their checkpoints, as the next one names them");
	fti_dcp_fini(&d);
	begin(9, 2);
	add_record(3, 0, 'g');
	end();
	fti_source_memory(&s, file.data, file.len, "f");
	is_str(state_of(p, &s, FTI_DCP_LAST), "3:d512e512a76 5:f512",
	       "a file with a newer layer");
	fti_posix_free(p);
	begin(10, 2);
	add_record(3, 3, 'h');
	end();
	begin(11, 2);
	add_record(3, 1, 'i');
	end();
	is_str(state(SAME, 4), "5:f512 ...", "a variable that grew and shrank");
}

static void
test_states(void)
{
	craft();
	is_str(state(SAME, 0), "3:a1100 5:b512", "layer 0: runs are merged");
	is_str(state(SAME, 1), "3:a512c512a76 5:b512", "layer 1");
	is_str(state(SAME, 2), "3:d512e512a76 5:f512", "layer 2");
	is_str(state(SAME, FTI_DCP_LAST), "3:d512e512a76 5:f512", "the last");
	is_str(state(SAME, 3), "f: has layers 0 to 2", "no such layer");
	is_str(state(VAR0 "600\n", FTI_DCP_LAST), "3:d512e88",
	       "a variable shrank, another one is gone");
	is_str(state(VAR0 "600\nvar1_id = 5\nvar1_size = 512\n", 1),
	       "5:b512 ...", "its size is not known for a layer between");
	is_str(state(VAR0 "1537\n", FTI_DCP_LAST),
	       "f: variable 3: block 3 is in no layer", "a block is missing");
	is_str(state(SAME "var2_id = 6\nvar2_size = 0\n", FTI_DCP_LAST),
	       "3:d512e512a76 5:f512 6:", "a variable without bytes");
	is_str(state(SAME "var2_id = 6\nvar2_size = 1\n", FTI_DCP_LAST),
	       "f: variable 6: block 0 is in no layer", "an unknown variable");
	is_str(state(VAR0 "1100\nvar1_id = 3\nvar1_size = 512\n", FTI_DCP_LAST),
	       "f: variable 3 occurs twice", "an id twice");
	is_str(state(VAR0 "9223372036854775807\n", FTI_DCP_LAST),
	       "f: variable 3 has 9223372036854775807 bytes, more than there "
	       "are blocks",
	       "a size beyond the file");
}

static void
test_sums(void)
{
	for (int i = 0; i < 2; i++) {
		auto_fti_posix *p = NULL;
		struct fti_source s;
		bool all = true;

		by_crc = i == 1;
		craft();
		p = described(SAME, &s);
		is_int(verdict_of(&p->files[0], &s), FTI_INTACT,
		       by_crc ? "sums by CRC-32" : "sums by MD5");
		for (size_t n = 40; n < file.len; n += 111) {
			file.data[n] ^= 1;
			all = all &&
			      verdict_of(&p->files[0], &s) == FTI_DAMAGED;
			file.data[n] ^= 1;
		}
		ok(all, "changed bytes of blocks");
		all = true;
		for (; s.size > 0 && all; s.size--)
			all = verdict_of(&p->files[0], &s) ==
			      (s.size == file.len ? FTI_INTACT : FTI_DAMAGED);
		ok(all, "each truncation");
	}
	by_crc = false;
}

/* The numbers of blocks, which no sum protects. */
static void
test_order(void)
{
	static const struct {
		const char *name;
		uint64_t id, block, next;
		enum fti_verdict verdict;
	} cases[] = {
		{ "in order", 3, 0, 1, FTI_INTACT },
		{ "the same block twice", 3, 1, 1, FTI_DAMAGED },
		{ "in another order", 3, 2, 1, FTI_DAMAGED },
		{ "of an unknown variable", 4, 0, 1, FTI_DAMAGED },
	};

	each (c, cases) {
		auto_fti_posix *p = NULL;
		struct fti_source s;

		craft();
		begin(8, 2);
		add_record(c->id, c->block, 'g');
		add_record(3, c->next, 'h');
		end();
		p = described(SAME, &s);
		is_int(verdict_of(&p->files[0], &s), c->verdict, c->name);
	}
}

int
main(void)
{
	sum = hash_new(HASH_MD5, NULL);
	test_layers();
	test_states();
	test_sums();
	test_order();
	hash_free(sum);
	buf_free(&text);
	buf_free(&file);
	return tap_done();
}
