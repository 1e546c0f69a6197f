// A page made with assistant-ui on one thread of one agent.
//
//     ?url=ADDRESS OF THE AGENT&thread=ID&state=JSON&refusals=ask|error&check=off&approvals=inline&tools=off

import { HttpAgent } from "@ag-ui/client";
import { AssistantRuntimeProvider, makeAssistantTool, ThreadPrimitive, useAui, useAuiState } from "@assistant-ui/react";
import {
  type AgUiAssistantRuntime,
  useAgUiInterrupts,
  useAgUiRuntime,
  useAgUiSetState,
  useAgUiState,
} from "@assistant-ui/react-ag-ui";
import { useEffect, useMemo, useRef, useState } from "react";

import { Composer } from "./Composer";
import { bridgeHistory } from "./history";
import { askedOf, InlineApprovals } from "./Inline";
import { Messages } from "./Messages";
import { Notice } from "./Notice";
import { Place } from "./ToolLine";
import { useKept } from "./useKept";
import { Newest, useNewest } from "./useNewest";
import { useViews, Views, viewsOf } from "./views";
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
  const { newest, onMessages: onNewest } = useNewest(agent);
  const { views, onMessages: onViews } = useViews(agent);
  const history = useMemo(() => {
    const onState = (state: unknown) =>
      reached.current?.thread.importExternalState(state);
    const onMessages = (messages: Parameters<typeof onNewest>[0]) => {
      onNewest(messages);
      onViews(messages);
    };
    const bridge = bridgeHistory({ url, thread, headers, onState, onMessages });
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
  // What a view's call asks people, or has changed, is in the conversation.
  const onCalled = async () => runtime.thread.import(await history.load());
  const aui = useAui({ tools: viewsOf({ url, thread, headers, onCalled }) });
  useEffect(() => {
    // Another run begins: what went wrong before is over.
    const onRunInitialized = () => setFailure(undefined);
    // What the page had not heard of is not taken back, and the bridge says so.
    const onCustomEvent = ({ event }: { event: { name: string; value?: { message: string } } }) => {
      if (event.name === "agui_bridge.kept" && event.value) setFailure(new Error(event.value.message));
    };
    return agent.subscribe({ onRunInitialized, onCustomEvent }).unsubscribe;
  }, [agent]);
  return (
    <AssistantRuntimeProvider runtime={runtime} aui={aui}>
      {address.get("tools") !== "off" && <ShowPage />}
      <Newest value={newest}>
        <Views value={views}>
          <Thread agent={agent} runtime={runtime} loaded={loaded} failure={failure} onFailure={setFailure} />
        </Views>
      </Newest>
    </AssistantRuntimeProvider>
  );
}

interface ThreadProps {
  agent: HttpAgent;
  runtime: AgUiAssistantRuntime;
  loaded: boolean;
  failure?: Error;
  onFailure: (failure: Error) => void;
}

/** What was said, what is asked, what went wrong, and the box for messages. */
function Thread({ agent, runtime, loaded, failure, onFailure }: ThreadProps) {
  const asked = useKept({ agent, runtime });
  const open = useAgUiInterrupts().length > 0;
  const lines = useAuiState(({ thread }) => askedOf(thread.messages).length > 0);
  // What is asked in the lines has no cards either while the answers are on their way.
  const inLines = useRef(false);
  if (open) inLines.current = inline && lines;
  const cards = inLines.current ? [] : asked;
  const stop = async () => {
    const path = `${url}/threads/${encodeURIComponent(thread)}/stop`;
    const answer = await fetch(path, { method: "POST", headers }).catch(() => undefined);
    if (!answer?.ok) onFailure(new Error("The stop did not arrive. The run may go on."));
  };
  return (
    <ThreadPrimitive.Root className="thread">
      <main tabIndex={0} aria-label="Conversation">
        <h1>agui-bridge with assistant-ui</h1>
        <Place value={{ url, thread }}>
          {inline ? (
            <InlineApprovals url={url} thread={thread}>
              <Messages />
            </InlineApprovals>
          ) : (
            <Messages />
          )}
        </Place>
        <Waiting interrupts={cards} url={url} thread={thread} check={address.get("check") !== "off"} />
        <State loaded={loaded} onFailure={onFailure} />
      </main>
      {/* A card tells itself why its answer was not taken. */}
      <Notice failure={cards.length ? undefined : failure} />
      <footer>
        <Composer loaded={loaded} onStop={stop} />
      </footer>
    </ThreadPrimitive.Root>
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

/** The state that agent and page share, if there is any. A new thread's is what the page's address gives. */
function State({ loaded, onFailure }: Pick<ThreadProps, "loaded" | "onFailure">) {
  const state = useAgUiState();
  const setState = useAgUiSetState();
  useEffect(() => {
    const given = address.get("state");
    if (!loaded || !given) return;
    try {
      const first = JSON.parse(given);
      setState((kept) => kept ?? first);
    } catch {
      onFailure(new Error("The state in the page's address is not JSON."));
    }
  }, [loaded, setState, onFailure]);
  if (!state || !Object.keys(state).length) return null;
  return (
    <section aria-label="State">
      <pre>{JSON.stringify(state)}</pre>
    </section>
  );
}

/** A new thread, which a reload finds again. */
function begin(): string {
  const made = `thread-${crypto.randomUUID().slice(0, 8)}`;
  address.set("thread", made);
  window.history.replaceState(null, "", `?${address}`);
  return made;
}
