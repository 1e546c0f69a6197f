// A page made with TanStack AI on one thread of one agent.
//
//     ?url=ADDRESS OF THE AGENT&thread=ID&check=off&tools=off

import { Questions, useRecords } from "@agui-bridge/react-cards";
import { toolDefinition } from "@tanstack/ai/client";
import { useChat } from "@tanstack/ai-react";
import { type ReactNode, useMemo, useState } from "react";

import { bridgeConnection } from "./bridge";
import { Composer } from "./Composer";
import { wordsOf } from "./failure";
import { ToolLine } from "./ToolLine";
import { useAnswers } from "./useAnswers";

const address = new URLSearchParams(location.search);
const url = address.get("url") ?? "http://127.0.0.1:8787/agents/ops";
const thread = address.get("thread") ?? begin();

/** A tool of the page's own, which the agent calls: it changes the page's title. */
const showPage = toolDefinition({
  name: "show_page",
  description: "Shows a page to the user.",
  inputSchema: { type: "object", required: ["page"], properties: { page: { type: "string" } } },
}).client((input) => {
  const { page } = input as { page: string };
  document.title = page;
  return `the page ${page}`;
});
const tools = address.get("tools") === "off" ? [] : [showPage];

export function App() {
  const [unread, setUnread] = useState<Error>();
  const connection = useMemo(() => bridgeConnection({ url, thread, onUnread: setUnread }), []);
  const answers = useAnswers({ url, thread });
  const [kept, setKept] = useState<string>();
  const { messages, sendMessage, reload, isLoading, stop, interrupts, error, addToolResult } = useChat({
    threadId: thread,
    connection,
    // The bridge has the conversation, and a page that is loaded anew asks it.
    persistence: true,
    tools,
    ...answers.heard,
    // What the page had not heard of is not taken back, and the bridge says so.
    onCustomEvent: (name, value) => {
      if (name === "agui_bridge.kept") setKept((value as { message: string }).message);
    },
  });
  const asked = useMemo(
    () => interrupts.map((bound) => connection.asked(bound.id) ?? bound),
    [interrupts, connection],
  );
  const shown = answers.shown(asked);
  const said = messages.findLastIndex(({ role }) => role === "user");
  const records = useRecords({ url, thread: shown.length ? thread : null });
  const idle = !isLoading && !shown.length;
  const say = (text: string) => {
    setKept(undefined);
    return sendMessage(text);
  };
  const again = () => {
    setKept(undefined);
    connection.goBack();
    void reload();
  };
  const [stopFailed, setStopFailed] = useState<Error>();
  const end = () => {
    setStopFailed(undefined);
    connection.stop().catch(setStopFailed);
    stop();
  };
  return (
    <div className="thread">
      <main tabIndex={0} aria-label="Conversation">
        <h1>agui-bridge with TanStack AI</h1>
        {messages.map(({ id, role, parts }, turn) => (
          <div key={id} className={role === "user" ? "message said" : "message"}>
            {parts.map((part, place) => {
              if (part.type === "text") return <p key={place}>{part.content}</p>;
              if (part.type !== "tool-call") return null;
              const { id: toolCallId, name: tool, output } = part;
              return (
                <ToolLine
                  key={place}
                  name={tool}
                  id={toolCallId}
                  output={output}
                  url={url}
                  thread={turn > said && idle ? thread : null}
                  onSkip={() => addToolResult({ toolCallId, tool, output: SKIPPED })}
                />
              );
            })}
          </div>
        ))}
        <Questions
          interrupts={shown}
          records={records}
          check={address.get("check") !== "off"}
          send={(given) => answers.send(asked, interrupts, given)}
          onReload={() => location.reload()}
        />
        {idle && messages.at(-1)?.role === "assistant" && (
          <p className="tool">
            <button onClick={again}>Another answer</button>
          </p>
        )}
      </main>
      {unread && <Notice>The conversation can't be read. {wordsOf(unread)}</Notice>}
      {kept && <Notice>{kept}</Notice>}
      {stopFailed && <Notice>{stopFailed.message}</Notice>}
      {error && !answers.failed && <Notice>{wordsOf(error)}</Notice>}
      <Composer running={isLoading} waiting={interrupts.length > 0} onSay={say} onStop={end} />
    </div>
  );
}

const SKIPPED = "No page has carried out this call.";

/** What went wrong. */
function Notice({ children }: { children: ReactNode }) {
  return (
    <div className="notice" role="alert">
      {children} <button onClick={() => location.reload()}>Reload</button>
    </div>
  );
}

/** A new thread, which a reload finds again. */
function begin(): string {
  const made = `thread-${crypto.randomUUID().slice(0, 8)}`;
  address.set("thread", made);
  window.history.replaceState(null, "", `?${address}`);
  return made;
}
