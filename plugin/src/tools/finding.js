// The tools that find memories.

import { isTrue, memoryType, optional, required, whole as wholeNumber } from "./arguments.js";
import { AGENT, CROSS_AGENT, ID, QUERY, SESSION, TYPE, limit, object } from "./schemas.js";
import { entryOf, numbered, whole } from "./showing.js";

const MOST = 200;

async function search(call, args, { path, otherwise, types = true }) {
  const type = types ? memoryType(args) : undefined;
  const body = {
    query: required(args, "query"),
    limit: wholeNumber(args, "topK", { low: 1, high: MOST, otherwise }),
    cross_agent: isTrue(args, "crossAgent"),
    ...call.ofAgent(args),
    ...(type && { memory_types: [type] }),
  };
  return call.api("POST", path, { body });
}

function found(answer, text, none) {
  const { hits } = answer;
  const note = answer.degraded ? `\n(Not everything was searched: ${answer.reason})` : "";
  const details = { count: hits.length, results: hits.map(entryOf), degraded: answer.degraded };
  return { text: (hits.length ? text(hits) : none) + note, details };
}

const searchTool = {
  name: "noesis_search",
  label: "Search memories",
  description:
    "Search what is remembered by meaning and words: decisions, preferences, facts, context, earlier sessions. " +
    "Gives the beginning of each memory with type, date, score and id; memory_get reads one whole. " +
    "When little is found, archived memories are searched too and marked.",
  parameters: object({ query: QUERY, agentId: AGENT, memoryType: TYPE, topK: limit(6), crossAgent: CROSS_AGENT }, ["query"]),
  async run(args, call) {
    const answer = await search(call, args, { path: "/api/v1/search", otherwise: call.settings.topK });
    return found(answer, (hits) => numbered(hits, { chars: 300, own: call.agent }), "No memory fits.");
  },
};

const archiveTool = {
  name: "noesis_search_archive",
  label: "Search the archive",
  description: "Search memories whose time is over. For questions about old or outdated things that noesis_search does not find.",
  parameters: object({ query: QUERY, agentId: AGENT, memoryType: TYPE, topK: limit(5) }, ["query"]),
  async run(args, call) {
    const answer = await search(call, args, { path: "/api/v1/archive/search", otherwise: 5 });
    return found(answer, (hits) => numbered(hits, { chars: 250, own: call.agent }), "No archived memory fits.");
  },
};

const slotSearch = {
  name: "memory_search",
  label: "Memory search",
  description:
    "Search memory before answering about earlier work, decisions, dates, people, preferences or open tasks. " +
    "Gives the whole text of each memory with type, date, score and id.",
  parameters: object({ query: QUERY, agentId: AGENT, topK: limit(6), crossAgent: CROSS_AGENT }, ["query"]),
  async run(args, call) {
    const options = { path: "/api/v1/search", otherwise: call.settings.topK, types: false };
    const answer = await search(call, args, options);
    return found(answer, (hits) => whole(hits, { own: call.agent }), "No memory fits.");
  },
};

async function recall(args, call) {
  const body = {
    limit: wholeNumber(args, "limit", { low: 1, high: MOST, otherwise: 20 }),
    session_id: optional(args, "sessionId") ?? null,
    ...call.ofAgent(args),
  };
  return (await call.api("POST", "/api/v1/recall", { body })).memories;
}

const listed = (memories, text) => ({
  text: memories.length ? text : "Nothing is remembered.",
  details: { count: memories.length, results: memories.map(entryOf) },
});

const RECALL = object({ agentId: AGENT, sessionId: SESSION, limit: limit(20) });

const recallTool = {
  name: "noesis_recall",
  label: "Recall the newest memories",
  description: "List the newest memories, newest first, with the beginning of each; of one session, if sessionId is given.",
  parameters: RECALL,
  async run(args, call) {
    const memories = await recall(args, call);
    return listed(memories, numbered(memories, { chars: 200, own: call.agent }));
  },
};

const slotRecall = {
  name: "memory_recall",
  label: "Memory recall",
  description: "Read the newest memories whole, newest first; of one session, if sessionId is given.",
  parameters: RECALL,
  async run(args, call) {
    const memories = await recall(args, call);
    return listed(memories, whole(memories, { own: call.agent }));
  },
};

const slotGet = {
  name: "memory_get",
  label: "Memory get",
  description: "Read one memory whole by its id.",
  parameters: object({ id: ID }, ["id"]),
  async run(args, call) {
    const id = required(args, "id").trim();
    const memory = await call.one("GET", id);
    if (memory === null) return { text: `There is no memory with the id ${id}.`, details: { found: false } };
    return { text: whole([memory], { own: call.agent }), details: { found: true, ...entryOf(memory) } };
  },
};

export const TOOLS = [searchTool, archiveTool, recallTool, slotSearch, slotGet, slotRecall];

