// Which server each page of the dojo talks to: one, which has all agents at /agents/FRAMEWORK-FEATURE.
import "server-only";
import { HttpAgent, type AbstractAgent } from "@ag-ui/client";
import { LangGraphHttpAgent } from "@ag-ui/langgraph";
import { A2UIMiddleware } from "@ag-ui/a2ui-middleware";

// The route reads these: agents whose A2UI is added here, not by the runtime.
export const ADK_A2UI_INJECT_AGENTS = ["a2ui_dynamic_schema"];
export const STRANDS_A2UI_INJECT_AGENTS = ["a2ui_dynamic_schema", "a2ui_recovery"];
export const CREWAI_A2UI_INJECT_AGENTS: string[] = [];

const SERVER = process.env.DOJO_SERVER ?? "http://127.0.0.1:24100";
const CATALOG = "https://a2ui.org/demos/dojo/dynamic_catalog.json";

const CHAT = ["agentic_chat", "agentic_chat_reasoning", "agentic_chat_multimodal", "backend_tool_rendering"];
const STATE = ["agentic_generative_ui", "predictive_state_updates", "shared_state"];
const PEOPLE = ["human_in_the_loop", "tool_based_generative_ui"];
const A2UI = ["a2ui_fixed_schema", "a2ui_dynamic_schema", "a2ui_recovery"];
const BASIC = [...CHAT, ...STATE, ...PEOPLE];

type Agents = Record<string, AbstractAgent>;
type Integration = { prefix: string; features: string[]; graph?: true; injects?: string[]; also?: Record<string, string> };

const INTEGRATIONS: Record<string, Integration> = {
  "langgraph-fastapi": {
    prefix: "langgraph", graph: true, features: [...BASIC, "subgraphs", "a2ui_fixed_schema", "a2ui_dynamic_schema"],
    also: { a2ui_advanced: "a2ui_dynamic_schema" },
  },
  "pydantic-ai": { prefix: "pydantic-ai", features: BASIC },
  "adk-middleware": { prefix: "adk", features: [...BASIC, ...A2UI], injects: ADK_A2UI_INJECT_AGENTS },
  agno: { prefix: "agno", features: BASIC },
  "aws-strands": {
    prefix: "strands", features: [...BASIC, ...A2UI], injects: STRANDS_A2UI_INJECT_AGENTS,
    also: { v1_agentic_chat: "agentic_chat" },
  },
  "microsoft-agent-framework-python": { prefix: "agent-framework", features: BASIC },
  "server-starter": { prefix: "starter", features: ["agentic_chat"] },
  "server-starter-all-features": { prefix: "starter-all", features: BASIC },
};

function agents({ prefix, features, graph, injects = [], also = {} }: Integration): Agents {
  const Agent = graph ? LangGraphHttpAgent : HttpAgent;
  const named = { ...Object.fromEntries(features.map((name) => [name, name])), ...also };
  const made: Agents = {};
  for (const [page, agent] of Object.entries(named))
    made[page] = new Agent({ url: `${SERVER}/agents/${prefix}-${agent}` }) as unknown as AbstractAgent;
  for (const page of injects)
    made[page].use(new A2UIMiddleware({ injectA2UITool: true, defaultCatalogId: CATALOG }));
  return made;
}

export const agentsIntegrations: Record<string, () => Promise<Agents>> = Object.fromEntries(
  Object.entries(INTEGRATIONS).map(([name, one]) => [name, async () => agents(one)]),
);
