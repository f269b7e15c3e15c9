// The plugin's entry: registers memory slot, context engine, tools and the service with OpenClaw.

import * as host from "openclaw/plugin-sdk/core";
import { definePluginEntry } from "openclaw/plugin-sdk/plugin-entry";

import { createPlugin } from "./src/plugin.js";

// Taken as a namespace: an older host that lacks one of the functions still loads the plugin.
export default definePluginEntry(
  createPlugin({
    compact: (params) => host.delegateCompactionToRuntime(params),
    memoryPrompt: host.buildMemorySystemPromptAddition ?? null,
  }),
);
