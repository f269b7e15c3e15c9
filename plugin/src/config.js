// The settings of the plugin, read once from what the host has validated.

const MINUTE = 60_000;

/** What an earlier plugin set here and the server sets now, with the variable's name; "" has no successor. */
const ELSEWHERE = {
  lanceDbPath: "NOESIS_STORE",
  ollamaEndpoint: "NOESIS_OLLAMA_URL",
  embeddingModel: "NOESIS_EMBEDDING_MODEL",
  chunkSize: "NOESIS_CHUNK_SIZE",
  chunkOverlap: "NOESIS_CHUNK_OVERLAP",
  autoMigrate: "NOESIS_AUTO_MIGRATE",
  indexQmdSessions: "NOESIS_INDEX_SESSIONS",
  sessionScanIntervalMinutes: "NOESIS_SCAN_MINUTES",
  watchMemoryDirs: "NOESIS_WATCH_MEMORY_DIRS",
  autoCleanup: "NOESIS_AUTO_CLEANUP",
  cleanupIntervalHours: "NOESIS_CLEANUP_INTERVAL_HOURS",
  archiveTtlDays: "NOESIS_ARCHIVE_TTL_DAYS",
  gitLfsEnabled: "NOESIS_GIT_LFS_ENABLED",
  gitLfsRepo: "NOESIS_GIT_LFS_REPO",
  annNprobe: "NOESIS_ANN_NPROBE",
  annNumSubvectors: "NOESIS_ANN_SUB_VECTORS",
  vectorWeight: "NOESIS_VECTOR_WEIGHT",
  assembleInjectPriority: "NOESIS_ASSEMBLE_INJECT_PRIORITY",
  assembleMaxEntries: "NOESIS_ASSEMBLE_MAX_ENTRIES",
  assembleMaxAgeDays: "NOESIS_ASSEMBLE_MAX_AGE_DAYS",
  rerank: "",
  rerankerEndpoint: "",
  errorLogPath: "",
  noesisLogPath: "",
};

/**
 * The settings with their defaults; times in ms.  `problem` says why Noesis cannot be called (null: it can)
 * and `notes` what was given here and belongs elsewhere.  Never throws: a wrong value is its default.
 */
export function readConfig(raw = {}) {
  const given = raw ?? {};
  const url = addressOf(given.apiUrl);
  const token = typeof given.token === "string" ? given.token.trim() : "";
  return Object.freeze({
    apiUrl: url,
    token,
    problem: problemOf(given.apiUrl, url, token),
    contextEngineEnabled: given.contextEngineEnabled !== false,
    topK: between(given.topK, 1, 200, 6),
    defaultTtlDays: between(given.defaultTtlDays, 0, 36_500, undefined),
    assembleTimeoutMs: between(given.assembleTimeoutMs, 50, 10_000, 1500),
    commitTimeoutMs: between(given.commitTimeoutMs, 50, 10_000, 500),
    toolTimeoutMs: between(given.toolTimeoutMs, 100, MINUTE, 5000),
    jobWaitMs: between(given.jobWaitMs, 0, 10 * MINUTE, 15_000),
    assembleMaxTokens: between(given.assembleMaxTokens, 100, 100_000, 2000),
    spoolDir: typeof given.spoolDir === "string" && given.spoolDir.trim() ? given.spoolDir.trim() : null,
    spoolMaxBytes: between(given.spoolMaxMb, 1, 10_000, 64) * 1024 * 1024,
    profile: typeof given.profile === "string" ? given.profile.trim() : null,
    notes: notesOf(given),
  });
}

function between(value, low, high, otherwise) {
  if (typeof value !== "number" || !Number.isFinite(value)) return otherwise;
  return Math.min(Math.max(value, low), high);
}

function addressOf(given) {
  const written = typeof given === "string" && given.trim() ? given.trim() : "http://127.0.0.1:8787";
  if (!URL.canParse(written)) return null;
  const url = new URL(written);
  return url.protocol === "http:" || url.protocol === "https:" ? url.href.replace(/\/+$/, "") : null;
}

function problemOf(written, url, token) {
  if (url === null) return `apiUrl is no http address: ${JSON.stringify(written)}`;
  // An environment variable that the host did not find stays as it was written.
  if (!token || token.startsWith("${")) {
    return "no token is set; make one with `noesis token create --scope gateway --agent '*' --name openclaw`";
  }
  return null;
}

function notesOf(given) {
  const found = Object.keys(ELSEWHERE).filter((key) => given[key] !== undefined);
  const server = found.filter((key) => ELSEWHERE[key]).map((key) => `${key} (${ELSEWHERE[key]})`);
  return server.length ? [`these are settings of the server now: ${server.join(", ")}`] : [];
}
