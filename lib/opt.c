/* SPDX-License-Identifier: BSD-3-Clause */
/* opt.c - parse a command line by an option table, and describe the table. */
#include "opt.h"

#include <assert.h>
#include <ctype.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "buf.h"
#include "error.h"
#include "mem.h"
#include "num.h"
#include "str.h"

/* Verb variables of a command; it has one or two. */
#define VERBS_MAX 8

/* --help: the column of the descriptions, and its width. */
#define HELP_COLUMN 26
#define HELP_WIDTH 79

/* "--name" or "-x" in messages. */
#define LABEL_MAX 64

struct parse {
	const struct opt *opts;
	char **argv;
	int argc;
	int next;			    /* the word to look at next */
	const struct opt *verbs[VERBS_MAX]; /* given, one per variable */
	size_t verb_count;
	struct error *err;
};

static bool
takes_value(const struct opt *o)
{
	return o->type == OPT_TYPE_STRING || o->type == OPT_TYPE_LIST ||
	       o->type == OPT_TYPE_U64 || o->type == OPT_TYPE_BYTES ||
	       (o->type == OPT_TYPE_CHOICE && o->value != NULL);
}

static const char *
metavar(const struct opt *o)
{
	return o->metavar != NULL ? o->metavar : "VALUE";
}

/* "--name" or "-n", valid until the end of the block. */
#define label(o) label_in((char[LABEL_MAX]){ 0 }, o)

static char *
label_in(char *to, const struct opt *o)
{
	if (o->name != NULL)
		snprintf(to, LABEL_MAX, "--%s", o->name);
	else
		snprintf(to, LABEL_MAX, "-%c", o->letter);
	return to;
}

static bool
begins_with(const struct opt *o, const char *name, size_t len)
{
	return o->type != OPT_TYPE_GROUP && o->name != NULL &&
	       strncmp(o->name, name, len) == 0;
}

/* The option with that long name, or the only one that begins with it.  Hidden
 * options count only if no shown option matches: old spellings must not make
 * abbreviations ambiguous. */
static const struct opt *
find_name(const struct opt *opts, const char *name, size_t len,
	  struct error *err)
{
	const struct opt *o, *match[2] = { NULL, NULL }; /* hidden, shown */
	size_t count[2] = { 0, 0 }, used = 0, best = str_near_enough(len);
	const char *meant = NULL; /* the shown name that is nearest */
	char list[ERROR_TEXT_MAX / 2] = "";
	bool shown = false;

	for (o = opts; o->type != OPT_TYPE_END; o++) {
		if (o->type != OPT_TYPE_GROUP && o->name != NULL &&
		    o->help != NULL && str_is_nearer(name, len, o->name, &best))
			meant = o->name;
		if (len == 0 || !begins_with(o, name, len))
			continue;
		if (o->name[len] == '\0')
			return o;
		match[o->help != NULL] = o;
		count[o->help != NULL]++;
	}
	shown = count[1] > 0;
	if (count[shown] == 1)
		return match[shown];
	for (o = opts; count[shown] > 0 && o->type != OPT_TYPE_END; o++)
		if (begins_with(o, name, len) && used < sizeof(list) &&
		    (!shown || o->help != NULL))
			used += (size_t)snprintf(
				list + used, sizeof(list) - used, "%s'--%s'",
				used > 0 ? ", " : "", o->name);
	if (count[shown] > 0)
		return error_set_null(err, ERROR_USAGE,
				      "option '--%.*s' is ambiguous: %s",
				      (int)len, name, list);
	return error_set_null(
		err, ERROR_USAGE, "unrecognized option '--%.*s'%s%s%s",
		len < INT_MAX ? (int)len : INT_MAX, name,
		meant != NULL ? "; did you mean '--" : "",
		meant != NULL ? meant : "", meant != NULL ? "'?" : "");
}

/* Set a verb.  Its variable must be unset, or set to the same verb. */
static int
set_choice(struct parse *p, const struct opt *o, const char *value)
{
	const struct opt *before = NULL;

	for (size_t i = 0; i < p->verb_count; i++)
		if (p->verbs[i]->target == o->target)
			before = p->verbs[i];
	if (before != NULL && before->min != o->min)
		return error_set(
			p->err, ERROR_USAGE,
			"options '%s' and '%s' cannot be used together",
			label(before), label(o));
	/* Reject two values: using only the last would look like success. */
	if (before != NULL && o->value != NULL && before->value == o->value &&
	    !str_eq(*o->value, value))
		return error_set(p->err, ERROR_USAGE,
				 "option '%s' given twice, with '%s' and '%s'",
				 label(o), *o->value, value);
	if (before == NULL) {
		assert(p->verb_count < VERBS_MAX);
		p->verbs[p->verb_count++] = o;
	}
	*(int *)o->target = (int)o->min;
	if (o->value != NULL)
		*o->value = value;
	return 0;
}

static int
set(struct parse *p, const struct opt *o, const char *value)
{
	struct opt_list *list = NULL;
	uint64_t v = 0;
	int rc = 0;

	switch (o->type) {
	case OPT_TYPE_FLAG:
		*(bool *)o->target = true;
		return 0;
	case OPT_TYPE_COUNT:
		if (*(int *)o->target < INT_MAX)
			++*(int *)o->target;
		return 0;
	case OPT_TYPE_STRING:
		*(const char **)o->target = value;
		return 0;
	case OPT_TYPE_LIST:
		list = o->target;
		(void)MEM_ROOM(list->items, list->count, list->cap);
		list->items[list->count++] = value;
		return 0;
	case OPT_TYPE_U64:
	case OPT_TYPE_BYTES:
		rc = o->type == OPT_TYPE_U64
			     ? num_u64(value, o->min, o->max, &v, p->err)
			     : num_bytes(value, o->max, &v, p->err);
		if (rc == 0 && v < o->min)
			rc = error_set(p->err, ERROR_USAGE,
				       "'%s' is less than %llu bytes", value,
				       (unsigned long long)o->min);
		if (rc < 0)
			return error_wrap(p->err, "option '%s'", label(o));
		*(uint64_t *)o->target = v;
		return 0;
	case OPT_TYPE_CHOICE:
		return set_choice(p, o, value);
	default:
		assert(!"an option of no known type");
		return -1;
	}
}

/* The value of `o`: `joined` if it was in the same word, else the next word.
 * NULL: no value given, as in "--build --deep 3", where that is "--NAME" of an
 * option. */
static const char *
take_value(struct parse *p, const struct opt *o, const char *joined)
{
	const char *word = p->next < p->argc ? p->argv[p->next] : NULL;
	bool is_name = false;

	if (joined != NULL)
		return joined;
	for (const struct opt *k = p->opts;
	     word != NULL && strncmp(word, "--", 2) == 0 &&
	     k->type != OPT_TYPE_END;
	     k++)
		is_name = is_name ||
			  (k->name != NULL && str_eq(k->name, word + 2));
	if (word != NULL && !is_name) {
		p->next++;
		return word;
	}
	if (word != NULL)
		error_set(p->err, ERROR_USAGE,
			  "option '%s' needs a value behind it: %s, not %s",
			  label(o), metavar(o), word);
	else
		error_set(p->err, ERROR_USAGE, "option '%s' needs a value: %s",
			  label(o), metavar(o));
	return NULL;
}

/* Parse "--name" or "--name=VALUE"; `word` starts after the dashes. */
static int
parse_long(struct parse *p, const char *word)
{
	const char *equals = strchr(word, '=');
	size_t len = equals != NULL ? (size_t)(equals - word) : strlen(word);
	const struct opt *o = find_name(p->opts, word, len, p->err);
	const char *value = NULL;

	if (o == NULL)
		return -1;
	if (!takes_value(o)) {
		if (equals == NULL)
			return set(p, o, NULL);
		return error_set(p->err, ERROR_USAGE,
				 "option '%s' takes no value", label(o));
	}
	value = take_value(p, o, equals != NULL ? equals + 1 : NULL);
	return value == NULL ? -1 : set(p, o, value);
}

/* Parse "-x", "-xyz" or "-xVALUE"; `word` starts after the dash. */
static int
parse_short(struct parse *p, const char *word)
{
	const char *value = NULL;

	for (; *word != '\0'; word++) {
		const struct opt *o = p->opts;

		while (o->type != OPT_TYPE_END &&
		       (o->type == OPT_TYPE_GROUP || o->letter != *word))
			o++;
		if (o->type == OPT_TYPE_END)
			return error_set(p->err, ERROR_USAGE,
					 "unrecognized option '-%c'", *word);
		if (takes_value(o)) {
			value = take_value(p, o,
					   word[1] != '\0' ? word + 1 : NULL);
			return value == NULL ? -1 : set(p, o, value);
		}
		if (set(p, o, NULL) < 0)
			return -1;
	}
	return 0;
}

int
opt_parse(const struct opt *opts, int argc, char **argv, bool command,
	  struct error *err)
{
	struct parse p = {
		.opts = opts,
		.argv = argv,
		.argc = argc,
		.next = 1,
		.err = err,
	};
	bool options = true;
	int kept = 0;

	while (p.next < argc) {
		char *word = argv[p.next++];
		int rc = 0;

		if (!options || word[0] != '-' || word[1] == '\0') {
			argv[kept++] = word; /* kept < next */
			options = options && !command;
		} else if (str_eq(word, "--")) {
			options = false;
		} else if (word[1] == '-') {
			rc = parse_long(&p, word + 2);
		} else {
			rc = parse_short(&p, word + 1);
		}
		if (rc < 0)
			return -1;
	}
	argv[kept] = NULL;
	return kept;
}

void
opt_list_free(struct opt_list *list)
{
	mem_free(list->items);
	*list = (struct opt_list){ .items = NULL };
}

void
opt_help(const struct opt *opts, struct buf *out)
{
	size_t start = 0, column = 0, len = 0;
	bool first = true;

	for (const struct opt *o = opts; o->type != OPT_TYPE_END; o++) {
		if (o->help == NULL)
			continue;
		if (o->type == OPT_TYPE_GROUP)
			buf_printf(out, "%s%s:\n", first ? "" : "\n", o->help);
		else if (first)
			buf_add_str(out, "Options:\n");
		first = false;
		if (o->type == OPT_TYPE_GROUP)
			continue;
		/* "  -b, --build=ID        what it does" */
		start = out->len;
		if (o->letter != 0 && o->name != NULL)
			buf_printf(out, "  -%c, --%s", o->letter, o->name);
		else if (o->name != NULL)
			buf_printf(out, "      --%s", o->name);
		else
			buf_printf(out, "  -%c", o->letter);
		if (takes_value(o))
			buf_printf(out, "%c%s", o->name != NULL ? '=' : ' ',
				   metavar(o));
		column = out->len - start;
		if (column + 2 > HELP_COLUMN) { /* two blanks between */
			buf_add_char(out, '\n');
			column = 0;
		}
		/* Wrapped between HELP_COLUMN and HELP_WIDTH. */
		for (const char *at = o->help; *at != '\0'; column += len) {
			len = strcspn(at, " ");
			if (column > HELP_COLUMN &&
			    column + 1 + len > HELP_WIDTH) {
				buf_add_char(out, '\n');
				column = 0;
			}
			if (column < HELP_COLUMN) {
				buf_printf(out, "%*s",
					   (int)(HELP_COLUMN - column), "");
				column = HELP_COLUMN;
			} else {
				buf_add_char(out, ' ');
				column++;
			}
			buf_add(out, at, len);
			at += len + strspn(at + len, " ");
		}
		buf_add_char(out, '\n');
	}
}

void
opt_dump(const struct opt *opts, struct buf *out)
{
	static const char *const complete[] = {
		[OPT_ANY] = "any",     [OPT_FILE] = "file",
		[OPT_DIR] = "dir",     [OPT_DATASET] = "dataset",
		[OPT_WORDS] = "words",
	};

	for (const struct opt *o = opts; o->type != OPT_TYPE_END; o++) {
		if (o->type == OPT_TYPE_GROUP)
			continue;
		buf_printf(out, "%c\t%s\t%s\t%s\t%s\t%s\n",
			   o->letter != 0 ? o->letter : '-',
			   o->name != NULL ? o->name : "-",
			   o->words != NULL ? o->words
			   : takes_value(o) ? metavar(o)
					    : "-",
			   complete[o->complete],
			   o->help != NULL ? "shown" : "hidden",
			   o->help != NULL ? o->help : "");
	}
}

/* --- The usage line --- */

/* Longer words are cut. */
#define WORD_MAX 128

static const char *
kind_of(const char *argument)
{
	if (strstr(argument, "DATASET") != NULL)
		return "dataset";
	if (strstr(argument, "PATH") != NULL)
		return "packed";
	if (strstr(argument, "FILE") != NULL ||
	    strstr(argument, "ARCHIVE") != NULL)
		return "file";
	if (strstr(argument, "DIR") != NULL)
		return "dir";
	return islower((unsigned char)argument[0]) ? "words" : "any";
}

/* Copy the next word of the line, without the brackets and dots around it, and
 * move *at behind it.  Returns its length in the line; 0: no more words. */
static size_t
next_word(const char **at, char *word)
{
	const char *from = *at + strspn(*at, " ");
	const size_t len = strcspn(from, " \n");
	size_t first = strspn(from, "["), last = len;

	*at = from + len;
	while (last > first && strchr("].", from[last - 1]) != NULL)
		last--;
	snprintf(word, WORD_MAX, "%.*s", (int)(last - first), from + first);
	return len;
}

void
opt_dump_usage(const char *name, const char *usage, struct buf *out)
{
	while (*usage != '\0') {
		char verbs[WORD_MAX] = "-", word[WORD_MAX];
		struct buf arguments = BUF_INIT, kinds = BUF_INIT;
		bool first = true;
		bool value = false; /* next is the value of an option */
		size_t len = 0;

		while ((len = next_word(&usage, word)) > 0) {
			/* A word in brackets is not the value of an option. */
			const bool is_value =
				value && usage[-(ptrdiff_t)len] != '[';
			const char *blank = kinds.len > 0 ? " " : "";

			if (str_eq(word, name))
				continue;
			value = word[0] == '-' && usage[-1] != ']';
			if (first && islower((unsigned char)word[0])) {
				snprintf(verbs, sizeof(verbs), "%s", word);
			} else if (word[0] != '-' && !is_value &&
				   !str_eq(word, "OPTION")) {
				buf_printf(&arguments, "%s%s", blank, word);
				buf_printf(&kinds, "%s%s", blank,
					   kind_of(word));
			}
			first = false;
		}
		for (const char *verb = verbs; *verb != '\0';
		     verb += len + (verb[len] == '|')) {
			len = strcspn(verb, "|");
			buf_printf(out, "verb\t%.*s\t%s\t%s\tusage\t\n",
				   (int)len, verb,
				   kinds.len == 0 ? "-" : arguments.data,
				   kinds.len == 0 ? "any" : kinds.data);
		}
		buf_free(&arguments);
		buf_free(&kinds);
		usage += *usage == '\n';
	}
}
