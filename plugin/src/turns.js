// Turns as the host has them, and as Noesis takes them: what people and agents said, without tool output.

import { createHash } from "node:crypto";

const SPOKEN = new Set(["user", "assistant"]);
const LONGEST_ID = 512;

/**
 * The spool's entry for an accepted turn of `commitTurn`, null when nothing in it can be a memory.  The first
 * and the last message carry the host's own entry ids, by which Noesis knows them again in a transcript.
 */
export function acceptedTurn(agent, params) {
  const { admission, terminal, isHeartbeat } = params;
  if (isHeartbeat) return null;
  const messages = spoken(params.messages);
  if (messages.length === 0) return null;
  const user = messages.find((message) => message.role === "user");
  if (user) Object.assign(user, anchorOf(admission));
  const last = messages.at(-1);
  if (last.role === "assistant") Object.assign(last, anchorOf(terminal));
  return entryOf(agent, params.sessionId, String(params.advancementKey), messages);
}

/**
 * The same for `afterTurn` of hosts before 2026.8, which hand over the whole session and no key: the key is
 * made of the new messages, so that the same turn told twice has the same one.
 */
export function endedTurn(agent, { sessionId, messages, prePromptMessageCount, isHeartbeat }) {
  if (isHeartbeat) return null;
  const fresh = messages.slice(Math.max(0, prePromptMessageCount ?? 0));
  const said = spoken(fresh);
  if (said.length === 0) return null;
  const told = JSON.stringify(said.map(({ role, content, timestamp }) => [role, content, timestamp ?? null]));
  return entryOf(agent, sessionId, createHash("sha256").update(`${sessionId}\n${told}`).digest("hex"), said);
}

function entryOf(agent, sessionId, key, messages) {
  const body = { session_id: sessionId, advancement_key: shortened(key), messages };
  return { agent, body };
}

const shortened = (key) =>
  key.length <= LONGEST_ID ? key : createHash("sha256").update(key).digest("hex");

function spoken(messages) {
  return (Array.isArray(messages) ? messages : []).map(saidIn).filter((message) => message !== null);
}

function saidIn(message) {
  const text = SPOKEN.has(message?.role) ? textOf(message.content) : "";
  if (!text.trim()) return null;
  const said = { role: message.role, content: text };
  if (isTime(message.timestamp)) said.timestamp = message.timestamp;
  const author = authorOf(message);
  if (author) said.author = author;
  if (message.provenance?.kind) said.provenance = provenanceOf(message.provenance);
  return said;
}

const isTime = (value) => typeof value === "string" || Number.isFinite(value);

/** The text of a message's content, which is a string or blocks. */
export function textOf(content) {
  if (typeof content === "string") return content;
  if (!Array.isArray(content)) return "";
  const texts = content.map((block) => (typeof block === "string" ? block : block?.type === "text" ? block.text : ""));
  return texts.filter(Boolean).join("\n");
}

function provenanceOf(provenance) {
  const kept = {};
  for (const name of ["kind", "sourceTool", "sourceSessionKey"]) {
    if (typeof provenance[name] === "string") kept[name] = provenance[name];
  }
  return kept;
}

function authorOf(message) {
  const places = [message, message.provenance, message.__openclaw];
  for (const place of places) {
    const name = place?.senderName ?? (typeof place?.sender === "string" ? place.sender : place?.sender?.name);
    if (message.role === "user" && typeof name === "string" && name.trim()) return name.slice(0, LONGEST_ID);
  }
  return null;
}

function anchorOf(anchor) {
  const found = {};
  if (typeof anchor?.entryId === "string") found.entry_id = anchor.entryId.slice(0, LONGEST_ID);
  if (Number.isSafeInteger(anchor?.rawSeq)) found.seq = anchor.rawSeq;
  return found;
}
