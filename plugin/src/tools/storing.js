// The tools that store, change and delete memories.

import { days, list, memoryType, optional, required, whole } from "./arguments.js";
import { ID, NEW_MEMORY, PRIORITY, TTL, object, text } from "./schemas.js";
import { counted, entryOf } from "./showing.js";

async function index(args, call, { session }) {
  const type = memoryType(args) ?? "fact";
  const ttl = days(args) ?? call.settings.defaultTtlDays;
  const priority = whole(args, "priority", { low: 0, high: 100, otherwise: undefined });
  const body = {
    text: required(args, "content"),
    memory_type: type,
    tags: list(args, "tags"),
    session_id: optional(args, "sessionId") ?? call.session ?? session,
    ...call.asAgent(args),
    ...(priority !== undefined && { priority }),
    ...(ttl !== undefined && { ttl_days: ttl }),
    ...(optional(args, "sourcePath") && { source: optional(args, "sourcePath") }),
  };
  const answer = await call.api("POST", "/api/v1/memories", { body });
  return { answer, type };
}

function indexed({ answer, type }) {
  const { id, chunks, duplicate } = answer;
  const text = duplicate
    ? `That is remembered already (id ${id}).`
    : `Indexed ${counted(chunks, "chunk", "chunks")} as a ${type} (id ${id}).`;
  return { text, details: { inserted: duplicate ? 0 : chunks, chunks, id, duplicate } };
}

const indexTool = {
  name: "noesis_index",
  label: "Store a memory",
  description:
    "Store a memory for good: something that was decided, preferred or found out and will matter in later conversations. " +
    "The same text is stored once.",
  parameters: object(
    { ...NEW_MEMORY, sourcePath: text("The file or address it comes from") },
    ["content"],
  ),
  run: async (args, call) => indexed(await index(args, call, { session: "manual" })),
};

const slotIndex = {
  name: "memory_index",
  label: "Memory index",
  description: "Store a text in memory, so that memory_search finds it later.",
  parameters: object(NEW_MEMORY, ["content"]),
  run: async (args, call) => indexed(await index(args, call, { session: "auto" })),
};

const missing = (id) => ({ text: `There is no memory with the id ${id}: not found.`, details: { found: false } });

const deleteTool = {
  name: "noesis_delete",
  label: "Delete a memory",
  description: "Delete one memory by its id, when it is wrong or the user wants it forgotten.",
  parameters: object({ id: ID }, ["id"]),
  async run(args, call) {
    const id = required(args, "id").trim();
    const memory = await call.one("DELETE", id);
    return memory === null ? missing(id) : { text: `Deleted the memory ${id}.`, details: { found: true, id } };
  },
};

const priorityTool = {
  name: "noesis_set_priority",
  label: "Set a memory's priority",
  description: "Set how important a memory is, and with ttlDays how long it lives.",
  parameters: object({ id: ID, priority: PRIORITY, ttlDays: TTL }, ["id", "priority"]),
  async run(args, call) {
    const id = required(args, "id").trim();
    const priority = whole(args, "priority", { low: 0, high: 100, otherwise: undefined });
    if (priority === undefined) return { text: "Error: priority is required.", details: {} };
    const ttl = days(args);
    const memory = await call.one("PATCH", id, { priority, ...(ttl !== undefined && { ttl_days: ttl }) });
    if (memory === null) return missing(id);
    const until = memory.expires_at === null ? "never expires" : `expires ${memory.expires_at.slice(0, 10)}`;
    const { priority: set, expiresAt } = entryOf(memory);
    return { text: `Updated ${id}: priority ${set}, ${until}.`, details: { found: true, id, priority: set, expiresAt } };
  },
};

export const TOOLS = [indexTool, slotIndex, deleteTool, priorityTool];
