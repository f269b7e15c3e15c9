// Registers the tools with the host, each made anew for the agent and session that call it.

import { NoesisError } from "../errors.js";
import { agentName, hostAgentOf } from "../identity.js";
import { WrongArgument } from "./arguments.js";
import { toolCall } from "./calling.js";
import { TOOLS as finding } from "./finding.js";
import { TOOLS as keeping } from "./keeping.js";
import { TOOLS as storing } from "./storing.js";

export const TOOLS = [...finding, ...storing, ...keeping];

/** Register every tool; `shared` holds what all calls use. */
export function registerTools(api, shared) {
  for (const tool of TOOLS) {
    api.registerTool((context) => made(tool, context ?? {}, shared), { name: tool.name });
  }
}

function made({ name, label, description, parameters, run }, context, shared) {
  return {
    name,
    label,
    description,
    parameters,
    execute: (_, args, signal) => execute(run, args ?? {}, () => callOf(context, shared, signal)),
  };
}

function callOf(context, { profile, ...shared }, signal) {
  const hostId = hostAgentOf(context);
  if (hostId === null) throw new NoesisError("rejected", "The host does not say which agent calls.");
  const session = typeof context.sessionId === "string" && context.sessionId ? context.sessionId : undefined;
  return toolCall({ ...shared, agent: agentName(hostId, profile()), session, profile: profile(), signal });
}

/** A mistake of the model is an ordinary answer that it can mend; every other failure is an error of the tool. */
async function execute(run, args, call) {
  try {
    const { text, details } = await run(args, call());
    return answer(text, details);
  } catch (error) {
    if (error instanceof WrongArgument) return answer(`Error: ${error.message}`, {});
    throw error;
  }
}

function answer(text, details) {
  return { content: [{ type: "text", text }], details };
}
