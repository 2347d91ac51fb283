// SPDX-License-Identifier: BSD-3-Clause
// report.js - the script of the pages that scr_inspect --html and scr_env log
// --html write: it draws the JSON in the page, which scrkit-json(5) describes.
//
// draw() is a function of that JSON alone.  All text comes from metadata, so it
// goes through markup`...`, which escapes each value that is no Markup itself.
"use strict";

// Rows of ranks, containers or runs; rows of tables.
const ROWS_MAX = 500, TABLE_MAX = 200;
// From this number of ranks on, whole rows that follow each other share one.
const FOLD = 2000;

/* --- Markup --- */

class Markup {
	constructor(text) { this.text = text; }
}

// Text of an element or an attribute.  What is invisible, or would change the
// direction of its neighbours, is shown as its number.
function escaped(text) {
	const odd = /[\0-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2066-\u2069\ufeff\ufffe\uffff]|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g;
	const entities = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" };
	return String(text)
		.replace(odd, c => "\\u" + c.charCodeAt(0).toString(16).padStart(4, "0"))
		.replace(/[&<>"]/g, c => entities[c]);
}

function plain(value) {
	return value instanceof Markup ? value.text :
		Array.isArray(value) ? value.map(plain).join("") :
		value === null || value === undefined ? "" : escaped(value);
}

function markup(parts, ...values) {
	return new Markup(parts.map((p, i) => p + plain(values[i])).join(""));
}

function shortened(path) {
	return path.length > 120 ? "..." + path.slice(-117) : path;
}

function size(bytes) {
	const units = ["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
	let n = bytes, k = 0;
	for (; n >= 1024 && k < units.length - 1; k++)
		n /= 1024;
	return (k ? n.toFixed(1) : n) + " " + units[k];
}

function count(n, what) {
	return `${n} ${what}${n === 1 ? "" : "s"}`;
}

// "2026-11-21 10:00:00"; from milliseconds since 1970, or as JSON has it.
function time(at) {
	const t = at === null || at === undefined ? NaN : new Date(at);
	return isNaN(t) ? "?" : t.toISOString().slice(0, 19).replace("T", " ");
}

function seconds(ms) {
	return ms === null || ms === undefined ? "?" : (ms / 1000).toFixed(1);
}

function facts(pairs) {
	return markup`<dl>${pairs
		.filter(([, text]) => text !== undefined && text !== null && text !== "")
		.map(([name, ...texts]) => markup`<dt>${name}</dt>${texts.map(
			t => markup`<dd>${t}</dd>`)}`)}</dl>\n`;
}

// A table that can be opened; nothing without rows.  Each column is its heading
// and a function of the element.
function table(title, columns, rows, open) {
	if (rows.length === 0)
		return "";
	const more = rows.length - TABLE_MAX;
	return markup`<details${open ? markup` open=""` : ""}><summary>${title}</summary>
<div class="scroll"><table>
<tr>${columns.map(c => markup`<th>${c[0]}</th>`)}</tr>
${rows.slice(0, TABLE_MAX).map(r => markup`<tr>${columns.map(
	c => markup`<td>${c[1](r)}</td>`)}</tr>\n`)}</table></div>
${more > 0 ? markup`<p class="dim">and ${more} more</p>\n` : ""}</details>\n`;
}

// A row of boxes { at, length, style, tip } in `room`.  One that is narrower
// than a pixel colours its part of it; but what is bad is always visible.
function bar(boxes, room, ground) {
	const part = n => 1000 * n / room;
	const draw = b => {
		const width = Math.max(part(b.length), b.style === "bad" ? 3 : 0);
		const x = Math.max(0, Math.min(part(b.at), 1000 - width));
		return markup`<rect class="${b.style}" x="${x.toFixed(2)}" width="${
			width.toFixed(2)}" height="18"><title>${b.tip}</title></rect>`;
	};
	return markup`<svg viewBox="0 0 1000 18" preserveAspectRatio="none">${
		ground ? draw(ground) : ""}${
		boxes.filter(b => b.style !== "bad").map(draw)}${
		boxes.filter(b => b.style === "bad").map(draw)}</svg>`;
}

function keys(list) {
	return markup`<div class="keys">${list.map(([style, text]) =>
		markup`<span><svg viewBox="0 0 12 12"><rect class="${
			style}" width="12" height="12"/></svg>${text}</span>`)}</div>\n`;
}

/* --- Ranks --- */

const WHOLE = 0, REDUNDANCY = 1, REBUILD = 2, LOST = 3;
// Class, and what follows the number of a rank.
const looks = [["w", ""], ["d", "\u202f+"], ["r", "\u202f\u25cb"], ["l", "\u202f\u2715"]];

function fate(action) {
	return action === "keep" || action === "rename" ? WHOLE :
		action === "rebuild" ? REBUILD : LOST;
}

// { number, state, set, place } of each rank: the worst of its files, filemap and
// redundancy; the set that counts, over its files or else over its filemap.
function ranks(plan) {
	const list = [];
	const data = plan.sets.some(s => s.over === "files");
	for (let i = 0; i < (plan.rank_count || 0); i++)
		list.push({ number: i, state: WHOLE });
	const worse = (rank, state) => {
		if (list[rank])
			list[rank].state = Math.max(list[rank].state, state);
	};
	for (const f of [...plan.filemaps, ...plan.files]) {
		worse(f.rank, fate(f.action));
		if (list[f.rank] && f.place !== undefined)
			list[f.rank].place = f.place;
	}
	for (const s of plan.sets.filter(s => s.used))
		for (const m of s.members) {
			worse(m.rank, m.action === "keep" ? WHOLE : REDUNDANCY);
			if (!list[m.rank])
				continue;
			if (m.place !== undefined)
				list[m.rank].place = m.place;
			if ((s.over === "files") === data) {
				list[m.rank].set = s;
				list[m.rank].member = m.member;
			}
		}
	return list;
}

// Did the n-th members of all sets share a node?  If each has one on each of the
// nodes of the job.
function spans_nodes(list, nodes) {
	const sets = new Set(list.map(r => r.set));
	return list.length > 0 && nodes > 1 &&
		[...sets].every(s => s && s.members.length === nodes);
}

// Can the sets do without what these ranks have, and is not missing yet?
function vital(row) {
	const taken = new Map();
	return row.some(r => {
		if (!r.set || !r.set.tolerance)
			return true;
		if (r.state >= REBUILD)
			return false;
		taken.set(r.set, (taken.get(r.set) || 0) + 1);
		return taken.get(r.set) > (r.set.tolerance_left || 0);
	});
}

function draw_ranks(d, prefix) {
	const list = ranks(d.plan), lost = d.plan.state === "unknown" ? "unknown" : "lost";
	const names = ["whole", "redundancy to be rebuilt", d.plan.undecided ?
		"missing or wrong" : "to be rebuilt", lost];
	const cached = d.plan.places[0].kind === "cache";
	const nodes = cached || spans_nodes(list, prefix.node_count);
	const tells = nodes && !d.plan.undecided &&
		(d.state === "whole" || d.state === "damaged");
	const rows = new Map();

	for (const r of list) {
		const key = !nodes ? (r.set && r.set.tolerance ? r.set.number : undefined) :
			!cached ? r.member : d.plan.places.length === 1 ? 0 : r.place;
		if (!rows.has(key))
			rows.set(key, []);
		rows.get(key).push(r);
	}
	const all = [...rows].sort((a, b) => (a[0] === undefined) - (b[0] === undefined) ||
		a[0] - b[0]).map(([key, of], i) => ({
		first: key, last: key, of: of, end: i + 1,
		whole: of.every(r => r.state === WHOLE),
		vital: tells && vital(of),
	}));
	const needed = all.filter(r => r.vital).length;
	const folded = [];
	for (const r of [...all.filter(r => !r.whole), ...all.filter(r => r.whole)]) {
		const before = folded[folded.length - 1];
		if (list.length > FOLD && r.whole && before && before.whole &&
		    before.vital === r.vital && r.first !== undefined && before.end + 1 === r.end) {
			before.last = r.first;
			before.end = r.end;
			before.of.push(...r.of);
		} else {
			folded.push(r);
		}
	}
	const cell = r => markup`<span class="${looks[r.state][0]}" title="rank ${r.number}: ${
		names[r.state]}${r.set ? `, set ${r.set.number}` : ""}">${r.number}${
		looks[r.state][1]}</span>`;
	const name = r => r.first === undefined ? (nodes ? "unknown" : "each by itself") :
		(nodes ? "node" : "set") + (r.last === r.first ? ` ${r.first}` :
			`s ${r.first}-${r.last}`);
	return markup`<h2>Ranks</h2>
<div class="keys">${names.map((text, i) => {
		const n = list.filter(r => r.state === i).length;
		return n ? markup`<span class="${looks[i][0]}">${n}${looks[i][1]} ${text}</span>` : "";
	})}</div>
${!nodes ? markup`<p class="dim">Which ranks shared a node is not recorded.</p>` :
	!tells ? "" :
	needed === 0 ? markup`<p>The files of any one node may be lost: the others can restore them.</p>` :
	needed === all.length ? markup`<p>If the files of any node are lost now, the dataset is lost.</p>` :
	markup`<p>If the files of a node marked ! are lost now (${needed} of ${all.length}), the dataset is lost.</p>`}
${folded.slice(0, ROWS_MAX).map(r => markup`<div class="row"><span class="side"${
	cached && d.plan.places[r.first] ? markup` title="${d.plan.places[r.first].root}"` : ""}>${
	r.vital ? "! " : ""}${name(r)}</span><span class="cells">${r.first === r.last ?
	r.of.map(cell) : markup`<span class="w">${r.of.length} ranks, all whole</span>`
}</span></div>\n`)}
${folded.length > ROWS_MAX ? markup`<p class="dim">and ${folded.length - ROWS_MAX} more rows</p>` : ""}`;
}

function draw_sets(plan) {
	const lacking = s => s.members.filter(m => m.action !== "keep").map(m => m.rank).join(" ");
	return table("Redundancy sets", [
		["SET", s => `${s.number} of ${s.set_count}`],
		["PROTECTS", s => s.over],
		["SCHEME", s => s.scheme],
		["SPARE", s => s.tolerance === undefined ? "" : `${s.tolerance_left || 0} of ${s.tolerance}`],
		["RANKS", s => s.members.map(m => m.rank === null ? "?" : m.rank).join(" ")],
		["WITHOUT REDUNDANCY FILE", lacking],
		["STATE", s => s.state],
		["", s => s.reason],
	], plan.sets.filter(s => s.used), plan.sets.length <= 16);
}

function draw_missing(plan) {
	const red = [];
	for (const s of plan.sets)
		for (const m of s.members)
			if (s.used && m.action !== "keep")
				red.push({ path: m.file || "redundancy file", rank: m.rank,
					found: m.problem || m.found, action: m.action });
	const list = [...plan.files, ...plan.filemaps, ...red].filter(f => f.action !== "keep");
	return table(`Missing or wrong: ${count(list.length, "file")}`, [
		["RANK", f => f.rank],
		["FILE", f => f.path || f.file || `filemap_${f.rank}`],
		["SIZE", f => f.size === undefined ? "" : size(f.size)],
		["FOUND", f => f.found],
		["", f => f.action !== "rebuild" ? f.action : plan.undecided ?
			"whether it can be rebuilt is unknown" : "can be rebuilt"],
	], list, false);
}

/* --- Containers --- */

function draw_containers(d) {
	const room = Math.max(1, ...d.containers.map(c => c.size));
	const boxes = new Map(d.containers.map(c => [c.name, []]));
	for (const f of d.packed_files || []) {
		let at = 0;
		for (const s of f.segments) {
			const list = boxes.get(s.container);
			const tip = `${shortened(f.path)}\nrank ${f.rank}, ${s.length} bytes from byte ${
				at} of ${f.size} at offset ${s.offset} of ${s.container}${
				s.damaged ? "\nmissing or wrong" : ""}`;
			at += s.length;
			if (list)
				list.push({ at: s.offset, length: s.length, rank: f.rank,
					tip: tip, damaged: s.damaged });
		}
	}
	const row = c => {
		const list = boxes.get(c.name).sort((a, b) => a.at - b.at);
		list.forEach((b, i) => {
			b.style = b.damaged ? "bad" : `h${b.rank % 8}${i % 2 ? " odd" : ""}`;
		});
		/* Without the places of its files: how full it is. */
		if (list.length === 0 && c.used_bytes > 0)
			list.push({ at: 0, length: c.used_bytes, tip: "in use",
				style: c.state === "whole" ? "h7" : "bad" });
		return markup`<div class="row"><span class="side">${
			shortened(c.name.replace(/^\.scr\/|\.scr$/g, ""))}</span><span class="bar">${
			bar(list, room, { at: 0, length: c.size, style: "ground",
				tip: `${c.name}\n${c.size} bytes, parts of ${count(c.file_count, "file")}\n${c.state}` })
		}</span><span class="behind${c.state === "whole" ? "" : " alarm"}">${
			c.state === "whole" ? "" : c.state}</span></div>\n`;
	};
	/* Those that are damaged first. */
	const list = [...d.containers.filter(c => c.state !== "whole"),
		...d.containers.filter(c => c.state === "whole")];
	return markup`<h2>Containers</h2>
<p>${count(list.length, "container")}, ${size(d.packed_bytes)}; a full row: ${size(room)}${
	d.moving ? "; a repack was interrupted" : ""}</p>
${keys([["h0", "files, one colour for a rank"], ["h7", "in use"], ["ground", "of no file"],
	["bad", "missing or wrong"]])}${list.slice(0, ROWS_MAX).map(row)}
${list.length > ROWS_MAX ? markup`<p class="dim">and ${list.length - ROWS_MAX} more</p>` : ""}`;
}

/* --- A dataset --- */

function draw_dataset(d, prefix) {
	const styles = { whole: "w", damaged: "r", lost: "l" };
	const index = d.is_current ? "the next job restarts from it" : d.valid ? "listed" :
		d.indexed ? "listed as NO" : "not listed";
	const places = d.plan ? d.plan.places.map(p => p.root) : [];
	const plan = d.plan || d;
	const totals = plan.totals || {};
	const unknown = (totals.filemaps_lost || 0) - (totals.filemaps_unplaced || 0);
	const sizes = [
		Number.isInteger(plan.rank_count) ? count(plan.rank_count, "rank") : "",
		Number.isInteger(plan.file_count) ? count(plan.file_count, "file") : "",
		Number.isInteger(plan.bytes) ? size(plan.bytes) : "",
	].filter(s => s).join(", ");
	const kind = [d.checkpoint ? "checkpoint" : "", d.output ? "output" : ""]
		.filter(k => k).join(" and ");
	return markup`<h1>Dataset ${d.id}${d.name ? `: ${shortened(d.name)}` : ""}</h1>
<p><span class="state ${styles[d.state] || "d"}">${d.state}</span> ${
	plan.undecided && d.state === "damaged" ?
	`${(d.reason || "").replace(/, can be rebuilt$/, "")}; whether it can be rebuilt is unknown` :
	d.reason}</p>
${d.next ? markup`<p>next: <code>${d.next}</code></p>` : ""}
${facts([
	["kind", kind + (d.created ? `, made ${time(d.created)}` : "") +
		(d.user ? ` by ${d.user}` : "") + (d.job_id ? `, job ${d.job_id}` : "")],
	["where", ...places.slice(0, 4), ...(places.length > 4 ? [`and ${places.length - 4} more`] : [])],
	["moved", plan.moved && plan.recorded_root ?
		`it was written as ${plan.recorded_root}` : undefined],
	["size", sizes + (unknown > 0 ? `; the files of ${count(unknown, "rank")} are unknown` : "")],
	["redundancy", d.redundancy],
	["tolerates", d.tolerates],
	["prefix", prefix.prefix],
	["index", prefix.prefix === undefined ? undefined : index],
	["because", ...(d.problems || []).map(p => p.problem)],
	["note", d.ranks_found ? `files of ${d.ranks_found} of ${plan.rank_count} ranks were ${
		""}found here; caches of other nodes can be named, too` : undefined],
	["deep check", ...(d.deep ? [...d.deep.findings.map(f => f.problem),
		`${count(d.deep.sets_checked, "set")} compared, ${d.deep.sets_skipped} not`] : [])],
])}${d.plan ? [draw_ranks(d, prefix), draw_sets(d.plan), draw_missing(d.plan)] : ""}${
	d.containers ? draw_containers(d) : ""}`;
}

/* --- The runs of a log --- */

const phases = { compute: "p0", checkpoint: "p1", output: "p2", flush: "p3",
	async_flush: "p3", fetch: "p5", rebuild: "p6", scavenge: "p7", run: "ground" };

function draw_run(run, begin, room, id, failures) {
	const boxes = run.spans.map(s => ({
		at: s.begin_milliseconds - begin, length: s.milliseconds, phase: s.phase,
		/* What only ended with its run does not hide the others. */
		style: s.failed && (s.id !== null || s.phase === "run" ||
			s.milliseconds > room / 100) ? "bad" :
			s.id !== null && s.id === id ? "mark" : phases[s.phase],
		tip: `${s.phase}${s.id === null ? "" : ` of dataset ${s.id}`}${
			s.failed ? ", failed or cut off" : ""}: ${seconds(s.milliseconds)} s from ${
			time(s.begin_milliseconds)}`,
	}));
	const whole = boxes.find(b => b.style === "ground");
	const failed = boxes.some(b => b.phase === "run" && b.style === "bad");
	const f = failures.find(f => f.job_id === run.job && f.run === run.number) || {};
	const least = f.lost_milliseconds, most = f.lost_milliseconds_at_most;
	const lost = most > least ? `${seconds(least)}-${seconds(most)} s` :
		least >= 0 && least !== null ? `${seconds(least)} s` : "?";
	const background = boxes.filter(b => b.phase === "async_flush");
	return markup`<div class="row"><span class="side">${run.number}</span><span class="bar">${
		bar(boxes.filter(b => b.phase !== "async_flush" && b !== whole), room, whole)}${
		background.length ? bar(background, room) : ""}</span><span class="behind${
		failed ? " alarm" : ""}">${failed ? `\u2715 lost ${lost}` : ""}</span></div>\n`;
}

function draw_log(log, id) {
	const jobs = new Map();
	for (const s of log.log_spans || []) {
		if (!jobs.has(s.job_id))
			jobs.set(s.job_id, new Map());
		const runs = jobs.get(s.job_id);
		if (!runs.has(s.run))
			runs.set(s.run, { job: s.job_id, number: s.run, spans: [] });
		runs.get(s.run).spans.push(s);
	}
	const all = [...jobs.values()].flatMap(runs => [...runs.values()]);
	const shown = all.slice(-ROWS_MAX);
	let begin = Infinity, end = -Infinity;
	for (const s of shown.flatMap(r => r.spans)) {
		begin = Math.min(begin, s.begin_milliseconds);
		end = Math.max(end, s.begin_milliseconds + s.milliseconds);
	}
	end = Math.max(end, begin + 1000);
	const days = end - begin > 2 * 86400000;
	const ticks = [0, 1, 2, 3, 4].map(k => {
		const text = time(begin + (end - begin) * k / 4);
		return markup`<span>${days ? text.slice(5, 10) : text.slice(11)}</span>`;
	});
	const back = job => log.log_jobs.some(j => j.job_id === job && j.log_seconds === null);
	const timeline = all.length === 0 ? markup`<p>The log has no runs.</p>\n` :
		markup`<p>${count(shown.length, "run")} from ${time(begin)} to ${time(end)} UTC${
		all.length > shown.length || log.log_spans_cut ? "; earlier ones are not drawn" : ""}.</p>
<p class="dim">What takes less than a pixel colours its part of it.</p>
${keys([["p0", "compute"], ["p1", "checkpoint"], ["p2", "output"], ["p3", "flush"],
		["p5", "fetch"], ["p6", "rebuild"], ["p7", "scavenge"], ["bad", "failed"],
		...(id === undefined ? [] : [["mark", "this dataset"]])])}
<div class="row"><span class="side"></span><span class="bar axis">${ticks}</span><span class="behind"></span></div>
${shown.map((r, i) => markup`${i === 0 || shown[i - 1].job !== r.job ?
		markup`<p>job ${r.job}${back(r.job) ? ": its clock went back" : ""}</p>\n` : ""}${
		draw_run(r, begin, end - begin, id, log.log_failures)}`)}`;
	return markup`<h2>Timeline</h2>
${timeline}${table("Failures and halts", [
		["TIME", e => time(e.time)], ["EVENT", e => e.event],
	], log.log_events || [], false)}${draw_tables(log, id === undefined)}`;
}

// The tables of scr_env log.
function draw_tables(log, open) {
	const lost = [["LOST", e => seconds(e.lost_milliseconds)],
		["AT MOST", e => seconds(e.lost_milliseconds_at_most)]];
	const sums = [["PHASE", e => e.phase], ["COUNT", e => e.count], ["FAILED", e => e.failed_count],
		["SECONDS", e => seconds(e.spent_milliseconds)],
		["BYTES", e => e.bytes === null ? "?" : size(e.bytes)]];
	return [
		table("Jobs", [["JOB", e => e.job_id], ["FIRST LINE", e => time(e.first_line)],
			["RUNS", e => e.run_count], ["FAILURES", e => e.failure_count],
			["LAST RUN", e => e.last_run], ["WORK", e => seconds(e.work_milliseconds)],
			...lost, ["EFFICIENCY %", e => e.efficiency_percent ?? "?"],
			["INTERVAL", e => seconds(e.interval_milliseconds)],
			["BEST", e => seconds(e.best_interval_milliseconds)]], log.log_jobs, open),
		table("Failures", [["JOB", e => e.job_id], ["RUN", e => e.run],
			["LAST LINE", e => time(e.last_line)], ["DIED", e => time(e.died)],
			["NEXT START", e => time(e.next_start)],
			["FROM DATASET", e => e.restarted_from ?? "?"], ...lost,
			["RESTART", e => e.restart_seconds ?? "?"]], log.log_failures, open),
		table("Phases", [["JOB", e => e.job_id], ...sums], log.log_phases, open),
		table("Datasets", [["JOB", e => e.job_id], ["DATASET", e => e.id],
			["NAME", e => e.name], ...sums], log.log_datasets, false),
	];
}

/* --- The page --- */

// Returns the markup of the page's body, as a string.
function draw(answer) {
	const parts = [];
	for (const p of answer.prefixes || []) {
		const only = p.datasets.length === 1 ? p.datasets[0].id : undefined;
		if (p.datasets.length === 0)
			parts.push(markup`<h1>Prefix ${shortened(p.prefix)}</h1>
<p>There are no datasets.</p>\n`);
		parts.push(...p.datasets.map(d => draw_dataset(d, p)));
		if (p.log_problem)
			parts.push(markup`<h2>Timeline</h2>
<p><span class="state l">unknown</span> ${p.log_problem}</p>\n`);
		if (p.log)
			parts.push(draw_log(p.log, only));
	}
	for (const d of answer.caches || [])
		parts.push(draw_dataset(d, {}));
	for (const f of answer.metadata_files || [])
		parts.push(markup`<h1>${shortened(f.file)}</h1>
<pre>${JSON.stringify(f, null, 2)}</pre>\n`);
	if (answer.log_jobs)
		parts.push(draw_log(answer));
	return plain(parts);
}

// Fill the page.  If that fails, it has the report as text, as without scripts.
function show(page) {
	const report = page.getElementById("report");
	try {
		report.innerHTML = draw(JSON.parse(page.getElementById("answer").textContent));
	} catch (e) {
		report.innerHTML = plain(markup`<p>This page could not be drawn: ${e}</p>\n`) +
			page.querySelector("noscript").textContent;
	}
}

if (typeof document !== "undefined")
	show(document);
