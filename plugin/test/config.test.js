import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import test from "node:test";

import { readConfig } from "../src/config.js";

const manifest = JSON.parse(await readFile(new URL("../openclaw.plugin.json", import.meta.url)));
const known = manifest.configSchema.properties;

/** Every key that the original plugin read, with a value it documented. */
const ORIGINAL = {
  lanceDbPath: "~/.openclaw/noesis/db",
  ollamaEndpoint: "http://localhost:11434",
  embeddingModel: "nomic-embed-text",
  chunkSize: 512,
  chunkOverlap: 64,
  topK: 6,
  autoMigrate: false,
  indexQmdSessions: true,
  watchMemoryDirs: true,
  defaultTtlDays: 90,
  autoCleanup: true,
  cleanupIntervalHours: 6,
  contextEngineEnabled: true,
  assembleInjectPriority: 75,
  assembleMaxEntries: 20,
  assembleMaxAgeDays: 30,
  gitLfsEnabled: false,
  gitLfsRepo: "someone/openclaw-noesis-data",
  annNprobe: 16,
  annNumSubvectors: 96,
  sessionScanIntervalMinutes: 5,
  vectorWeight: 0.6,
  rerank: false,
  rerankerEndpoint: "http://localhost:9000",
  noesisLogPath: "noesis.log",
  errorLogPath: "errors.log",
};

test("an empty config has defaults and says that a token is missing", () => {
  const settings = readConfig(undefined);
  assert.equal(settings.apiUrl, "http://127.0.0.1:8787");
  assert.deepEqual([settings.topK, settings.contextEngineEnabled], [6, true]);
  assert.match(settings.problem, /noesis token create/);
});

test("an address and a token are all it takes", () => {
  const settings = readConfig({ apiUrl: "https://memory.example:8443/noesis/", token: " nse_a_b " });
  assert.deepEqual([settings.apiUrl, settings.token, settings.problem], ["https://memory.example:8443/noesis", "nse_a_b", null]);
});

test("the schema knows every key of the original plugin with its type", () => {
  for (const [key, value] of Object.entries(ORIGINAL)) assert.equal(known[key]?.type, typeof value, key);
});

test("the schema asks for nothing: a missing key would make the host's whole config invalid", () => {
  assert.equal(manifest.configSchema.required, undefined);
});

test("an old config is read, and told where its settings went", () => {
  const settings = readConfig({ ...ORIGINAL, token: "nse_a_b" });
  assert.equal(settings.problem, null);
  assert.deepEqual([settings.topK, settings.defaultTtlDays], [6, 90]);
  assert.equal(settings.notes.length, 1);
  assert.match(settings.notes[0], /chunkSize \(NOESIS_CHUNK_SIZE\)/);
  assert.doesNotMatch(settings.notes[0], /topK|rerank/);
});

test("every key of the schema is either used or told of", () => {
  for (const key of Object.keys(known)) {
    const plain = readConfig({});
    const value = { string: "http://127.0.0.1:1", number: 77, boolean: false }[known[key].type];
    const changed = readConfig({ [key]: value });
    const without = /^(rerank|rerankerEndpoint|errorLogPath|noesisLogPath)$/.test(key);
    assert.equal(JSON.stringify(changed) === JSON.stringify(plain), without, key);
  }
});

test("an address that is none, and a variable that was not found, are problems and no exceptions", () => {
  assert.match(readConfig({ apiUrl: "file:///etc/passwd", token: "t" }).problem, /no http address/);
  assert.match(readConfig({ apiUrl: "nonsense", token: "t" }).problem, /no http address/);
  assert.match(readConfig({ token: "${NOESIS_TOKEN}" }).problem, /no token/);
});

test("times are kept within bounds", () => {
  const settings = readConfig({ assembleTimeoutMs: 9e9, commitTimeoutMs: -1, toolTimeoutMs: NaN });
  assert.deepEqual([settings.assembleTimeoutMs, settings.commitTimeoutMs, settings.toolTimeoutMs], [10_000, 50, 5000]);
});
