import assert from "node:assert/strict";
import test from "node:test";

import { createClient } from "../src/client.js";
import { serve } from "./helpers.js";

const call = (client, options = {}) => client.call("POST", "/api/v1/search", { timeoutMs: 2000, ...options });

async function clientOf(t, answer) {
  const server = await serve(t, answer);
  const client = createClient({ apiUrl: server.apiUrl, token: "nse_1_secret" });
  t.after(client.close);
  return { ...server, client };
}

test("a call carries token, agent, query and body, and gives the answer", async (t) => {
  const { client, requests } = await clientOf(t, () => ({ json: { hits: [] } }));
  const answer = await call(client, { agent: "main", body: { query: "ö" }, query: { limit: 3, none: undefined } });
  assert.deepEqual(answer, { hits: [] });
  const [{ url, headers, body }] = requests;
  assert.deepEqual([url, body], ["/api/v1/search?limit=3", { query: "ö" }]);
  assert.deepEqual([headers.authorization, headers["x-noesis-agent"]], ["Bearer nse_1_secret", "main"]);
});

test("an empty answer is null", async (t) => {
  const { client } = await clientOf(t, () => ({ status: 204 }));
  assert.equal(await call(client), null);
});

for (const [status, kind] of [[401, "refused"], [403, "rejected"], [404, "rejected"], [500, "unavailable"], [503, "unavailable"]]) {
  test(`${status} is ${kind}`, async (t) => {
    const { client } = await clientOf(t, () => ({ status, json: { detail: "why", code: "it" } }));
    await assert.rejects(call(client), (error) => error.kind === kind && error.status === status);
  });
}

test("a server that hangs is given up at the deadline", async (t) => {
  const { client } = await clientOf(t, () => null);
  const began = Date.now();
  await assert.rejects(call(client, { timeoutMs: 150 }), { kind: "unavailable", message: /within 150 ms/ });
  assert.ok(Date.now() - began < 1500);
});

test("the host's signal ends a call and is no failure of the server", async (t) => {
  const { client } = await clientOf(t, () => null);
  await assert.rejects(call(client, { signal: AbortSignal.timeout(100) }), { kind: "aborted" });
});

test("nobody listening is told at once", async (t) => {
  const { client, stop } = await clientOf(t, () => null);
  await stop();
  await assert.rejects(call(client), { kind: "unavailable", message: /ECONNREFUSED/ });
});

test("a kept connection that the server closed meanwhile is no outage", async (t) => {
  let dropped = false;
  const send = (url, request) => {
    if (dropped) return Promise.resolve({ status: 200, text: "{}" });
    dropped = true;
    return Promise.reject(Object.assign(new Error("gone"), { code: "ECONNRESET" }));
  };
  const client = createClient({ apiUrl: "http://127.0.0.1:1", token: "t" }, { send, close() {} });
  assert.deepEqual(await call(client), {});
});

test("something else than Noesis at the address is told", async (t) => {
  const { client } = await clientOf(t, () => ({ text: "<html>" }));
  await assert.rejects(call(client), { kind: "unavailable", message: /not Noesis/ });
});

test("without a token nothing is sent", async (t) => {
  const { apiUrl, requests } = await serve(t, () => ({ json: {} }));
  const client = createClient({ apiUrl, token: "", problem: "no token is set" });
  await assert.rejects(call(client), { kind: "refused", message: /no token is set/ });
  assert.equal(requests.length, 0);
});

test("no message of an error holds what was sent", async (t) => {
  const { client } = await clientOf(t, () => ({ status: 500, json: { detail: "the secret text" } }));
  await assert.rejects(call(client, { body: { text: "the secret text" } }), (error) => !error.message.includes("secret"));
});
