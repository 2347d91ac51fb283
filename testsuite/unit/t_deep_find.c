/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * t_deep_find.c - findings reported by threads in any order.  (t_deep tests the
 * findings themselves.)
 */
#include "rescue/deep_impl.h"

#include "scene.h"

static struct scene scene = { SCENE(XOR, 4, 1, 1, 1) };

/* Findings of one culprit, in the order in which threads report them. */
static void
any_order(void)
{
	static const uint32_t found[][2] = {
		{ 3, 50 }, { 2, 70 }, { 2, 60 }, { 2, 65 }, { 4, 0 },
	};
	struct deep_result r = { .nfindings = 0 };
	struct deep d = { .out = &r };

	d.p = scene_plan(&scene, PLAN_HEADERS, NULL);
	must(d.p != NULL && pthread_mutex_init(&d.lock, NULL) == 0);
	for (size_t i = 0; i < sizeof(found) / sizeof(found[0]); i++) {
		const struct deep_finding f = {
			.set = 1,
			.stripe = found[i][0],
			.first = found[i][1],
			.bytes = 1,
		};

		must(deep_found(&d, &f, NULL) == 0);
	}
	ok(r.nfindings == 1 && r.findings[0].bytes == 5 &&
		   r.findings[0].stripe == 2 && r.findings[0].first == 60,
	   "the first byte of the first stripe is remembered");
	for (uint32_t i = 1; i < 20; i++)
		must(deep_found(&d,
				&(struct deep_finding){ .set = 1, .member = i },
				NULL) == 0);
	is_int((int64_t)r.nfindings, 20, "others are findings of their own");
	deep_free(&r);
	pthread_mutex_destroy(&d.lock);
	plan_free(d.p);
}

static int
find_many(void *arg, struct error *err)
{
	struct deep_result r = { .nfindings = 0 };
	struct deep d = { .p = arg, .out = &r };
	int rc = 0;

	pthread_mutex_init(&d.lock, NULL);
	for (uint32_t i = 0; rc == 0 && i < 20; i++)
		rc = deep_found(&d,
				&(struct deep_finding){ .set = 1, .member = i },
				err);
	pthread_mutex_destroy(&d.lock);
	deep_free(&r);
	return rc;
}

static void
no_memory(void)
{
	struct plan *p = scene_plan(&scene, PLAN_HEADERS, NULL);

	ok(fails_well(find_many, NULL, p), "no memory for findings");
	plan_free(p);
}

int
main(void)
{
	umask(022);
	scene_make(&scene);
	any_order();
	no_memory();
	scene_end(&scene);
	return tap_done();
}
