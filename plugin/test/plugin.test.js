import assert from "node:assert/strict";
import test from "node:test";

import { createPlugin } from "../src/plugin.js";
import { keepLog } from "./helpers.js";

/** A host that takes note of what is registered. */
function hostApi(pluginConfig) {
  const taken = { tools: [], services: [], engines: [], capabilities: [] };
  return {
    taken,
    pluginConfig,
    logger: keepLog(),
    runtime: { state: { resolveStateDir: () => "/nowhere/.openclaw" } },
    registerTool: (_, { name }) => taken.tools.push(name),
    registerService: (service) => taken.services.push(service),
    registerContextEngine: (id, factory) => taken.engines.push([id, factory]),
    registerMemoryCapability: (capability) => taken.capabilities.push(capability),
  };
}

const plugin = createPlugin({ compact: async () => ({}), memoryPrompt: null });

test("it registers both slots, all tools and a service, and starts nothing", () => {
  const api = hostApi({});
  plugin.register(api);
  const { tools, services, engines, capabilities } = api.taken;
  assert.deepEqual([tools.length, services.length, engines[0][0], capabilities.length], [16, 1, "noesis", 1]);
  assert.deepEqual(api.logger.lines, []);
});

test("the memory capability has no runtime, which would take MEMORY.md out of every prompt", () => {
  const api = hostApi({});
  plugin.register(api);
  const [capability] = api.taken.capabilities;
  assert.deepEqual(Object.keys(capability), ["promptBuilder"]);
  const lines = capability.promptBuilder({ availableTools: new Set(["memory_search"]) });
  assert.match(lines.join("\n"), /memory_search/);
  assert.doesNotMatch(lines.join("\n"), /noesis_index/);
  const deferred = capability.promptBuilder({ availableTools: new Set(["tool_search", "tool_call"]) });
  assert.match(deferred.join("\n"), /memory_search[^]*noesis_index/);
});

test("no config at all is no error: a prompt goes on, a service says what is missing", async () => {
  const api = hostApi(undefined);
  plugin.register(api);
  const [[, factory]] = api.taken.engines;
  const answer = await factory({}).assemble({ sessionId: "s", sessionKey: "agent:main:x", messages: [], prompt: "hi" });
  assert.deepEqual(answer, { messages: [], estimatedTokens: 0 });
  api.taken.services[0].start();
  api.taken.services[0].stop();
  assert.equal(api.logger.lines.length, 1);
});

test("a host that knows no capabilities gets the section of the prompt alone", () => {
  const api = hostApi({});
  const sections = [];
  delete api.registerMemoryCapability;
  api.registerMemoryPromptSection = (section) => sections.push(section);
  plugin.register(api);
  assert.match(sections[0]({ availableTools: new Set() }).join("\n"), /memory_search/);
});

test("registered more than once, it knows one outage and tells of it once", async () => {
  const apis = [hostApi({ apiUrl: "http://127.0.0.1:9", token: "t" }), hostApi({ apiUrl: "http://127.0.0.1:9", token: "t" })];
  apis.forEach((api) => plugin.register(api));
  for (const api of apis) {
    const engine = api.taken.engines[0][1]({});
    await engine.assemble({ sessionId: "s", sessionKey: "agent:main:x", messages: [], prompt: "hi" });
  }
  assert.equal(apis.flatMap((api) => api.logger.lines).length, 1);
  apis[0].taken.services[0].stop();
});
