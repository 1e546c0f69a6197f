// A page made with assistant-ui on one thread of one agent.
//
//     ?url=ADDRESS OF THE AGENT&thread=ID&refusals=ask|error&check=off&approvals=inline&tools=off

import { HttpAgent } from "@ag-ui/client";
import { AssistantRuntimeProvider, AuiIf, makeAssistantTool, type ThreadMessage, ThreadPrimitive } from "@assistant-ui/react";
import { type AgUiAssistantRuntime, useAgUiRuntime, useAgUiState } from "@assistant-ui/react-ag-ui";
import { useMemo, useRef, useState } from "react";

import { Composer } from "./Composer";
import { bridgeHistory } from "./history";
import { Messages } from "./Messages";
import { Notice } from "./Notice";
import { Inline, isAsked } from "./ToolLine";
import { Waiting } from "./Waiting";

const address = new URLSearchParams(location.search);
const url = address.get("url") ?? "http://127.0.0.1:8787/agents/ops";
const thread = address.get("thread") ?? begin();
// With RUN_ERROR assistant-ui would take the question for gone.
const headers = { "AG-UI-Refusals": address.get("refusals") ?? "ask" };
const inline = address.get("approvals") === "inline";

export function App() {
  const agent = useMemo(() => new HttpAgent({ url, threadId: thread, headers }), []);
  const reached = useRef<AgUiAssistantRuntime>(null);
  const [loaded, setLoaded] = useState(false);
  const history = useMemo(() => {
    const onState = (state: unknown) =>
      reached.current?.thread.importExternalState(state);
    const bridge = bridgeHistory({ url, thread, headers, onState });
    const ready = () => setTimeout(() => setLoaded(true));
    return { ...bridge, load: () => bridge.load().finally(ready) };
  }, []);
  const [failure, setFailure] = useState<Error>();
  const runtime = useAgUiRuntime({
    agent,
    adapters: { history },
    onError: setFailure,
  });
  reached.current = runtime;
  return (
    <AssistantRuntimeProvider runtime={runtime}>
      {address.get("tools") !== "off" && <ShowPage />}
      <ThreadPrimitive.Root className="thread">
        <main>
          <h1>agui-bridge with assistant-ui</h1>
          <Inline value={inline}>
            <Messages />
          </Inline>
          <AuiIf condition={({ thread }) => !inline || !isAskedInline(thread.messages)}>
            <Waiting url={url} thread={thread} check={address.get("check") !== "off"} />
          </AuiIf>
          <State />
        </main>
        <Notice failure={failure} onOver={() => setFailure(undefined)} />
        <footer>
          <Composer loaded={loaded} />
        </footer>
      </ThreadPrimitive.Root>
    </AssistantRuntimeProvider>
  );
}

/** A tool of the page's own, which the agent calls: it changes the page's title. */
const ShowPage = makeAssistantTool<{ page: string }, string>({
  toolName: "show_page",
  description: "Shows a page to the user.",
  parameters: { type: "object", required: ["page"], properties: { page: { type: "string" } } },
  execute: async ({ page }) => {
    document.title = page;
    return `the page ${page}`;
  },
});

/** The state that agent and page share, if there is any. */
function State() {
  const state = useAgUiState();
  if (!state || !Object.keys(state).length) return null;
  return (
    <section aria-label="State">
      <pre>{JSON.stringify(state)}</pre>
    </section>
  );
}

/** Whether a call of the last message has buttons of its own. */
function isAskedInline(messages: readonly ThreadMessage[]): boolean {
  const parts = messages.at(-1)?.content ?? [];
  return parts.some((part) => part.type === "tool-call" && isAsked(part));
}

/** A new thread, which a reload finds again. */
function begin(): string {
  const made = `thread-${crypto.randomUUID().slice(0, 8)}`;
  address.set("thread", made);
  window.history.replaceState(null, "", `?${address}`);
  return made;
}
