import assert from "node:assert/strict";
import test from "node:test";

import { createBreaker } from "../src/breaker.js";
import { NoesisError } from "../src/errors.js";
import { keepLog } from "./helpers.js";

const away = new NoesisError("unavailable", "Noesis cannot be reached.");
const refused = new NoesisError("refused", "Noesis refuses the token (401).");

function breakerAt() {
  const clock = { now: 1_000_000 };
  const logger = keepLog();
  return { clock, logger, breaker: createBreaker({ logger, now: () => clock.now, meanwhile: "Meanwhile." }) };
}

test("one failure opens it, and one caller after each rest may try", () => {
  const { clock, breaker } = breakerAt();
  assert.equal(breaker.allows(), true);
  breaker.failed(away);
  assert.equal(breaker.allows(), false);
  clock.now += 1000;
  assert.deepEqual([breaker.allows(), breaker.allows()], [true, false]);
});

test("after a missed deadline the next caller may try at once, and one after each rest from then on", () => {
  const { clock, breaker } = breakerAt();
  const late = new NoesisError("unavailable", "too late", { code: "timeout" });
  breaker.failed(late);
  assert.notEqual(breaker.since, null);
  assert.deepEqual([breaker.allows(), breaker.allows()], [true, false]);
  breaker.failed(late);
  assert.equal(breaker.allows(), false);
  clock.now += 1000;
  assert.equal(breaker.allows(), true);
});

test("the rest doubles up to ten seconds", () => {
  const { clock, breaker } = breakerAt();
  for (const rest of [1000, 2000, 4000, 8000, 10_000, 10_000]) {
    breaker.failed(away);
    clock.now += rest - 1;
    assert.equal(breaker.allows(), false);
    clock.now += 1;
    assert.equal(breaker.allows(), true);
  }
});

test("an outage is warned of once and its end told once", () => {
  const { clock, logger, breaker } = breakerAt();
  for (let times = 0; times < 5; times += 1) breaker.failed(away);
  clock.now += 42_000;
  breaker.succeeded();
  breaker.succeeded();
  assert.deepEqual(logger.lines, [
    "warn: noesis: Noesis cannot be reached. Meanwhile.",
    "info: noesis: Noesis answers again, after 42 s.",
  ]);
});

test("a refused token after an outage is a warning of its own", () => {
  const { logger, breaker } = breakerAt();
  breaker.failed(away);
  breaker.failed(refused);
  breaker.failed(refused);
  assert.equal(logger.lines.length, 2);
});

test("a call that is wrong by itself, or given up, opens nothing", () => {
  const { logger, breaker } = breakerAt();
  breaker.failed(new NoesisError("rejected", "not found", { status: 404 }));
  breaker.failed(new NoesisError("aborted", "given up"));
  assert.deepEqual([breaker.allows(), breaker.since, logger.lines.length], [true, null, 0]);
});
