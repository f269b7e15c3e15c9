import assert from "node:assert/strict";
import test from "node:test";

import { acceptedTurn as entryOf, endedTurn } from "../src/turns.js";
import { acceptedTurn } from "./helpers.js";

test("a turn keeps what was said, with the host's ids on its first and last message", () => {
  const tools = [
    { role: "assistant", content: [{ type: "text", text: "Let me look." }, { type: "toolCall", id: "c", name: "x", arguments: {} }] },
    { role: "toolResult", toolCallId: "c", content: [{ type: "text", text: "400 lines" }] },
  ];
  const [user, last] = acceptedTurn().messages;
  const { agent, body } = entryOf("main", acceptedTurn({ messages: [user, ...tools, last] }));
  assert.deepEqual([agent, body.session_id, body.advancement_key], ["main", "session-1", "key-1"]);
  assert.deepEqual(
    body.messages.map(({ role, content, entry_id: id, seq }) => [role, content, id, seq]),
    [
      ["user", "We decided to host the wiki on port 8085.", "entry-1", 4],
      ["assistant", "Let me look.", undefined, undefined],
      ["assistant", "Good.", "entry-2", 7],
    ],
  );
});

test("heartbeats and turns without a word are nothing", () => {
  assert.equal(entryOf("main", acceptedTurn({ isHeartbeat: true })), null);
  assert.equal(entryOf("main", acceptedTurn({ messages: [{ role: "user", content: [{ type: "image" }] }] })), null);
  assert.equal(entryOf("main", acceptedTurn({ messages: undefined })), null);
});

test("who spoke and what the host put in are told", () => {
  const messages = [
    { role: "user", content: "hello there", __openclaw: { senderName: "Ada" } },
    { role: "user", content: "poll", provenance: { kind: "internal_system", sourceTool: "heartbeat", more: 1 } },
  ];
  const { body } = entryOf("main", acceptedTurn({ messages }));
  assert.equal(body.messages[0].author, "Ada");
  assert.deepEqual(body.messages[1].provenance, { kind: "internal_system", sourceTool: "heartbeat" });
});

test("of an older host's session only the new messages are taken, under a key that repeats", () => {
  const old = { role: "user", content: "an earlier word" };
  const params = { sessionId: "s", messages: [old, ...acceptedTurn().messages], prePromptMessageCount: 1 };
  const { body } = endedTurn("main", params);
  assert.equal(body.messages.length, 2);
  assert.equal(endedTurn("main", params).body.advancement_key, body.advancement_key);
  const other = endedTurn("main", { ...params, prePromptMessageCount: 2 });
  assert.notEqual(other.body.advancement_key, body.advancement_key);
  assert.equal(endedTurn("main", { ...params, isHeartbeat: true }), null);
});

test("a key longer than the server takes is hashed", () => {
  const { body } = entryOf("main", acceptedTurn({ advancementKey: "k".repeat(600) }));
  assert.match(body.advancement_key, /^[0-9a-f]{64}$/);
});
