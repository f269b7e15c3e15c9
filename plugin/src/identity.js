// Whose turn it is: the host's agent under the name that Noesis knows it by.

import { createHash } from "node:crypto";

const PLAIN = /^[a-z0-9][a-z0-9_-]{0,63}$/;
const MAX_CHARS = 64;

/**
 * The agent that the host's `hostId` is in Noesis.  A valid name stays; any other is written out in full behind
 * `x--` (`_` and two hex digits for a byte that is no lower-case letter, digit or hyphen, `__` after a
 * profile), or hashed behind `h--` where that is too long.  The server's own readers of OpenClaw's files
 * name agents by the same rule, so that both mean the same agent.
 */
export function agentName(hostId, profile = null) {
  const isTaken = hostId.startsWith("x--") || hostId.startsWith("h--");
  if (!profile && !isTaken && PLAIN.test(hostId)) return hostId;
  const written = (profile ? [profile, hostId] : [hostId]).map(escape).join("__");
  const name = `x--${written}`;
  if (name.length <= MAX_CHARS) return name;
  return `h--${createHash("sha256").update(written).digest("hex").slice(0, 60)}`;
}

/** The host's agent id of a call, from the first place that names it; null when none does. */
export function hostAgentOf({ agentId, sessionKey, agentDir } = {}) {
  if (typeof agentId === "string" && agentId.trim()) return agentId.trim();
  const key = typeof sessionKey === "string" ? /^agent:([^:]+):/.exec(sessionKey) : null;
  if (key) return key[1];
  const dir = typeof agentDir === "string" ? /[\\/]agents[\\/]([^\\/]+)[\\/]agent[\\/]?$/.exec(agentDir) : null;
  return dir ? dir[1] : null;
}

/** Whether a conversation is one that the host keeps off the disk, by the mark in its session's key. */
export function isIncognito(sessionKey) {
  return typeof sessionKey === "string" && /^agent:[^:]+:[^:]+:incognito-/.test(sessionKey);
}

/** The profile that OpenClaw runs under, null for none: as it was named, or as its state folder is called. */
export function profileOf(named, stateDir) {
  const profile = (named ?? "").trim();
  if (profile) return profile.toLowerCase() === "default" ? null : profile;
  const folder = /[\\/]\.openclaw-([^\\/]+)[\\/]?$/.exec(stateDir ?? "");
  return folder ? folder[1] : null;
}

function escape(text) {
  return Array.from(Buffer.from(text, "utf8"), (byte) => {
    const char = String.fromCharCode(byte);
    return /[a-z0-9-]/.test(char) ? char : `_${byte.toString(16).padStart(2, "0")}`;
  }).join("");
}
