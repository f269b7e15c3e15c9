// Calls Noesis: every call has a deadline of its own, joined with the host's signal.

import { NoesisError, errorOf } from "./errors.js";
import { openConnections } from "./http.js";

/** Failures of a connection that was kept open and closed by the other side meanwhile. */
const STALE = new Set(["ECONNRESET", "EPIPE"]);

/**
 * A client for the API at `apiUrl`.  `call(method, path, options)` gives the decoded answer, null for an empty
 * one, and throws only NoesisError.  `options`: `agent` (a name of Noesis), `body`, `query`, `timeoutMs`, `signal`.
 */
export function createClient({ apiUrl, token, problem = null }, connections = openConnections()) {
  async function call(method, path, options) {
    if (problem !== null) throw new NoesisError("refused", `Noesis is not set up: ${problem}.`);
    const deadline = AbortSignal.timeout(options.timeoutMs);
    const signal = options.signal ? AbortSignal.any([options.signal, deadline]) : deadline;
    try {
      const answer = await send(method, path, options, signal);
      return read(answer);
    } catch (error) {
      throw error instanceof NoesisError ? error : failureOf(error, options, deadline);
    }
  }

  async function send(method, path, options, signal) {
    const url = addressOf(apiUrl, path, options.query);
    const request = { method, signal, ...content(token, options) };
    try {
      return await connections.send(url, request);
    } catch (error) {
      if (!STALE.has(error?.code) || signal.aborted) throw error;
      return connections.send(url, request);
    }
  }

  return { call, close: connections.close };
}

function addressOf(apiUrl, path, query = {}) {
  const url = new URL(apiUrl + path);
  for (const [name, value] of Object.entries(query)) {
    if (value !== undefined && value !== null) url.searchParams.set(name, String(value));
  }
  return url;
}

function content(token, { agent, body }) {
  const headers = { authorization: `Bearer ${token}`, accept: "application/json" };
  if (agent) headers["x-noesis-agent"] = agent;
  if (body === undefined) return { headers };
  const text = JSON.stringify(body);
  headers["content-type"] = "application/json";
  headers["content-length"] = Buffer.byteLength(text);
  return { headers, body: text };
}

function read({ status, text }) {
  if (status >= 200 && status < 300) return decode(text, status);
  throw errorOf(status, quietly(text));
}

function decode(text, status) {
  if (!text) return null;
  const value = quietly(text);
  if (value === null) throw new NoesisError("unavailable", `Something that is not Noesis answered (${status}).`);
  return value;
}

function quietly(text) {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

function failureOf(error, { signal, timeoutMs }, deadline) {
  if (signal?.aborted) return new NoesisError("aborted", "The call was given up.", { cause: error });
  if (deadline.aborted) {
    const about = { code: "timeout", cause: error };
    return new NoesisError("unavailable", `Noesis did not answer within ${timeoutMs} ms.`, about);
  }
  const why = error?.code ?? error?.message ?? "no connection";
  return new NoesisError("unavailable", `Noesis cannot be reached (${why}).`, { cause: error });
}
