import assert from "node:assert/strict";
import test from "node:test";

import { agentName, hostAgentOf, profileOf } from "../src/identity.js";

test("a valid id is its own name", () => {
  for (const id of ["main", "a", "work_2", "0-zero"]) assert.equal(agentName(id), id);
});

test("other ids are written out, each its own name", () => {
  assert.equal(agentName("alpha:beta"), "x--alpha_3abeta");
  assert.equal(agentName("alpha' OR '1'='1"), "x--alpha_27_20_4f_52_20_271_27_3d_271");
  assert.equal(agentName("Ada"), "x--_41da");
  assert.equal(agentName("é"), "x--_c3_a9");
  assert.equal(agentName("x--main"), "x--x--main");
});

test("what would be too long is hashed", () => {
  const name = agentName("Ä".repeat(40));
  assert.match(name, /^h--[0-9a-f]{60}$/);
  assert.notEqual(name, agentName("Ä".repeat(41)));
});

test("a profile's agents have names of their own", () => {
  assert.equal(agentName("main", "work"), "x--work__main");
});

test("the agent comes from the context, then the session, then its folder", () => {
  assert.equal(hostAgentOf({ agentId: "beta", sessionKey: "agent:main:x" }), "beta");
  assert.equal(hostAgentOf({ sessionKey: "agent:main:subagent:1" }), "main");
  assert.equal(hostAgentOf({ sessionKey: "global", agentDir: "/h/.openclaw/agents/ops/agent" }), "ops");
  assert.equal(hostAgentOf({ sessionKey: "global" }), null);
  assert.equal(hostAgentOf(), null);
});

test("the profile is what was named, or what the state folder is called", () => {
  assert.equal(profileOf("work", "/home/u/.openclaw"), "work");
  assert.equal(profileOf("default", "/home/u/.openclaw"), null);
  assert.equal(profileOf("", "/home/u/.openclaw-rescue"), "rescue");
  assert.equal(profileOf(undefined, "/home/u/.openclaw"), null);
});
