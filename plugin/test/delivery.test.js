import assert from "node:assert/strict";
import test from "node:test";

import { createBreaker } from "../src/breaker.js";
import { createClient } from "../src/client.js";
import { createDelivery } from "../src/delivery.js";
import { createService } from "../src/service.js";
import { createSpool } from "../src/spool.js";
import { folder, keepLog, serve } from "./helpers.js";

const entry = (key, agent = "main") => ({ agent, body: { session_id: "s", advancement_key: key, messages: [] } });

async function deliveryTo(t, answer) {
  const server = await serve(t, answer);
  const logger = keepLog();
  const client = createClient({ apiUrl: server.apiUrl, token: "t" });
  t.after(client.close);
  const clock = { now: 1_000_000 };
  const breaker = createBreaker({ logger, now: () => clock.now });
  const place = await folder(t);
  const spool = createSpool({ directory: () => place, maxBytes: 1e6, logger });
  const delivery = createDelivery({ client, breaker, spool, logger, commitTimeoutMs: 300 });
  return { ...server, logger, client, breaker, spool, delivery, clock };
}

const taken = { status: 202, json: {} };
const keys = (requests) => requests.map(({ body }) => body?.advancement_key);

test("a turn that Noesis will never take does not stop those behind it", async (t) => {
  const { spool, delivery, requests, logger } = await deliveryTo(t, ({ body }) =>
    body.advancement_key === "bad" ? { status: 400, json: { code: "invalid_input" } } : taken,
  );
  for (const key of ["bad", "good"]) await spool.put(entry(key));
  await delivery.flush();
  assert.deepEqual([keys(requests), await spool.names()], [["bad", "good"], []]);
  assert.match(logger.lines[0], /400 invalid_input/);
});

test("an agent that the token is not for keeps its turns and stops no other's", async (t) => {
  const { spool, delivery } = await deliveryTo(t, ({ headers }) =>
    headers["x-noesis-agent"] === "beta" ? { status: 403, json: {} } : taken,
  );
  for (const agent of ["beta", "main"]) await spool.put(entry("k", agent));
  await delivery.flush();
  const [left] = await spool.names();
  assert.equal((await spool.get(left)).agent, "beta");
});

test("a flush ends at the first sign of an outage and loses nothing", async (t) => {
  const { spool, delivery, requests } = await deliveryTo(t, () => ({ status: 503, json: {} }));
  for (const key of ["a", "b"]) await spool.put(entry(key));
  await delivery.flush();
  assert.deepEqual([keys(requests), (await spool.names()).length], [["a"], 2]);
});

test("a turn that is taken takes along those that were left behind", async (t) => {
  const { spool, delivery, requests } = await deliveryTo(t, () => taken);
  await spool.put(entry("left"));
  await delivery.take(entry("new"));
  const until = Date.now() + 5000;
  while ((await spool.names()).length > 0 && Date.now() < until) await new Promise((done) => setTimeout(done, 20));
  assert.deepEqual(keys(requests), ["new", "left"]);
});

test("two flushes at once hand over each turn once", async (t) => {
  const { spool, delivery, requests } = await deliveryTo(t, () => taken);
  await spool.put(entry("a"));
  await Promise.all([delivery.flush(), delivery.flush()]);
  assert.equal(requests.length, 1);
});

test("a turn that neither the disk nor Noesis takes is an error, so that the host keeps it", async (t) => {
  const { spool, delivery, client, breaker } = await deliveryTo(t, () => ({ status: 500, json: {} }));
  const full = { ...spool, put: () => Promise.reject(Object.assign(new Error("full"), { code: "ENOSPC" })) };
  const logger = keepLog();
  const without = createDelivery({ client, breaker, spool: full, logger, commitTimeoutMs: 300 });
  await assert.rejects(without.take(entry("a")), { kind: "unavailable" });
  assert.match(logger.lines[0], /ENOSPC/);
  await delivery.take(entry("a"));
});

test("the service notices that Noesis is back and hands over what waits", async (t) => {
  let isBack = false;
  const parts = await deliveryTo(t, () => (isBack ? taken : { status: 503, json: {} }));
  const { delivery, breaker, spool, logger, requests, clock } = parts;
  await delivery.take(entry("a"));
  assert.equal((await spool.names()).length, 1);
  const service = createService({ delivery, breaker, settings: { notes: [], problem: null }, logger, close() {} });
  service.start();
  t.after(() => service.stop());
  isBack = true;
  clock.now += 20_000;
  const until = Date.now() + 5000;
  while ((await spool.names()).length > 0 && Date.now() < until) await new Promise((done) => setTimeout(done, 50));
  assert.deepEqual(await spool.names(), []);
  assert.deepEqual(requests.map(({ url }) => url).slice(1), ["/health", "/api/v1/context/turns"]);
  assert.equal(logger.lines.length, 2);
});

test("a service without a token says so once and calls nobody", async (t) => {
  const { delivery, breaker, logger, requests } = await deliveryTo(t, () => taken);
  const settings = { notes: ["these moved"], problem: "no token is set" };
  const service = createService({ delivery, breaker, settings, logger, close() {} });
  service.start();
  service.stop();
  assert.deepEqual([logger.lines.length, requests.length], [2, 0]);
  assert.match(logger.lines[1], /no token is set/);
});
