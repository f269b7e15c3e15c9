// Knows whether Noesis can be had, lets nobody wait for it while it cannot, and says so once.

const FIRST_REST_MS = 1000;
const LONGEST_REST_MS = 10_000;

/**
 * Opens at the first failure: after one wait that was in vain the next replies do not wait at all.
 * While it is open, `allows()` is true for one caller after each rest, which doubles up to 10 s.
 * `since` is when the outage began (ms), null without one.
 */
export function createBreaker({ logger, now = Date.now, meanwhile = "" }) {
  let outage = null;

  function allows() {
    if (outage === null) return true;
    if (now() < outage.retryAt) return false;
    outage.retryAt = now() + outage.restMs;
    return true;
  }

  /** Take note of a failed call; only those that say something about the server count. */
  function failed(error) {
    if (error.kind !== "unavailable" && error.kind !== "refused") return;
    const restMs = Math.min(outage ? outage.restMs * 2 : FIRST_REST_MS, LONGEST_REST_MS);
    const isNew = outage === null || outage.kind !== error.kind;
    outage = { kind: error.kind, since: outage?.since ?? now(), restMs, retryAt: now() + restMs };
    if (isNew) logger.warn(`noesis: ${error.message} ${meanwhile}`.trim());
  }

  function succeeded() {
    if (outage === null) return;
    const seconds = Math.round((now() - outage.since) / 1000);
    outage = null;
    logger.info(`noesis: Noesis answers again, after ${seconds} s.`);
  }

  return {
    allows,
    failed,
    succeeded,
    get since() {
      return outage?.since ?? null;
    },
  };
}
