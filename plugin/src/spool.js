// Turns that were said and not yet handed over: a file each, in the order they were said.

import { createHash } from "node:crypto";
import { mkdir, open, readFile, readdir, rename, rm, stat } from "node:fs/promises";
import path from "node:path";

const NAME = /^\d{15}-[0-9a-f]{32}\.json$/;

/**
 * A spool in the folder that `directory()` names, made when it is first needed.  An entry is
 * `{agent, body}`; `body.advancement_key` makes it one and the same, however often it is put in.
 * Only the owner may read the files: they hold what was said.
 */
export function createSpool({ directory, maxBytes, logger, now = Date.now }) {
  async function put(entry) {
    const folder = directory();
    await mkdir(folder, { recursive: true, mode: 0o700 });
    const name = await nameOf(folder, entry);
    const place = path.join(folder, name);
    await write(`${place}.${process.pid}.part`, JSON.stringify(entry));
    await rename(`${place}.${process.pid}.part`, place);
    await keepWithin(folder, name);
    return name;
  }

  /** The name that this turn has already, or a new one behind all others. */
  async function nameOf(folder, { agent, body }) {
    const key = `${agent}\n${body.session_id}\n${body.advancement_key}`;
    const digest = createHash("sha256").update(key).digest("hex").slice(0, 32);
    const known = (await names()).find((name) => name.endsWith(`-${digest}.json`));
    return known ?? `${String(now()).padStart(15, "0")}-${digest}.json`;
  }

  async function names() {
    try {
      return (await readdir(directory())).filter((name) => NAME.test(name)).sort();
    } catch (error) {
      if (error.code === "ENOENT") return [];
      throw error;
    }
  }

  /** The entry of this name; null when it is gone or cannot be read, which no retry would mend. */
  async function get(name) {
    try {
      return JSON.parse(await readFile(path.join(directory(), name), "utf8"));
    } catch (error) {
      if (error.code === "ENOENT") return null;
      if (!(error instanceof SyntaxError)) throw error;
      logger.warn(`noesis: a waiting turn cannot be read and is left out (${name}).`);
      await remove(name);
      return null;
    }
  }

  const remove = (name) => rm(path.join(directory(), name), { force: true });

  async function keepWithin(folder, newest) {
    const sizes = await Promise.all((await names()).map(async (name) => [name, await sizeOf(folder, name)]));
    let total = sizes.reduce((sum, [, size]) => sum + size, 0);
    for (const [name, size] of sizes) {
      if (total <= maxBytes || name === newest) return;
      await remove(name);
      total -= size;
      logger.warn("noesis: too many turns wait for Noesis; the oldest one was left out.");
    }
  }

  return { put, names, get, remove };
}

async function write(place, text) {
  const file = await open(place, "w", 0o600);
  try {
    await file.writeFile(text);
    await file.sync();
  } finally {
    await file.close();
  }
}

async function sizeOf(folder, name) {
  const found = await stat(path.join(folder, name)).catch(() => null);
  return found?.size ?? 0;
}
