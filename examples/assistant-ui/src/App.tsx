// A page made with assistant-ui on one thread of one agent.
//
//     ?url=ADDRESS OF THE AGENT&thread=ID&refusals=ask|error&check=off

import { HttpAgent } from "@ag-ui/client";
import {
  ActionBarPrimitive,
  AssistantRuntimeProvider,
  AuiIf,
  ComposerPrimitive,
  makeAssistantTool,
  MessagePrimitive,
  ThreadPrimitive,
  type ToolCallMessagePartProps,
} from "@assistant-ui/react";
import { type AgUiAssistantRuntime, useAgUiInterrupts, useAgUiRuntime, useAgUiState } from "@assistant-ui/react-ag-ui";
import { useMemo, useRef, useState } from "react";

import { bridgeHistory } from "./history";
import { Waiting } from "./Waiting";

const address = new URLSearchParams(location.search);
const url = address.get("url") ?? "http://127.0.0.1:8787/agents/ops";
const thread = address.get("thread") ?? begin();
// With RUN_ERROR assistant-ui would take the question for gone.
const headers = { "AG-UI-Refusals": address.get("refusals") ?? "ask" };

export function App() {
  const agent = useMemo(() => new HttpAgent({ url, threadId: thread, headers }), []);
  const reached = useRef<AgUiAssistantRuntime>(null);
  const [loaded, setLoaded] = useState(false);
  const history = useMemo(() => {
    const onState = (state: unknown) =>
      reached.current?.thread.importExternalState(state);
    const bridge = bridgeHistory({ url, thread, headers, onState });
    // What is said before the conversation is there, its loading would wipe out.
    const ready = () => setTimeout(() => setLoaded(true));
    return { ...bridge, load: () => bridge.load().finally(ready) };
  }, []);
  const [failure, setFailure] = useState("");
  const runtime = useAgUiRuntime({
    agent,
    adapters: { history },
    onError: (error) => setFailure(error.message),
  });
  reached.current = runtime;
  return (
    <AssistantRuntimeProvider runtime={runtime}>
      <ShowPage />
      <ThreadPrimitive.Root className="thread">
        <main>
          <h1>agui-bridge with assistant-ui</h1>
          <ThreadPrimitive.Messages components={{ AssistantMessage: Message, UserMessage: Said, UserEditComposer: SaidAnew }} />
          <Waiting url={url} thread={thread} check={address.get("check") !== "off"} />
          <State />
        </main>
        {failure && (
          <div className="notice" role="alert">
            {failure} <button onClick={() => location.reload()}>Reload</button>
          </div>
        )}
        <footer>
          <ComposerPrimitive.Root className="composer">
            <ComposerPrimitive.Input
              aria-label="Message"
              placeholder="Say something"
              rows={1}
              disabled={!loaded}
            />
            <AuiIf condition={({ thread }) => thread.isRunning}>
              <ComposerPrimitive.Cancel>Stop</ComposerPrimitive.Cancel>
            </AuiIf>
            <AuiIf condition={({ thread }) => !thread.isRunning}>
              <ComposerPrimitive.Send>Send</ComposerPrimitive.Send>
            </AuiIf>
          </ComposerPrimitive.Root>
        </footer>
      </ThreadPrimitive.Root>
    </AssistantRuntimeProvider>
  );
}

function Message() {
  return (
    <MessagePrimitive.Root className="message">
      <MessagePrimitive.Parts components={{ tools: { Fallback: ToolLine } }} />
    </MessagePrimitive.Root>
  );
}

function Said() {
  const asked = useAgUiInterrupts().length > 0;
  return (
    <MessagePrimitive.Root className="message said">
      <MessagePrimitive.Parts />
      {/* Alone in the page's input, the first message would be one of a new page: it would replace nothing. */}
      <AuiIf condition={({ message, thread }) => message.parentId !== null && !thread.isRunning && !asked}>
        <ActionBarPrimitive.Edit className="change">Change</ActionBarPrimitive.Edit>
      </AuiIf>
    </MessagePrimitive.Root>
  );
}

/** Something else in place of a message; what followed it is gone. */
function SaidAnew() {
  return (
    <MessagePrimitive.Root className="message said">
      <ComposerPrimitive.Root className="composer">
        <ComposerPrimitive.Input aria-label="Say instead" rows={1} />
        <ComposerPrimitive.Cancel className="quiet">Back</ComposerPrimitive.Cancel>
        <ComposerPrimitive.Send>Say it</ComposerPrimitive.Send>
      </ComposerPrimitive.Root>
    </MessagePrimitive.Root>
  );
}

/** A tool call: its name, and what came of it. */
function ToolLine({ toolName, result }: ToolCallMessagePartProps) {
  return (
    <p className="tool">
      <code>{toolName}</code> {result === undefined ? "waiting" : textOf(result)}
    </p>
  );
}

const textOf = (value: unknown) => (typeof value === "string" ? value : JSON.stringify(value));

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

/** A new thread, which a reload finds again. */
function begin(): string {
  const made = `thread-${crypto.randomUUID().slice(0, 8)}`;
  address.set("thread", made);
  window.history.replaceState(null, "", `?${address}`);
  return made;
}
