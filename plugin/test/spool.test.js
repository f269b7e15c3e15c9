import assert from "node:assert/strict";
import { readdir, stat, writeFile } from "node:fs/promises";
import path from "node:path";
import test from "node:test";

import { createSpool } from "../src/spool.js";
import { folder, keepLog } from "./helpers.js";

const entry = (key, text = "said", agent = "main") => ({
  agent,
  body: { session_id: "s", advancement_key: key, messages: [{ role: "user", content: text }] },
});

async function spoolIn(t, maxBytes = 1e6) {
  const place = path.join(await folder(t), "spool");
  const logger = keepLog();
  let now = 1_780_000_000_000;
  return { place, logger, spool: createSpool({ directory: () => place, maxBytes, logger, now: () => (now += 1) }) };
}

test("entries come back in the order they were put in", async (t) => {
  const { spool } = await spoolIn(t);
  for (const key of ["c", "a", "b"]) await spool.put(entry(key));
  const keys = [];
  for (const name of await spool.names()) keys.push((await spool.get(name)).body.advancement_key);
  assert.deepEqual(keys, ["c", "a", "b"]);
});

test("the same turn is there once, another agent's with the same key is another", async (t) => {
  const { spool } = await spoolIn(t);
  for (const each of [entry("a"), entry("a"), entry("a", "said", "beta")]) await spool.put(each);
  assert.equal((await spool.names()).length, 2);
});

test("an empty spool makes no folder", async (t) => {
  const { spool, place } = await spoolIn(t);
  assert.deepEqual(await spool.names(), []);
  await assert.rejects(stat(place), { code: "ENOENT" });
});

test("only the owner may read what waits, and nothing half-written stays", async (t) => {
  const { spool, place } = await spoolIn(t);
  const name = await spool.put(entry("a"));
  assert.deepEqual(await readdir(place), [name]);
  assert.equal((await stat(place)).mode & 0o777, 0o700);
  assert.equal((await stat(path.join(place, name))).mode & 0o777, 0o600);
});

test("beyond the limit the oldest goes, with a warning that tells no text", async (t) => {
  const { spool, logger } = await spoolIn(t, 400);
  const names = [];
  for (const key of ["a", "b", "c"]) names.push(await spool.put(entry(key, "x".repeat(150))));
  assert.deepEqual(await spool.names(), names.slice(2));
  assert.equal(logger.lines.length, 2);
  assert.doesNotMatch(logger.lines.join(), /xxx/);
});

test("a damaged file is left out and told of, one that is gone is nothing", async (t) => {
  const { spool, place, logger } = await spoolIn(t);
  const name = await spool.put(entry("a"));
  await writeFile(path.join(place, name), "{");
  assert.equal(await spool.get(name), null);
  assert.equal(await spool.get(name), null);
  assert.deepEqual([await spool.names(), logger.lines.length], [[], 1]);
});
