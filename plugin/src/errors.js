// What can go wrong with a call, by what is to be done about it.

/**
 * `kind`: `unavailable` (no answer, or none in time, or a fault of the server), `refused` (the token),
 * `rejected` (this one call is wrong) or `aborted` (the host gave up).  The message is fit for a model or a
 * log: it never holds a memory's text.
 */
export class NoesisError extends Error {
  constructor(kind, message, { status = null, code = null, cause } = {}) {
    super(message, { cause });
    this.name = "NoesisError";
    this.kind = kind;
    this.status = status;
    this.code = code;
  }
}

/** The error that an answer of the server is; `problem` is its body, if it had one. */
export function errorOf(status, problem) {
  const detail = typeof problem?.detail === "string" ? problem.detail : `Noesis answered ${status}.`;
  const about = { status, code: typeof problem?.code === "string" ? problem.code : null };
  if (status === 401) return new NoesisError("refused", "Noesis refuses the token (401).", about);
  if (status >= 500) return new NoesisError("unavailable", `Noesis failed (${status}).`, about);
  return new NoesisError("rejected", detail, about);
}
