import { HttpAgent } from "@ag-ui/client";
import { McpAppRenderer, McpAppsRemoteHost, type ToolCallMessagePartProps, Tools } from "@assistant-ui/react";
import { createContext, useEffect, useState } from "react";

type View = Pick<ToolCallMessagePartProps, "mcp" | "result">;

interface Message {
  role: string;
  activityType?: string;
  content?: unknown;
}

/** The views of tools (MCP Apps), by their calls: assistant-ui forgets them with each snapshot of the conversation. */
export const Views = createContext<Record<string, View>>({});

export function useViews(agent: HttpAgent) {
  const [views, setViews] = useState<Record<string, View>>({});
  const [onMessages] = useState(() => (messages: readonly Message[]) => {
    const found = messages.flatMap(({ activityType, content }) => {
      if (activityType !== "mcp-apps") return [];
      const { toolCallId, resourceUri, serverId, result } = content as Record<string, string>;
      return [[toolCallId, { mcp: { app: { resourceUri, serverId } }, result }]];
    });
    if (found.length) setViews((known) => ({ ...Object.fromEntries(found), ...known }));
  });
  useEffect(() => {
    const onEnd = ({ messages }: { messages: readonly Message[] }) => onMessages(messages);
    return agent.subscribe({ onRunFinishedEvent: onEnd }).unsubscribe;
  }, [agent]);
  return { views, onMessages };
}

interface Place {
  /** The agent's own: `https://agents.example/agents/ops`. */
  url: string;
  thread: string;
  headers: Record<string, string>;
  /** A view has called a tool: the conversation has gone on without the page. */
  onCalled: () => void;
}

/** What a view asks of its server goes to the bridge, as a run of the thread. */
export function viewsOf({ url, thread, headers, onCalled }: Place) {
  const answer = async (_: unknown, init?: RequestInit) => {
    const { method, params } = JSON.parse(String(init?.body));
    const { serverId, ...rest } = params ?? {};
    const reads = method === "mcp-apps/read-resource";
    const asked = { serverId, method: reads ? "resources/read" : method, params: rest };
    const agent = new HttpAgent({ url, threadId: thread, headers });
    const { result } = await agent.runAgent({ forwardedProps: { __proxiedMCPRequest: asked } });
    if (method === "tools/call") onCalled();
    // A call that people have to approve has no result yet.
    if (!reads) return Response.json(result ?? { content: [] });
    const [found] = result?.contents ?? [];
    if (!found?.text) return Response.json({ message: "The view can't be read now." }, { status: 404 });
    return Response.json({ uri: found.uri, mimeType: found.mimeType, html: found.text, meta: found._meta?.ui });
  };
  const host = McpAppsRemoteHost({ url, fetch: answer });
  return Tools({ mcpApp: McpAppRenderer({ host, errorFallback: (error) => error.message }) });
}
