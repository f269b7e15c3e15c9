// Puts the plugin together: one client, breaker and spool behind memory slot, context engine, tools and service.

import path from "node:path";

import { createBreaker } from "./breaker.js";
import { createClient } from "./client.js";
import { readConfig } from "./config.js";
import { createDelivery } from "./delivery.js";
import { engineFactory } from "./engine.js";
import { ownProfile, ownStateDir } from "./environment.js";
import { profileOf } from "./identity.js";
import { registerMemory } from "./memory.js";
import { createService } from "./service.js";
import { createSpool } from "./spool.js";
import { registerTools } from "./tools/registering.js";

const ID = "noesis";
const VERSION = "0.1.0";
const MEANWHILE = "Replies go on without memories; what is said is kept here and handed over later.";

/** The definition for `definePluginEntry`; `host` holds what the engine needs of the host. */
export function createPlugin(host) {
  return {
    id: ID,
    name: "Noesis",
    description: "Memory that lasts, from a running Noesis",
    kind: ["memory", "context-engine"],
    register: (api) => register(api, host),
  };
}

/**
 * What all registrations with the same settings share, by these settings: an outage is one for all of them.  A host
 * loads the module anew for some registrations, so that a variable of the module would not be shared.
 */
const inUse = (globalThis[Symbol.for("openclaw-noesis")] ??= new Map());

/** Called more than once in a process, also only to look: nothing here opens, reads or starts anything. */
function register(api, host) {
  const key = JSON.stringify([VERSION, api.pluginConfig ?? {}]);
  if (!inUse.has(key)) inUse.set(key, parts(api));
  const shared = inUse.get(key);
  registerMemory(api);
  api.registerContextEngine(ID, engineFactory({ ...shared, host, version: VERSION }));
  registerTools(api, shared);
  api.registerService(createService({ ...shared, logger: api.logger }));
}

function parts({ pluginConfig, logger, runtime }) {
  const settings = readConfig(pluginConfig);
  const stateDir = () => runtime?.state?.resolveStateDir?.() ?? ownStateDir();
  const profile = () => settings.profile ?? profileOf(ownProfile(), stateDir());
  const client = createClient(settings);
  const breaker = createBreaker({ logger, meanwhile: MEANWHILE });
  const spool = createSpool({
    directory: () => settings.spoolDir ?? path.join(stateDir(), "noesis-spool"),
    maxBytes: settings.spoolMaxBytes,
    logger,
  });
  const { commitTimeoutMs } = settings;
  const delivery = createDelivery({ client, breaker, spool, logger, commitTimeoutMs });
  return { settings, client, breaker, delivery, profile, close: client.close };
}
