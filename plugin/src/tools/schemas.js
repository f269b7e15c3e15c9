// The parameters of the tools as JSON schemas.

import { MEMORY_TYPES } from "./arguments.js";

const text = (description) => ({ type: "string", description });
const number = (description, bounds = {}) => ({ type: "number", description, ...bounds });

export const ID = text("The memory's id, as search, recall and index show it");
export const QUERY = text("What to look for, in plain words; a whole question finds more than one word");
export const AGENT = text("Only memories of this agent; default: your own. Another agent's need permission");
export const CROSS_AGENT = { type: "boolean", description: "Search all agents' memories, if that is allowed (default false)" };
export const SESSION = text("Only memories of this session");
export const TYPE = { type: "string", enum: MEMORY_TYPES, description: "Only memories of this type" };
export const PRIORITY = number("0 to 100; from 75 on it is shown in every prompt", { minimum: 0, maximum: 100 });
export const TTL = number("Days until it is archived; 0 = never", { minimum: 0 });
export const limit = (otherwise) => number(`How many at most (default ${otherwise})`, { minimum: 1 });

/** The fields of a memory that is stored. */
export const NEW_MEMORY = {
  content: text("What to remember, in a sentence or more that makes sense on its own"),
  agentId: text("Leave it out: memories are stored as your own"),
  sessionId: text("The session it belongs to; default: this one"),
  tags: { type: "array", items: { type: "string" }, description: "Words to group by" },
  memoryType: {
    type: "string",
    enum: MEMORY_TYPES,
    description: "decision (was decided), preference (how things should be done), context (project or situation), fact (default), session (summary)",
  },
  priority: { ...PRIORITY, description: `${PRIORITY.description}; default by type: decision 85, preference 80, context 60, fact 30, session 20` },
  ttlDays: TTL,
};

/** An object of these properties, of which `required` have to be there. */
export function object(properties, required = []) {
  return { type: "object", properties, ...(required.length && { required }), additionalProperties: false };
}

export { number, text };
