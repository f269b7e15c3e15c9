// Reads what a model gave a tool: numbers may come as words, and what is missing is said in a sentence.

export const MEMORY_TYPES = ["fact", "decision", "preference", "context", "session"];

/** An argument that the model has to mend; the message is the tool's answer. */
export class WrongArgument extends Error {}

/** A text that has to be there. */
export function required(args, name) {
  const value = optional(args, name);
  if (value === undefined) throw new WrongArgument(`${name} is required.`);
  return value;
}

/** A text, undefined when it is missing or blank. */
export function optional(args, name) {
  const value = args[name];
  if (value === undefined || value === null) return undefined;
  if (typeof value !== "string" && typeof value !== "number") throw new WrongArgument(`${name} is to be a text.`);
  return String(value).trim() ? String(value) : undefined;
}

/** A number between `low` and `high`, to which it is drawn; `otherwise` when it is missing. */
export function number(args, name, { low, high, otherwise }) {
  const value = args[name];
  if (value === undefined || value === null || value === "") return otherwise;
  const found = typeof value === "string" ? Number(value) : value;
  if (typeof found !== "number" || !Number.isFinite(found)) throw new WrongArgument(`${name} is to be a number.`);
  return Math.min(Math.max(found, low), high);
}

/** The same for whole numbers. */
export function whole(args, name, bounds) {
  const found = number(args, name, bounds);
  return found === undefined ? undefined : Math.round(found);
}

/** A life in days; 0 means for ever, undefined that nothing was said. */
export function days(args) {
  const found = number(args, "ttlDays", { low: -1, high: 36_500, otherwise: undefined });
  if (found !== undefined && found < 0) throw new WrongArgument("ttlDays is 0 (never expires) or more.");
  return found;
}

/** One of the memory types, undefined when it is missing. */
export function memoryType(args) {
  const given = optional(args, "memoryType")?.trim().toLowerCase();
  if (given === undefined || MEMORY_TYPES.includes(given)) return given;
  throw new WrongArgument(`memoryType is one of ${MEMORY_TYPES.join(", ")}.`);
}

export const isTrue = (args, name) => args[name] === true || args[name] === "true";

/** A list of texts; one text alone is a list of what stands between its commas. */
export function list(args, name) {
  const value = args[name] ?? [];
  const items = typeof value === "string" ? value.split(",") : value;
  if (!Array.isArray(items)) throw new WrongArgument(`${name} is to be a list.`);
  return items.map((item) => String(item).trim()).filter(Boolean);
}
