/* SPDX-License-Identifier: BSD-3-Clause */
#include "scr/setting.h"

#include "arena.h"
#include "conf.h"
#include "scratch.h"

static struct arena *arena;

/* "?KEY", "KEY=VALUE", "!KEY" (unset), "?P=V CHILD", "P=V [C=V]", or "error". */
static const char *
parsed(const char *text)
{
	static char out[512];
	struct error err = ERROR_INIT;
	struct setting s;
	size_t n = 0;

	if (setting_parse(text, arena, &s, &err) < 0)
		return err.kind == ERROR_USAGE && err.text[0] != '\0'
			       ? "error"
			       : "no reason";
	if (s.kind == SETTING_NOTHING)
		return "nothing";
	n = (size_t)snprintf(out, sizeof(out), "%s%s",
			     s.kind == SETTING_QUERY   ? "?"
			     : s.kind == SETTING_UNSET ? "!"
						       : "",
			     s.key);
	if (s.value != NULL && s.kind != SETTING_UNSET)
		n += (size_t)snprintf(out + n, sizeof(out) - n, "=%s", s.value);
	if (s.child != NULL)
		n += (size_t)snprintf(out + n, sizeof(out) - n, " %s", s.child);
	for (size_t i = 0; i < s.npairs; i++)
		n += (size_t)snprintf(out + n, sizeof(out) - n, " [%s=%s]",
				      s.pairs[i].key, s.pairs[i].value);
	return out;
}

TEST(parse)
{
	static const struct {
		const char *what, *text, *want;
	} list[] = {
		{ "query, in lower case and with blanks", "  key ", "?KEY" },
		{ "the case of a value is kept", "key=Value", "KEY=Value" },
		{ "unset, with blanks", " KEY =  ", "!KEY" },
		{ "blanks around '='", "KEY  =  VALUE ", "KEY=VALUE" },
		{ "a value with '='", "K==x", "K==x" },
		{ "a value is not quoted", "K='a", "K='a" },
		{ "only blanks separate", "K=a\tb", "K=a\tb" },
		{ "property asked for", "P=V CHILD", "?P=V CHILD" },
		{ "property set", "P=V C=1", "P=V [C=1]" },
		{ "properties set", "p=v c1 = 1  C2=a=b ",
		  "P=v [C1=1] [C2=a=b]" },
		{ "empty", "", "nothing" },
		{ "blank", "   ", "nothing" },
		{ "no '='", "KEY VALUE", "error" },
		{ "set and query", "A=1 B=2 C", "error" },
		{ "query and set", "A=1 B C=2", "error" },
		{ "unset of a property", "A=1 B=", "error" },
		{ "no name", "=1", "error" },
		{ "no name of a property", "A=1 =2", "error" },
		{ "a name that no file can have", "#A=1", "error" },
		{ "a name with a tab", "A\tB=1", "error" },
	};

	each (l, list)
		is_str(parsed(l->text), l->want, l->what);
}

/* Carry out the texts, which are separated by '|', and return the lines. */
static const char *
after(const char *texts)
{
	static char lines[512];
	auto_buf out = BUF_INIT;
	struct settings *s = settings_new(NULL);
	struct setting is;
	char copy[512], *rest = copy, *text = NULL;

	snprintf(copy, sizeof(copy), "%s", texts);
	while ((text = strsep(&rest, "|")) != NULL)
		if (setting_parse(text, arena, &is, NULL) < 0 ||
		    settings_change(s, &is, NULL) < 0)
			return "failed";
	if (settings_text(s, &out) < 0)
		return "no memory";
	settings_free(s);
	snprintf(lines, sizeof(lines), "%s", out.len > 0 ? out.data : "");
	return lines;
}

TEST(changes)
{
	is_str(after("A=1|B=2"), "A=1\nB=2\n", "two parameters");
	is_str(after("SCR_FLUSH=1|SCR_FLUSH=2"), "SCR_FLUSH=2\n",
	       "the last value counts");
	is_str(after("A=1|B=2|a="), "B=2\n", "unset");
	is_str(after("A="), "", "unset of what is not set");
	is_str(after("CKPT=0 TYPE=XOR|CKPT=1 TYPE=RS"),
	       "CKPT=0 TYPE=XOR\nCKPT=1 TYPE=RS\n", "a key with many values");
	is_str(after("CKPT=0 TYPE=XOR|CKPT=0 SET_SIZE=4 TYPE=RS"),
	       "CKPT=0 TYPE=RS SET_SIZE=4\n", "properties are merged");
	is_str(after("STORE=/a COUNT=1|STORE=/b|STORE="), "", "all are unset");
	is_str(after("A=1 B=2|A=2|A=1"), "A=1\n", "properties go, too");
}

/* A value that is set and written as text is read back unchanged. */
TEST(round_trip)
{
	static const char *const values[] = { "plain",	"a=b",	 "=x",
					      "#1",	"a\\b",	 "a\tb\rc",
					      "a\nB=2", "\"q\"", "a\\ " };
	auto_buf text = BUF_INIT;
	char set[64];

	each (v, values) {
		struct settings *s = settings_new(NULL);
		struct conf *c = conf_new(NULL);
		const struct conf_group *g = NULL;
		struct setting is;

		buf_clear(&text);
		snprintf(set, sizeof(set), "STORE=%s NAME=%s", *v, *v);
		ok(setting_parse(set, arena, &is, NULL) == 0 &&
			   settings_change(s, &is, NULL) == 0 &&
			   settings_text(s, &text) == 0 &&
			   conf_add_bytes(c, CONF_APP, "app", text.data,
					  text.len, NULL) == 0 &&
			   conf_groups(c, "STORE", &g) == 1 &&
			   conf_notice(c) == NULL,
		   "one line, and nothing to complain about");
		is_str(g->value, is.value, "... value");
		is_str(conf_property(g, "NAME"), is.pairs[0].value,
		       "... property");
		conf_close(c);
		settings_free(s);
	}
}

TEST(no_memory)
{
	without_memory (m, 3, "without memory") {
		auto_arena *a = arena_new();
		struct settings *s = settings_new(&m.err);
		auto_buf text = BUF_INIT;
		struct setting is;

		m.rc = -1;
		if (a == NULL)
			error_no_memory(&m.err);
		else if (s != NULL &&
			 setting_parse("CKPT=0 TYPE=XOR SET_SIZE=4", a, &is,
				       &m.err) == 0 &&
			 settings_change(s, &is, &m.err) == 0) {
			m.rc = settings_text(s, &text);
			if (m.rc < 0)
				error_no_memory(&m.err);
		}
		settings_free(s);
	}
	arena_free(arena);
}

int
main(void)
{
	arena = arena_new();
	return tap_run();
}
