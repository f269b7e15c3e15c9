// The tools that keep the memory in order: import, figures, cleanup, duplicates, export, backup.

import { WrongArgument, isTrue, memoryType, number as numeric, optional, required, whole } from "./arguments.js";
import { AGENT, TYPE, limit, number, object, text } from "./schemas.js";
import { counted, shortened } from "./showing.js";

/** An answer of a tool goes into the prompt: so many characters of an export are in it, whole entries only. */
const EXPORT_CHARS = 100_000;

const underway = (job, what) => ({
  text: `${what} goes on in the background (job ${job.id}, ${job.state}).`,
  details: { jobId: job.id, state: job.state },
});

const isOver = (job) => job.state === "succeeded";

const importTool = {
  name: "noesis_import",
  label: "Import memory files",
  description: "Read the memory files and transcripts of one agent, or of all agents if agentId is left out, into memory now.",
  parameters: object({ agentId: text("Only this agent's files; default: all agents'") }),
  async run(args, call) {
    const agentId = optional(args, "agentId") === undefined ? null : (call.named(args) ?? call.agent);
    const body = { openclaw: agentId ?? true, apply: true };
    const { job_id: id } = await call.api("POST", "/api/v1/imports", { body });
    const job = await call.job(`/api/v1/imports/${id}`);
    if (!isOver(job)) return underway(job, "The import");
    const { indexed = 0, changed = 0, skipped = 0, duplicates = 0, errors = 0 } = job.result ?? {};
    return {
      text: `Import complete: ${indexed} indexed, ${changed} changed, ${skipped + duplicates} skipped, ${errors} errors.`,
      details: { indexed, changed, skipped: skipped + duplicates, errors, agentId, jobId: id },
    };
  },
};

const statsTool = {
  name: "noesis_stats",
  label: "Memory statistics",
  description: "Count what is remembered: by type, by priority, and in the archive.",
  parameters: object({}),
  async run(args, call) {
    const { active, archive, embedder } = await call.api("GET", "/api/v1/stats");
    const model = embedder === null ? "none yet" : embedder.model;
    const lines = [
      `Memories: ${active.memories} active, ${archive.memories} archived`,
      `By type: ${listed(active.by_type)}`,
      `By priority: ${listed(active.by_priority)}`,
      `Archive by type: ${listed(archive.by_type)}`,
      `Vectors: ${listed(active.by_embedding_state)} (model ${model})`,
    ];
    return { text: lines.join("\n"), details: statsOf(active, archive, model) };
  },
};

function statsOf(active, archive, embeddingModel) {
  return {
    totalEntries: active.memories,
    byAgent: active.by_agent,
    byMemoryType: active.by_type,
    byPriority: active.by_priority,
    archiveEntries: archive.memories,
    byAgentArchive: archive.by_agent,
    byMemoryTypeArchive: archive.by_type,
    embeddingModel,
  };
}

function listed(counts) {
  const parts = Object.entries(counts).map(([name, count]) => `${name} ${count}`);
  return parts.length ? parts.join(", ") : "none";
}

const cleanupTool = {
  name: "noesis_cleanup",
  label: "Archive what expired",
  description: "Move every memory whose time is over to the archive now, instead of at the next turn of the schedule.",
  parameters: object({}),
  async run(args, call) {
    const { job_id: id } = await call.api("POST", "/api/v1/cleanup", { body: {} });
    const job = await call.job(`/api/v1/jobs/${id}`);
    if (!isOver(job)) return underway(job, "The cleanup");
    const archived = job.result?.archived ?? 0;
    return { text: `Archived ${counted(archived)}.`, details: { archived, jobId: id } };
  },
};

const dedupTool = {
  name: "noesis_dedup",
  label: "Find near-duplicates",
  description: "Report pairs of memories that say nearly the same. Nothing is changed: delete or correct what is too much.",
  parameters: object({
    threshold: number("How alike they have to be (default 0.9)", { minimum: 0.7, maximum: 0.99 }),
    agentId: AGENT,
    memoryType: TYPE,
    limit: { ...limit(50), maximum: 200 },
  }),
  async run(args, call) {
    const type = memoryType(args);
    const threshold = numeric(args, "threshold", { low: 0.7, high: 0.99, otherwise: 0.9 });
    const most = whole(args, "limit", { low: 1, high: 200, otherwise: 50 });
    const body = { threshold, ...call.ofAgent(args), ...(type && { memory_type: type }) };
    const { job_id: id } = await call.api("POST", "/api/v1/dedup", { body });
    const job = await call.job(`/api/v1/jobs/${id}`);
    if (!isOver(job)) return underway(job, "The search for duplicates");
    const { findings } = await call.api("GET", "/api/v1/dedup", { query: { limit: most } });
    return duplicates(findings, job.result?.reports ?? [], threshold);
  },
};

function duplicates(findings, reports, threshold) {
  const checked = reports.reduce((sum, report) => sum + report.checked, 0);
  const lines = findings.map(({ kind, similarity, members }) => {
    const texts = members.map(({ memory, keep }) => `   ${keep ? "keep " : "other"} ${memory.id} ${shortened(memory.text, 150)}`);
    return [`- ${kind}, alike ${similarity.toFixed(3)}:`, ...texts].join("\n");
  });
  const none = `Of ${counted(checked)} none say the same.`;
  return {
    text: lines.length ? [`${counted(lines.length, "group", "groups")} in ${counted(checked)}:`, ...lines].join("\n") : none,
    details: { checked, duplicates: findings.length, threshold, pairs: findings.map(pairOf) },
  };
}

function pairOf({ id, kind, similarity, members }) {
  return { id, kind, similarity, ids: members.map(({ memory }) => memory.id), keep: members.find(({ keep }) => keep)?.memory.id };
}

const exportTool = {
  name: "noesis_export",
  label: "Export memories",
  description: "Give all active memories as a JSON array, of one type if memoryType is given. Long: prefer noesis_search to answer a question.",
  parameters: object({
    agentId: AGENT,
    memoryType: TYPE,
    includeExpired: { type: "boolean", description: "Archived memories as well (default false)" },
  }),
  async run(args, call) {
    const entries = await exported(args, call);
    const { rows, omitted } = within(entries.map((entry) => JSON.stringify(entry)), EXPORT_CHARS);
    const note = omitted ? `\n(${counted(omitted)} more; \`noesis export\` gives the whole file.)` : "";
    return { text: `[${rows.join(",\n")}]${note}`, details: { count: rows.length, total: entries.length } };
  },
};

function exported(args, call) {
  const query = {
    format: "json",
    memory_type: memoryType(args),
    archive: isTrue(args, "includeExpired") ? "both" : "none",
    ...call.ofAgent(args),
  };
  return call.api("GET", "/api/v1/export", { query });
}

function within(entries, chars) {
  let room = chars;
  const rows = entries.filter((entry) => (room -= entry.length) >= 0);
  return { rows, omitted: entries.length - rows.length };
}

const backupTool = {
  name: "noesis_backup",
  label: "Back up the memory",
  description:
    "Make a backup of the whole memory now (action create, the default), list the backups there are (list), or check one (verify). " +
    "A person restores one on Noesis' own pages or with `noesis restore`.",
  parameters: object({
    action: { type: "string", enum: ["create", "list", "verify"], description: "Default create" },
    name: text("The backup to verify, as list shows it"),
  }),
  async run(args, call) {
    const action = optional(args, "action") ?? "create";
    if (action === "list") return listedBackups(await call.api("GET", "/api/v1/backups"));
    if (action === "verify") return verified(required(args, "name").trim(), call);
    if (action === "create") return backedUp(call);
    throw new WrongArgument("action is one of create, list, verify.");
  },
};

/** What an agent is told of a backup: how much of other agents' is in it is not its business. */
const backupOf = ({ name, created_at: createdAt, size, verified_at: verifiedAt }) => ({ name, createdAt, size, verifiedAt });

function listedBackups({ backups }) {
  const found = backups.map(backupOf);
  const lines = found.map(({ name, createdAt, size, verifiedAt }) => {
    return `- ${name} · ${createdAt.slice(0, 16)} · ${(size / 2 ** 20).toFixed(1)} MB · ${verifiedAt === null ? "not verified since" : `verified ${verifiedAt.slice(0, 16)}`}`;
  });
  return {
    text: lines.length ? lines.join("\n") : "There is no backup yet.",
    details: { count: found.length, backups: found },
  };
}

async function backedUp(call) {
  const { job_id: id } = await call.api("POST", "/api/v1/backups", { body: {} });
  const job = await call.job(`/api/v1/jobs/${id}`);
  if (!isOver(job)) return underway(job, "The backup");
  const name = job.result?.name ?? null;
  return { text: `Backed up${name === null ? "" : ` as ${name}`}, and verified.`, details: { name, jobId: id } };
}

async function verified(name, call) {
  const path = `/api/v1/backups/${encodeURIComponent(name)}/verify`;
  const { job_id: id } = await call.api("POST", path, { body: {} });
  const job = await call.job(`/api/v1/jobs/${id}`);
  if (!isOver(job)) return underway(job, "The check");
  const { ok = false, problems = [] } = job.result ?? {};
  const text = ok ? `The backup ${name} is whole.` : `The backup ${name} is damaged: ${problems.join(" ")}`;
  return { text, details: { name, ok, problems, jobId: id } };
}

export const TOOLS = [importTool, statsTool, cleanupTool, dedupTool, exportTool, backupTool];
