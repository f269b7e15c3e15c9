// What the tests share: a server that answers as told, a log that is read, folders that go away.

import { mkdtemp, rm } from "node:fs/promises";
import http from "node:http";
import os from "node:os";
import path from "node:path";

/** A logger that keeps what it is told. */
export function keepLog() {
  const lines = [];
  const take = (level) => (text) => lines.push(`${level}: ${text}`);
  return { lines, debug: take("debug"), info: take("info"), warn: take("warn"), error: take("error") };
}

/** A server on loopback; `answer(request)` gives `{status, json}`, `{status, text}`, or null to stay silent. */
export async function serve(t, answer) {
  const requests = [];
  const server = http.createServer(async (request, response) => {
    let text = "";
    for await (const piece of request) text += piece;
    const { method, url, headers } = request;
    const seen = { method, url, headers, body: text ? JSON.parse(text) : undefined };
    requests.push(seen);
    const given = await answer(seen, requests.length);
    if (given === null) return;
    response.writeHead(given.status ?? 200, { "content-type": "application/json" });
    response.end(given.text ?? (given.json === undefined ? "" : JSON.stringify(given.json)));
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  const stop = () => {
    server.closeAllConnections();
    return new Promise((resolve) => server.close(resolve));
  };
  t.after(stop);
  return { apiUrl: `http://127.0.0.1:${server.address().port}`, requests, stop };
}

/** A folder that is deleted at the end of the test. */
export async function folder(t) {
  const place = await mkdtemp(path.join(os.tmpdir(), "noesis-plugin-"));
  t.after(() => rm(place, { recursive: true, force: true }));
  return place;
}

/** A memory as the API gives it. */
export function memory(values = {}) {
  return {
    id: "11111111-1111-5111-8111-111111111111",
    agent_id: "main",
    session_id: "s1",
    memory_type: "decision",
    text: "We decided to host the wiki on port 8085.",
    priority: 85,
    tags: [],
    source: null,
    created_at: "2026-11-29T10:00:00Z",
    expires_at: "2027-02-27T10:00:00Z",
    archived: false,
    ...values,
  };
}

/** A turn as the host accepts it. */
export function acceptedTurn(values = {}) {
  return {
    advancementKey: "key-1",
    admission: { entryId: "entry-1", rawSeq: 4 },
    terminal: { entryId: "entry-2", rawSeq: 7 },
    sessionId: "session-1",
    sessionKey: "agent:main:talk",
    sessionTarget: { agentId: "main" },
    messages: [
      { role: "user", content: "We decided to host the wiki on port 8085.", timestamp: 1_780_000_000_000 },
      { role: "assistant", content: [{ type: "text", text: "Good." }], timestamp: 1_780_000_001_000 },
    ],
    ...values,
  };
}
