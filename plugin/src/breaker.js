// Knows whether Noesis can be had, lets nobody wait for it while it cannot, and says so once.

const FIRST_REST_MS = 1000;
const LONGEST_REST_MS = 10_000;

/**
 * An outage begins with the first failure and ends with the first success; `since` is when it began (ms), null
 * without one.  Meanwhile `allows()` is true for one caller after each rest, which doubles up to 10 s, so
 * that replies do not wait in vain.  A deadline that was missed once may be missed by chance: the next
 * caller may try at once.
 */
export function createBreaker({ logger, now = Date.now, meanwhile = "" }) {
  let outage = null;

  function allows() {
    if (outage === null) return true;
    if (now() < outage.retryAt) return false;
    outage.retryAt = now() + Math.max(outage.restMs, FIRST_REST_MS);
    return true;
  }

  /** Take note of a failed call; only those that say something about the server count. */
  function failed(error) {
    if (error.kind !== "unavailable" && error.kind !== "refused") return;
    const restMs = restAfter(outage, error);
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

function restAfter(outage, { code }) {
  if (outage === null) return code === "timeout" ? 0 : FIRST_REST_MS;
  return Math.min(Math.max(outage.restMs * 2, FIRST_REST_MS), LONGEST_REST_MS);
}
