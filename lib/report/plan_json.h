/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * plan_json.h - findings of a deep check as JSON.  plan_json() itself is
 * declared in plan.h.
 */
#ifndef REPORT_PLAN_JSON_H
#define REPORT_PLAN_JSON_H

struct deep_result;
struct json;
struct plan;

/* Sets checked and skipped, bytes read, findings: see scr_inspect(1). */
struct json *plan_json_deep(const struct plan *p, const struct deep_result *r);

#endif /* REPORT_PLAN_JSON_H */
