// What the environment says of OpenClaw, for hosts that do not say it themselves.

import os from "node:os";
import path from "node:path";

/** The name of the profile that OpenClaw was started with. */
export const ownProfile = () => process.env.OPENCLAW_PROFILE ?? "";

/** OpenClaw's state folder. */
export function ownStateDir() {
  const written = process.env.OPENCLAW_STATE_DIR?.trim();
  if (!written) return path.join(os.homedir(), ".openclaw");
  return written.startsWith("~") ? path.join(os.homedir(), written.slice(1)) : path.resolve(written);
}
