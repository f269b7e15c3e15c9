// One HTTP exchange with JSON in and out, ended by a signal.

import http from "node:http";
import https from "node:https";

import { NoesisError } from "./errors.js";

const LARGEST_ANSWER = 32 * 1024 * 1024;

/** Connections that are kept open between calls; an idle one keeps no process alive. */
export function openConnections() {
  const options = { keepAlive: true, maxSockets: 16 };
  const agents = { "http:": new http.Agent(options), "https:": new https.Agent(options) };
  return {
    // Not `fetch`: a proxy that the host set for everything would stand between it and its own machine.
    send: (url, request) => exchange(url, request, agents),
    close: () => Object.values(agents).forEach((agent) => agent.destroy()),
  };
}

/** Send `{method, headers, body, signal}` and give `{status, text}`.  Rejects with the system's own errors. */
function exchange(url, { method, headers, body, signal }, agents) {
  const { request } = url.protocol === "https:" ? https : http;
  return new Promise((resolve, reject) => {
    const sent = request(url, { method, headers, signal, agent: agents[url.protocol] }, (answer) => {
      collect(answer).then((text) => resolve({ status: answer.statusCode, text }), reject);
    });
    sent.on("error", reject);
    sent.end(body);
  });
}

async function collect(answer) {
  const pieces = [];
  let size = 0;
  for await (const piece of answer) {
    size += piece.length;
    if (size > LARGEST_ANSWER) throw new NoesisError("rejected", "The answer is larger than 32 MB.");
    pieces.push(piece);
  }
  return Buffer.concat(pieces).toString("utf8");
}
