// The service in the background: looks whether Noesis is back, and hands over the turns that wait.

const EVERY_MS = 1000;
/** Looks at the spool between outages too: another process of the host may have left a turn there. */
const LOOK_EVERY_MS = 5000;

/** The service as the host starts and stops it. */
export function createService({ delivery, breaker, settings, logger, close, now = Date.now }) {
  let timer = null;
  let isBusy = false;
  let lookedAt = 0;

  async function tick() {
    const isOut = breaker.since !== null;
    if (isOut) lookedAt = 0;
    if (isBusy || (!isOut && now() - lookedAt < LOOK_EVERY_MS)) return;
    if (isOut && !breaker.allows()) return;
    isBusy = true;
    try {
      if (!isOut || (await delivery.probe())) {
        lookedAt = now();
        await delivery.flush(() => timer === null);
      }
    } catch (error) {
      lookedAt = now();
      logger.warn(`noesis: waiting turns cannot be read (${error.code ?? error.message}).`);
    } finally {
      isBusy = false;
    }
  }

  return {
    id: "noesis",
    start() {
      settings.notes.forEach((note) => logger.info(`noesis: ${note}.`));
      if (settings.problem !== null) {
        logger.warn(`noesis: ${settings.problem}. Nothing is remembered until then.`);
        return;
      }
      timer = setInterval(tick, EVERY_MS);
      timer.unref();
    },
    stop() {
      clearInterval(timer);
      timer = null;
      close();
    },
  };
}
