import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import test from "node:test";

import { createBreaker } from "../src/breaker.js";
import { createClient } from "../src/client.js";
import { readConfig } from "../src/config.js";
import { createDelivery } from "../src/delivery.js";
import { TOOLS, registerTools } from "../src/tools/registering.js";
import { keepLog, memory, serve } from "./helpers.js";

const manifest = JSON.parse(await readFile(new URL("../openclaw.plugin.json", import.meta.url)));
const hit = (values) => ({ ...memory(values), score: 0.8125 });
const HITS = { hits: [hit(), hit({ id: "222", archived: true, memory_type: "fact" })], degraded: false, reason: null };

/** The tools as the host makes them for one agent, and what was asked of the server. */
async function toolsFor(t, answer, { context = { agentId: "main", sessionId: "session-1" }, config = {} } = {}) {
  const server = await serve(t, answer);
  const settings = readConfig({ apiUrl: server.apiUrl, token: "t", toolTimeoutMs: 1000, jobWaitMs: 1000, ...config });
  const logger = keepLog();
  const client = createClient(settings);
  t.after(client.close);
  const breaker = createBreaker({ logger });
  const delivery = createDelivery({ client, breaker, spool: {}, logger, commitTimeoutMs: 100 });
  const made = {};
  const api = { registerTool: (factory, { name }) => (made[name] = factory(context)) };
  registerTools(api, { settings, client, breaker, delivery, profile: () => null });
  const run = async (name, args, signal) => {
    const { content, details } = await made[name].execute("call-1", args, signal);
    return { text: content[0].text, details };
  };
  return { ...server, run, made, breaker };
}

test("the manifest names every tool, or the host refuses them all", () => {
  assert.deepEqual(TOOLS.map(({ name }) => name).sort(), [...manifest.contracts.tools].sort());
});

test("each tool has a description, a label and parameters that a model can fill in", () => {
  for (const { name, label, description, parameters } of TOOLS) {
    assert.ok(label && description.length > 30, name);
    assert.equal(parameters.type, "object");
    for (const [key, { description: about, type }] of Object.entries(parameters.properties)) {
      assert.ok(about && type, `${name}.${key}`);
    }
  }
});

test("the parameters are those of the original", () => {
  const known = Object.fromEntries(TOOLS.map(({ name, parameters }) => [name, Object.keys(parameters.properties).sort().join(" ")]));
  assert.deepEqual(known, {
    noesis_index: "agentId content memoryType priority sessionId sourcePath tags ttlDays",
    noesis_search: "agentId crossAgent memoryType query topK",
    noesis_search_archive: "agentId memoryType query topK",
    noesis_recall: "agentId limit sessionId",
    noesis_import: "agentId",
    noesis_stats: "",
    noesis_delete: "id",
    noesis_cleanup: "",
    noesis_export: "agentId includeExpired memoryType",
    noesis_set_priority: "id priority ttlDays",
    noesis_dedup: "agentId limit memoryType threshold",
    noesis_backup: "action name",
    memory_search: "agentId crossAgent query topK",
    memory_get: "id",
    memory_index: "agentId content memoryType priority sessionId tags ttlDays",
    memory_recall: "agentId limit sessionId",
  });
});

test("a search asks with the original's defaults and answers with all one needs", async (t) => {
  const { run, requests } = await toolsFor(t, () => ({ json: HITS }));
  const { text, details } = await run("noesis_search", { query: "wiki" });
  assert.deepEqual(requests[0].body, { query: "wiki", limit: 6, cross_agent: false });
  assert.match(text, /1\. \[decision\] \[score=0\.813\] 2026-11-29 · priority 85 · expires 2027-02-27 · id 1111/);
  assert.match(text, /2\. \[fact\] \[archived\]/);
  assert.deepEqual([details.count, details.results[0].memoryType, details.results[1].archived], [2, "decision", true]);
  assert.equal(details.results[0].createdAt, Date.parse("2026-11-29T10:00:00Z"));
});

test("the archive has its own default, topK of the settings is that of searches", async (t) => {
  const { run, requests } = await toolsFor(t, () => ({ json: HITS }), { config: { topK: 9 } });
  await run("noesis_search_archive", { query: "x" });
  await run("memory_search", { query: "x" });
  await run("memory_search", { query: "x", topK: "3" });
  assert.deepEqual(requests.map(({ url, body }) => [url, body.limit]), [
    ["/api/v1/archive/search", 5],
    ["/api/v1/search", 9],
    ["/api/v1/search", 3],
  ]);
});

test("noesis_search cuts texts at 300 characters and says so; memory_search gives them whole", async (t) => {
  const text = "ä".repeat(400);
  const { run } = await toolsFor(t, () => ({ json: { ...HITS, hits: [hit({ text })] } }));
  assert.match((await run("noesis_search", { query: "x" })).text, /ä{300}… \(100 more characters\)/);
  assert.ok((await run("memory_search", { query: "x" })).text.includes(text));
});

test("a degraded answer is told", async (t) => {
  const { run } = await toolsFor(t, () => ({ json: { hits: [], degraded: true, reason: "keyword only" } }));
  assert.equal((await run("noesis_search", { query: "x" })).text, "No memory fits.\n(Not everything was searched: keyword only)");
});

test("agent and session are the host's; an agent that the model names is a filter", async (t) => {
  const { run, requests } = await toolsFor(t, () => ({ json: { id: "i", duplicate: false, chunks: 1 } }));
  await run("noesis_index", { content: "a", agentId: "unknown" });
  await run("noesis_index", { content: "a", agentId: "main" });
  await run("noesis_index", { content: "a", agentId: "alpha' OR '1'='1", sessionId: "mine" });
  assert.deepEqual(requests.map(({ headers }) => headers["x-noesis-agent"]), ["main", "main", "main"]);
  assert.deepEqual(requests.map(({ body }) => body.agent_id), [undefined, undefined, "x--alpha_27_20or_20_271_27_3d_271"]);
  assert.deepEqual(requests.map(({ body }) => body.session_id), ["session-1", "session-1", "mine"]);
});

test("without an agent of the host's nothing is done", async (t) => {
  const { run, requests } = await toolsFor(t, () => ({ json: HITS }), { context: { sessionKey: "global" } });
  await assert.rejects(run("memory_search", { query: "x", agentId: "alpha" }), /which agent/);
  assert.equal(requests.length, 0);
});

test("what is stored is answered with its id; twice is said to be once", async (t) => {
  const { run, requests } = await toolsFor(t, (_, number) => ({ json: { id: "id-1", duplicate: number > 1, chunks: 2 } }));
  const args = { content: "We chose", memoryType: "Decision", priority: 140, ttlDays: 0, tags: "a, b", sourcePath: "x.md" };
  assert.match((await run("noesis_index", args)).text, /Indexed 2 chunks as a decision \(id id-1\)/);
  assert.deepEqual(requests[0].body, {
    text: "We chose", memory_type: "decision", tags: ["a", "b"], session_id: "session-1", priority: 100, ttl_days: 0, source: "x.md",
  });
  const again = await run("memory_index", { content: "We chose" });
  assert.match(again.text, /already \(id id-1\)/);
  assert.deepEqual(again.details, { inserted: 0, chunks: 2, id: "id-1", duplicate: true });
});

test("what a model got wrong is said in an answer it can mend", async (t) => {
  const { run, requests } = await toolsFor(t, () => ({ json: {} }));
  for (const [name, args, said] of [
    ["noesis_search", {}, "Error: query is required."],
    ["noesis_search", { query: "  " }, "Error: query is required."],
    ["noesis_index", { content: "a", memoryType: "thought" }, "Error: memoryType is one of fact, decision, preference, context, session."],
    ["noesis_index", { content: "a", ttlDays: -3 }, "Error: ttlDays is 0 (never expires) or more."],
    ["noesis_index", { content: "a", ttlDays: "soon" }, "Error: ttlDays is to be a number."],
    ["noesis_set_priority", { id: "1" }, "Error: priority is required."],
    ["noesis_delete", {}, "Error: id is required."],
    ["noesis_backup", { action: "restore" }, "Error: action is one of create, list, verify."],
    ["memory_get", undefined, "Error: id is required."],
  ]) {
    assert.deepEqual(await run(name, args), { text: said, details: {} });
  }
  assert.equal(requests.length, 0);
});

test("an id that the agent does not have is not found, and never an accident elsewhere", async (t) => {
  const { run, requests } = await toolsFor(t, () => ({ status: 404, json: { detail: "no", code: "not_found" } }));
  for (const [name, args] of [["memory_get", { id: "../stats" }], ["noesis_delete", { id: "1?x" }], ["noesis_set_priority", { id: "1", priority: 5 }]]) {
    const { text, details } = await run(name, args);
    assert.match(text, /There is no memory/);
    assert.deepEqual(details, { found: false });
  }
  assert.deepEqual(requests.map(({ url }) => url), ["/api/v1/memories/..%2Fstats", "/api/v1/memories/1%3Fx", "/api/v1/memories/1"]);
});

test("a priority is set with or without a life", async (t) => {
  const { run, requests } = await toolsFor(t, ({ body }) => ({ json: memory({ priority: body.priority, expires_at: null }) }));
  assert.match((await run("noesis_set_priority", { id: "1", priority: "99", ttlDays: 0 })).text, /priority 99, never expires/);
  await run("noesis_set_priority", { id: "1", priority: 5 });
  assert.deepEqual(requests.map(({ body }) => body), [{ priority: 99, ttl_days: 0 }, { priority: 5 }]);
});

test("a job is waited for, and when it takes longer it is said to go on", async (t) => {
  let looks = 0;
  const { run } = await toolsFor(t, ({ method }) => {
    if (method === "POST") return { status: 202, json: { job_id: "j1" } };
    looks += 1;
    return { json: { id: "j1", state: looks === 2 ? "succeeded" : "running", result: { archived: 3 } } };
  });
  assert.deepEqual(await run("noesis_cleanup", {}), { text: "Archived 3 memories.", details: { archived: 3, jobId: "j1" } });
  const { text, details } = await run("noesis_cleanup", {});
  assert.match(text, /goes on in the background \(job j1, running\)/);
  assert.equal(details.state, "running");
});

test("a job that failed is an error with its reason", async (t) => {
  const { run } = await toolsFor(t, ({ method }) =>
    method === "POST" ? { json: { job_id: "j" } } : { json: { id: "j", state: "failed", error: "no room" } },
  );
  await assert.rejects(run("noesis_import", {}), /no room/);
});

test("duplicates are looked for and shown with what to keep", async (t) => {
  const members = [
    { memory: memory({ id: "a" }), keep: true },
    { memory: memory({ id: "b", text: "The wiki is on port 8085." }), keep: false },
  ];
  const { run, requests } = await toolsFor(t, ({ method, url }) => {
    if (method === "POST") return { status: 202, json: { job_id: "j" } };
    if (url.startsWith("/api/v1/jobs/")) return { json: { id: "j", state: "succeeded", result: { reports: [{ checked: 7 }] } } };
    return { json: { reports: [], findings: [{ id: "f", kind: "near", similarity: 0.95, members }], cursor: null } };
  });
  const { text, details } = await run("noesis_dedup", { memoryType: "decision" });
  assert.deepEqual(requests[0].body, { threshold: 0.9, memory_type: "decision" });
  assert.equal(requests.at(-1).url, "/api/v1/dedup?limit=50");
  assert.match(text, /near, alike 0\.950:\n {3}keep {2}a We decided[^]*other b The wiki/);
  assert.deepEqual([details.checked, details.duplicates, details.pairs[0].ids], [7, 1, ["a", "b"]]);
});

test("backups are made, listed without what other agents have, and verified", async (t) => {
  const backup = { name: "n1", created_at: "2026-11-30T06:00:00Z", size: 1_572_864, memories: 4711, rows: 4711, verified_at: null };
  const { run } = await toolsFor(t, ({ method, url }) => {
    if (method === "POST") return { status: 202, json: { job_id: url.includes("verify") ? "v" : "b" } };
    if (url === "/api/v1/backups") return { json: { backups: [backup], undo: false } };
    const result = url.endsWith("/v") ? { ok: false, problems: ["A file is cut."] } : backup;
    return { json: { id: "j", state: "succeeded", result } };
  });
  assert.equal((await run("noesis_backup", {})).text, "Backed up as n1, and verified.");
  const listed = await run("noesis_backup", { action: "list" });
  assert.equal(listed.text, "- n1 · 2026-11-30T06:00 · 1.5 MB · not verified since");
  assert.doesNotMatch(JSON.stringify(listed), /4711/);
  assert.equal((await run("noesis_backup", { action: "verify", name: "n1" })).text, "The backup n1 is damaged: A file is cut.");
  assert.equal((await run("noesis_backup", { action: "verify" })).text, "Error: name is required.");
});

test("an import is of the named agent, or of all", async (t) => {
  const { run, requests } = await toolsFor(t, ({ method }) =>
    method === "POST" ? { json: { job_id: "j" } } : { json: { id: "j", state: "succeeded", result: { indexed: 4, skipped: 1, duplicates: 2 } } },
  );
  assert.match((await run("noesis_import", {})).text, /4 indexed, 0 changed, 3 skipped, 0 errors/);
  await run("noesis_import", { agentId: "main" });
  const bodies = requests.filter(({ method }) => method === "POST").map(({ body }) => body);
  assert.deepEqual(bodies, [{ openclaw: true, apply: true }, { openclaw: "main", apply: true }]);
});

test("an export is JSON, cut at whole entries and then said to be", async (t) => {
  const entries = Array.from({ length: 30 }, (_, id) => ({ id, content: "x".repeat(5000) }));
  const { run, requests } = await toolsFor(t, () => ({ json: entries }));
  const { text, details } = await run("noesis_export", { memoryType: "fact", includeExpired: true });
  assert.equal(requests[0].url, "/api/v1/export?format=json&memory_type=fact&archive=both");
  assert.deepEqual(details, { count: 19, total: 30 });
  assert.equal(JSON.parse(text.slice(0, text.indexOf("\n(11 memories more"))).length, 19);
});

test("while Noesis is away a tool fails at once and says so", async (t) => {
  const { run, stop } = await toolsFor(t, () => ({ json: HITS }));
  await stop();
  await assert.rejects(run("memory_search", { query: "x" }), /cannot be reached/);
  const began = Date.now();
  await assert.rejects(run("memory_search", { query: "x" }), /cannot be reached now/);
  assert.ok(Date.now() - began < 900);
});

test("while Noesis hangs a tool waits for its deadline once, and half a second from then on", async (t) => {
  const { run } = await toolsFor(t, () => null);
  await assert.rejects(run("memory_search", { query: "x" }), /within 1000 ms/);
  const began = Date.now();
  await assert.rejects(run("memory_search", { query: "x" }), /cannot be reached now/);
  assert.ok(Date.now() - began < 950);
});

test("the host's signal ends a tool", async (t) => {
  const { run } = await toolsFor(t, () => null);
  await assert.rejects(run("memory_search", { query: "x" }, AbortSignal.timeout(50)), { kind: "aborted" });
});

test("a refusal is told in the server's words", async (t) => {
  const { run } = await toolsFor(t, () => ({ status: 403, json: { detail: "You may not read across." } }));
  await assert.rejects(run("noesis_search", { query: "x", crossAgent: true }), /You may not read across/);
});
