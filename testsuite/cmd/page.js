// SPDX-License-Identifier: BSD-3-Clause
// node page.js FILE: what the script of a page of scr_inspect --html or scr_env log
// --html draws.  It has no document here, and nothing to load with.
"use strict";
const text = require("fs").readFileSync(process.argv[2], "utf8");
const parts = [...text.matchAll(/<script[^>]*>([^]*?)<\/script>/g)].map(m => m[1]);
if (parts.length !== 2)
	throw new Error(`${parts.length} scripts, not JSON and what draws it`);
const context = require("vm").createContext({ answer: JSON.parse(parts[0]) });
process.stdout.write(require("vm").runInContext(`${parts[1]}\ndraw(answer)`, context));
