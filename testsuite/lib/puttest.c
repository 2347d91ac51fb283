/* SPDX-License-Identifier: BSD-3-Clause */
#include "puttest.h"

#include "metatest.h"

int puttest_fd = -1;

void
puttest_root_new(void)
{
	puttest_fd = scratch_fd();
}

struct put *
puttest_start(struct par *par)
{
	struct put *p = put_new(&(struct put_options){ .par = par }, NULL);

	puttest_root_new();
	must(p != NULL);
	return p;
}

struct put_what
puttest_image(enum put_kind kind, const char *path, const char *image)
{
	return (struct put_what){
		.kind = kind,
		.dirfd = puttest_fd,
		.path = path,
		.size = strlen(image),
		.image = image,
		.image_size = strlen(image),
	};
}

struct put_file *
puttest_add(struct put *p, enum put_kind kind, const char *path,
	    const char *image)
{
	const struct put_what what = puttest_image(kind, path, image);
	struct put_file *f = put_add(p, &what, NULL);

	must(f != NULL);
	return f;
}

void
puttest_make(struct put_file *f)
{
	must(put_open(f, NULL) >= 0 && put_wrote(f, 0, NULL) == 0);
}

const char *
puttest_temp(const char *path)
{
	const char *base = strrchr(path, '/');
	char temp[TEMP_NAME_MAX];

	base = base != NULL ? base + 1 : path;
	return here("%.*s%s", (int)(base - path), path, temp_name(temp, base));
}

size_t
puttest_count(void)
{
	must(find_files(scratch_root));
	forget_files();
	return found.count;
}

bool
puttest_holds(const char *path, const char *want)
{
	return file_holds(here("%s", path), want, strlen(want));
}
