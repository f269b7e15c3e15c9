import assert from "node:assert/strict";
import test from "node:test";

import { createBreaker } from "../src/breaker.js";
import { createClient } from "../src/client.js";
import { readConfig } from "../src/config.js";
import { createDelivery } from "../src/delivery.js";
import { engineFactory } from "../src/engine.js";
import { createSpool } from "../src/spool.js";
import { acceptedTurn, folder, keepLog, serve } from "./helpers.js";

const HISTORY = [{ role: "user", content: "an earlier word" }];
const ASK = { sessionId: "session-1", sessionKey: "agent:main:talk", messages: HISTORY, prompt: "Where is the wiki?", tokenBudget: 100_000 };

/** An engine for one turn, with a server that answers as told; `built` is what lasts. */
async function engineWith(t, answer, config = {}) {
  const server = await serve(t, answer);
  const settings = readConfig({ apiUrl: server.apiUrl, token: "t", assembleTimeoutMs: 10_000, commitTimeoutMs: 10_000, ...config });
  const logger = keepLog();
  const client = createClient(settings);
  t.after(client.close);
  const breaker = createBreaker({ logger });
  const place = await folder(t);
  const spool = createSpool({ directory: () => place, maxBytes: 1e6, logger });
  const delivery = createDelivery({ client, breaker, spool, logger, commitTimeoutMs: settings.commitTimeoutMs });
  const host = { compact: async (params) => ({ delegated: params }), memoryPrompt: () => "HOW TO REMEMBER" };
  const make = engineFactory({ settings, client, breaker, delivery, host, profile: () => null, version: "1" });
  return { ...server, engine: make({}), make, logger, spool, delivery, breaker };
}

const block = (text) => ({ json: { text, token_count: 9, memories: [], left_out: {}, took_ms: 1, degraded: false, reason: null } });

test("the host takes it for an engine of today, which keeps compaction the host's", async (t) => {
  const { engine } = await engineWith(t, () => block(""));
  assert.deepEqual(engine.info.transcriptSemantics, {
    currentTurnFence: "before-current-turn-entry-v1",
    turnAdvancementIdempotency: "atomic-idempotent-v1",
  });
  assert.equal(engine.info.ownsCompaction, false);
  const params = { sessionId: "s" };
  assert.deepEqual(await engine.compact(params), { delegated: params });
});

test("the prompt gets the block, and the messages stay the very ones", async (t) => {
  const { engine, requests } = await engineWith(t, () => block("<noesis-memory>8085</noesis-memory>"));
  const answer = await engine.assemble(ASK);
  assert.equal(answer.messages, HISTORY);
  assert.equal(answer.systemPromptAddition, "HOW TO REMEMBER\n\n<noesis-memory>8085</noesis-memory>");
  assert.ok(answer.estimatedTokens > 10);
  const [{ url, headers, body }] = requests;
  assert.deepEqual([url, headers["x-noesis-agent"]], ["/api/v1/context/assemble", "main"]);
  assert.deepEqual(body, { prompt: "Where is the wiki?", session_id: "session-1", token_budget: 2000, deadline_ms: 9800 });
});

test("the block takes a tenth of a small window at most", async (t) => {
  const { engine, requests } = await engineWith(t, () => block(""));
  await engine.assemble({ ...ASK, tokenBudget: 4000 });
  assert.equal(requests[0].body.token_budget, 400);
});

test("within a turn Noesis is asked once a prompt", async (t) => {
  const { engine, requests } = await engineWith(t, () => block("x"));
  const answers = [await engine.assemble(ASK), await engine.assemble(ASK)];
  assert.deepEqual(answers[0], answers[1]);
  await engine.assemble({ ...ASK, prompt: "another" });
  assert.equal(requests.length, 2);
});

test("two agents are two agents, also by the folder of an unnamed session", async (t) => {
  const { make, requests } = await engineWith(t, () => block(""));
  await make({}).assemble({ ...ASK, sessionKey: "agent:beta:talk" });
  await make({ agentDir: "/h/.openclaw/agents/ops:1/agent" }).assemble({ ...ASK, sessionKey: undefined });
  assert.deepEqual(requests.map(({ headers }) => headers["x-noesis-agent"]), ["beta", "x--ops_3a1"]);
});

test("a call that names no agent brings nobody's memories and keeps nothing", async (t) => {
  const { engine, requests } = await engineWith(t, () => block("x"));
  const answer = await engine.assemble({ ...ASK, sessionKey: "global" });
  assert.equal(answer.systemPromptAddition, "HOW TO REMEMBER");
  await engine.commitTurn(acceptedTurn({ sessionKey: "global", sessionTarget: undefined }));
  assert.equal(requests.length, 0);
});

for (const [what, answer] of [
  ["hangs", () => null],
  ["fails", () => ({ status: 500, json: {} })],
  ["refuses the token", () => ({ status: 401, json: {} })],
  ["answers nonsense", () => ({ text: "<html>" })],
  ["is switched off (204)", () => ({ status: 204 })],
]) {
  test(`a prompt goes on without memories while Noesis ${what}`, async (t) => {
    const { engine, logger } = await engineWith(t, answer, { assembleTimeoutMs: 300 });
    const given = await engine.assemble(ASK);
    assert.deepEqual([given.messages, given.systemPromptAddition], [HISTORY, "HOW TO REMEMBER"]);
    await engine.assemble({ ...ASK, prompt: "the next one" });
    assert.ok(logger.lines.length <= 1, logger.lines.join("\n"));
  });
}

test("an accepted turn is handed over and no copy stays", async (t) => {
  const { engine, requests, spool } = await engineWith(t, () => ({ status: 202, json: { accepted: 2, duplicate: false } }));
  assert.deepEqual(await engine.commitTurn(acceptedTurn()), { status: "committed" });
  assert.equal(requests[0].url, "/api/v1/context/turns");
  assert.equal(requests[0].body.advancement_key, "key-1");
  assert.deepEqual(await spool.names(), []);
});

test("while Noesis is away turns wait on the disk, and are handed over once and in order", async (t) => {
  const { engine, spool, logger, delivery, breaker, requests } = await engineWith(t, (_, number) =>
    number === 1 ? { status: 503, json: {} } : { status: 202, json: {} },
  );
  for (const key of ["a", "b", "c"]) await engine.commitTurn(acceptedTurn({ advancementKey: key }));
  assert.deepEqual([(await spool.names()).length, requests.length, logger.lines.length], [3, 1, 1]);
  breaker.succeeded();
  await delivery.flush();
  assert.deepEqual(requests.slice(1).map(({ body }) => body.advancement_key), ["a", "b", "c"]);
  assert.deepEqual(await spool.names(), []);
});

test("a turn that takes long is on its way without the reply", async (t) => {
  let answer;
  const slow = new Promise((resolve) => (answer = resolve));
  const { engine, spool, logger } = await engineWith(t, () => slow, { commitTimeoutMs: 100 });
  assert.deepEqual(await engine.commitTurn(acceptedTurn()), { status: "committed" });
  assert.equal((await spool.names()).length, 1);
  answer({ status: 202, json: {} });
  const until = Date.now() + 5000;
  while ((await spool.names()).length > 0 && Date.now() < until) await new Promise((done) => setTimeout(done, 20));
  assert.deepEqual([await spool.names(), logger.lines], [[], []]);
});

test("what is said in private is neither kept nor sent", async (t) => {
  const { engine, requests, spool } = await engineWith(t, () => block("x"));
  const sessionKey = "agent:main:dashboard:incognito-1234";
  await engine.commitTurn(acceptedTurn({ sessionKey }));
  await engine.afterTurn({ sessionId: "s", sessionKey, messages: acceptedTurn().messages, prePromptMessageCount: 0 });
  assert.deepEqual([requests.length, await spool.names()], [0, []]);
  await engine.assemble({ ...ASK, sessionKey });
  assert.deepEqual(requests[0].body, { token_budget: 2000, deadline_ms: 9800 });
});

test("heartbeats are dropped", async (t) => {
  const { engine, requests, spool } = await engineWith(t, () => ({ status: 202, json: {} }));
  await engine.commitTurn(acceptedTurn({ isHeartbeat: true }));
  assert.deepEqual([requests.length, await spool.names()], [0, []]);
});

test("an older host's turn is handed over after it, and not twice", async (t) => {
  const { make, requests } = await engineWith(t, () => ({ status: 202, json: {} }));
  const { messages } = acceptedTurn();
  const ended = { sessionId: "s", sessionKey: "agent:main:talk", messages, prePromptMessageCount: 0 };
  const engine = make({});
  await engine.afterTurn(ended);
  await engine.afterTurn(ended);
  assert.equal(requests.length, 1);
});

test("contextEngineEnabled false leaves prompts and turns alone", async (t) => {
  const { engine, requests, spool } = await engineWith(t, () => block("x"), { contextEngineEnabled: false });
  const answer = await engine.assemble(ASK);
  assert.equal(answer.systemPromptAddition, "HOW TO REMEMBER");
  await engine.commitTurn(acceptedTurn());
  assert.deepEqual([requests.length, await spool.names()], [0, []]);
});
