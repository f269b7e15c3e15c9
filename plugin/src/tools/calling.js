// What a tool may use while it runs: the API as the calling agent, and jobs that it waits for.

import { setTimeout as sleep } from "node:timers/promises";

import { NoesisError } from "../errors.js";
import { agentName } from "../identity.js";
import { optional } from "./arguments.js";

const PROBE_TIMEOUT_MS = 500;
const POLL_MS = 250;
const ENDED = new Set(["succeeded", "failed", "cancelled"]);
const NOBODY = new Set(["unknown", "self", "me"]);

/**
 * The call of one tool.  `agent` and `session` come from the host and never from the model; an agent that the
 * model names is a filter, which the server allows or refuses.
 */
export function toolCall({ agent, session, profile, settings, client, breaker, delivery, signal }) {
  async function api(method, path, options = {}) {
    await mustBeThere();
    try {
      const answer = await client.call(method, path, { timeoutMs: settings.toolTimeoutMs, ...options, agent, signal });
      breaker.succeeded();
      return answer;
    } catch (error) {
      breaker.failed(error);
      throw error;
    }
  }

  /** While Noesis is away a tool looks for half a second whether it is back, and does not wait for its deadline. */
  async function mustBeThere() {
    if (breaker.since === null || (await delivery.probe({ timeoutMs: PROBE_TIMEOUT_MS, signal }))) return;
    throw new NoesisError("unavailable", "Noesis cannot be reached now; memories are back when it is.");
  }

  /** One memory by its id; null when this agent has none with it. */
  async function one(method, id, body) {
    try {
      return await api(method, `/api/v1/memories/${encodeURIComponent(id)}`, { body });
    } catch (error) {
      if (error.status === 404) return null;
      throw error;
    }
  }

  /** Wait for a job as long as a tool may; what it is then, whether or not it has ended. */
  async function job(path) {
    const until = Date.now() + settings.jobWaitMs;
    let found = await api("GET", path);
    while (!ENDED.has(found.state) && Date.now() < until) {
      await sleep(POLL_MS, undefined, { signal, ref: false });
      found = await api("GET", path);
    }
    if (found.state === "failed") throw new NoesisError("rejected", `The job failed: ${found.error}`);
    if (found.state === "cancelled") throw new NoesisError("rejected", "The job was cancelled.");
    return found;
  }

  /** The agent that the model names, in Noesis' words; null for the calling one. */
  function named(args) {
    const given = optional(args, "agentId")?.trim().toLowerCase();
    if (given === undefined || NOBODY.has(given) || given === agent) return null;
    const name = agentName(given, profile);
    return name === agent ? null : name;
  }

  const filter = (args) => {
    const name = named(args);
    return name === null ? {} : { agent_id: name };
  };

  return { agent, session, settings, api, one, job, named, ofAgent: filter, asAgent: filter };
}
