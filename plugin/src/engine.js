// The context engine: memories into the prompt, accepted turns out to Noesis.  It never throws into a reply.

import { agentName, hostAgentOf, isIncognito } from "./identity.js";
import { acceptedTurn, endedTurn, textOf } from "./turns.js";

const CHARS_PER_TOKEN = 4;
const OTHER_BLOCK_CHARS = 400;
/** What the server keeps back of the deadline for the way there and back, in ms. */
const WAY_MS = 200;

/**
 * A factory of engines for `api.registerContextEngine`.  The host builds an engine for each turn; what lasts
 * (`client`, `breaker`, `delivery`) is given.  `host` holds the host's own functions: `compact`, and
 * `memoryPrompt`, which is null where the host has none.
 */
export function engineFactory({ settings, client, breaker, delivery, host, profile, version }) {
  const isOn = settings.contextEngineEnabled && settings.problem === null;

  return (context = {}) => {
    const agentOf = (params) => {
      const hostId = hostAgentOf({
        agentId: params.sessionTarget?.agentId ?? params.agentId,
        sessionKey: params.sessionKey,
        agentDir: context.agentDir,
      });
      return hostId === null ? null : agentName(hostId, profile());
    };
    // A turn with tools asks before each call of the model: the same prompt gets the same block.
    const asked = new Map();
    let isHandedOver = false;

    async function assemble(params) {
      const prompt = textOf(params.prompt ?? "");
      const key = `${params.sessionId}\n${prompt}`;
      if (!asked.has(key)) asked.set(key, recall(agentOf(params), prompt, params));
      const recalled = await asked.get(key);
      const addition = [memoryPrompt(params), recalled].filter(Boolean).join("\n\n");
      const estimatedTokens = Math.ceil((lengthOf(params.messages) + addition.length) / CHARS_PER_TOKEN);
      return { messages: params.messages, estimatedTokens, ...(addition && { systemPromptAddition: addition }) };
    }

    async function recall(agent, prompt, { sessionId, sessionKey, tokenBudget }) {
      if (!isOn || agent === null || !breaker.allows()) return "";
      const timeoutMs = settings.assembleTimeoutMs;
      const budget = Math.min(settings.assembleMaxTokens, Math.floor((tokenBudget ?? Infinity) / 10));
      const body = {
        // What is said in private stays here: such a prompt gets the standing memories only.
        ...(!isIncognito(sessionKey) && { prompt, session_id: sessionId }),
        token_budget: Math.max(budget, 1),
        deadline_ms: Math.max(timeoutMs - WAY_MS, 50),
      };
      try {
        const answer = await client.call("POST", "/api/v1/context/assemble", { agent, body, timeoutMs });
        breaker.succeeded();
        return typeof answer?.text === "string" ? answer.text : "";
      } catch (error) {
        breaker.failed(error);
        return "";
      }
    }

    function memoryPrompt({ availableTools, citationsMode, sessionKey }) {
      if (host.memoryPrompt === null) return "";
      const tools = availableTools ?? new Set();
      return host.memoryPrompt({ availableTools: tools, citationsMode, agentSessionKey: sessionKey }) ?? "";
    }

    async function handOver(params, entryOf) {
      const agent = agentOf(params);
      isHandedOver = true;
      if (!isOn || agent === null || isIncognito(params.sessionKey)) return;
      const turn = entryOf(agent, params);
      if (turn !== null) await delivery.take(turn);
    }

    return {
      info: {
        id: "noesis",
        name: "Noesis",
        version,
        ownsCompaction: false,
        transcriptSemantics: {
          currentTurnFence: "before-current-turn-entry-v1",
          turnAdvancementIdempotency: "atomic-idempotent-v1",
        },
      },
      assemble,
      // The host keeps the transcript; turns come whole through commitTurn or afterTurn.
      ingest: async () => ({ ingested: false }),
      compact: (params) => host.compact(params),
      async commitTurn(params) {
        await handOver(params, acceptedTurn);
        return { status: "committed" };
      },
      async afterTurn(params) {
        if (!isHandedOver) await handOver(params, endedTurn).catch(() => {});
      },
      dispose: async () => asked.clear(),
    };
  };
}

function lengthOf(messages) {
  let chars = 0;
  for (const { content } of messages) {
    if (typeof content === "string") chars += content.length;
    else if (Array.isArray(content)) for (const block of content) chars += sizeOf(block);
  }
  return chars;
}

function sizeOf(block) {
  if (typeof block === "string") return block.length;
  const text = block?.text ?? block?.thinking ?? block?.content;
  if (typeof text === "string") return text.length;
  return block?.arguments ? JSON.stringify(block.arguments).length : OTHER_BLOCK_CHARS;
}
