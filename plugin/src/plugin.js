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

/** Called more than once in a process, also only to look: nothing here opens, reads or starts anything. */
function register(api, host) {
  const { logger } = api;
  const settings = readConfig(api.pluginConfig);
  const stateDir = () => api.runtime?.state?.resolveStateDir?.() ?? ownStateDir();
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
  const shared = { settings, client, breaker, delivery, profile };

  registerMemory(api);
  api.registerContextEngine(ID, engineFactory({ ...shared, host, version: VERSION }));
  registerTools(api, shared);
  api.registerService(createService({ delivery, breaker, settings, logger, close: client.close }));
}
