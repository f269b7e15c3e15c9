// Hands turns over: at once where Noesis answers, later from the spool where it does not.

const BACKGROUND_TIMEOUT_MS = 10_000;
const PROBE_TIMEOUT_MS = 2000;
/** Answers after which a turn can still be taken; every other refusal of it is final. */
const MAY_SUCCEED_LATER = new Set([403, 408, 409, 425, 429, 507]);

/**
 * `take(entry)` resolves when the turn is safe: taken by Noesis, or on the disk here.  `flush()` hands over
 * what waits, oldest first, and `probe()` finds out whether Noesis is back.
 */
export function createDelivery({ client, breaker, spool, logger, commitTimeoutMs }) {
  const underway = new Map();

  async function take(entry) {
    const name = await spool.put(entry).catch((error) => {
      logger.warn(`noesis: a turn cannot be kept on the disk (${error.code ?? error.message}).`);
      return null;
    });
    if (name === null) {
      // Nothing holds it but this call: an error makes the host keep it.
      await send(entry, commitTimeoutMs);
    } else if (breaker.since === null) {
      const own = handOver(name, entry);
      // A process that lives for one turn has no service that would look after those of earlier ones.
      own.then((isThere) => isThere && flush()).catch(() => {});
      // A reply waits for its turn's end: past the limit the turn is on its way without it.
      await within(commitTimeoutMs, own);
    }
  }

  const send = (entry, timeoutMs) =>
    client.call("POST", "/api/v1/context/turns", { agent: entry.agent, body: entry.body, timeoutMs });

  /** Send one turn and let go of it; false when Noesis cannot be had now. */
  function handOver(name, entry) {
    if (!underway.has(name)) underway.set(name, sent(name, entry).finally(() => underway.delete(name)));
    return underway.get(name);
  }

  async function sent(name, entry) {
    try {
      await send(entry, BACKGROUND_TIMEOUT_MS);
      breaker.succeeded();
    } catch (error) {
      breaker.failed(error);
      if (error.kind !== "rejected") return false;
      if (MAY_SUCCEED_LATER.has(error.status)) return true;
      logger.warn(`noesis: Noesis does not take a turn (${error.status} ${error.code ?? ""}); it is left out.`);
    }
    await spool.remove(name);
    return true;
  }

  let flushing = null;
  function flush(isStopped = () => false) {
    flushing ??= flushAll(isStopped).finally(() => (flushing = null));
    return flushing;
  }

  async function flushAll(isStopped) {
    for (const name of await spool.names()) {
      const entry = await spool.get(name);
      if (isStopped()) return;
      if (entry !== null && !(await handOver(name, entry))) return;
    }
  }

  /** Ask for a sign of life that the token opens; true when there is one. */
  async function probe({ timeoutMs = PROBE_TIMEOUT_MS, signal } = {}) {
    try {
      await client.call("GET", "/health", { timeoutMs, signal });
      breaker.succeeded();
      return true;
    } catch (error) {
      breaker.failed(error);
      return false;
    }
  }

  return { take, flush, probe };
}

/** Wait for it, but no longer; what becomes of it later is told by itself. */
async function within(ms, promise) {
  let timer;
  const over = new Promise((resolve) => {
    timer = setTimeout(resolve, ms);
  });
  await Promise.race([promise.catch(() => false), over]);
  clearTimeout(timer);
}
