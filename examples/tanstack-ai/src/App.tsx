// A page made with TanStack AI on one thread of one agent.
//
//     ?url=ADDRESS OF THE AGENT&thread=ID&check=off&tools=off

import { type Answer, Questions, reached, useRecords } from "@agui-bridge/react-cards";
import { toolDefinition } from "@tanstack/ai/client";
import { useChat } from "@tanstack/ai-react";
import { type SyntheticEvent, useMemo, useState } from "react";

import { bridgeConnection } from "./bridge";

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
  const connection = useMemo(() => bridgeConnection({ url, thread }), []);
  const { messages, sendMessage, isLoading, stop, interrupts, error, addToolResult } = useChat({
    threadId: thread,
    connection,
    // The bridge has the conversation, and a page that is loaded anew asks it.
    persistence: true,
    tools,
  });
  const asked = useMemo(
    () => interrupts.map((bound) => connection.asked(bound.id) ?? bound),
    [interrupts, connection],
  );
  const said = messages.findLastIndex(({ role }) => role === "user");
  const records = useRecords({ url, thread: interrupts.length ? thread : null });
  // TanStack AI sends the answers together, once each question has one, and shows the cards anew if
  // they do not arrive: what was typed would be lost.
  const send = async (answers: Answer[]) => {
    await reached({ url, thread });
    for (const answer of answers) {
      const bound = interrupts.find(({ id }) => id === answer.interruptId);
      if (bound?.kind !== "generic") continue;
      if (answer.status === "cancelled") bound.cancel();
      else bound.resolveInterrupt(answer.payload);
    }
  };
  return (
    <div className="thread">
      <main>
        <h1>agui-bridge with TanStack AI</h1>
        {messages.map(({ id, role, parts }, turn) => (
          <div key={id} className={role === "user" ? "message said" : "message"}>
            {parts.map((part, place) => {
              if (part.type === "text") return <p key={place}>{part.content}</p>;
              if (part.type !== "tool-call") return null;
              const { id: toolCallId, name: tool, output } = part;
              const skip = () => addToolResult({ toolCallId, tool, output: SKIPPED });
              const waits = turn > said && !isLoading && !interrupts.length;
              return <ToolLine key={place} name={tool} output={output} onSkip={waits ? skip : undefined} />;
            })}
          </div>
        ))}
        <Questions
          interrupts={asked}
          records={records}
          check={address.get("check") !== "off"}
          send={send}
          onReload={() => location.reload()}
        />
      </main>
      {error && (
        <div className="notice" role="alert">
          {textOf(error)} <button onClick={() => location.reload()}>Reload</button>
        </div>
      )}
      <Composer running={isLoading} waiting={interrupts.length > 0} onSay={sendMessage} onStop={stop} />
    </div>
  );
}

interface ComposerProps {
  running: boolean;
  /** TanStack AI sends nothing while a question is open. */
  waiting: boolean;
  onSay: (text: string) => unknown;
  onStop: () => void;
}

function Composer({ running, waiting, onSay, onStop }: ComposerProps) {
  const [text, setText] = useState("");
  const submit = (event: SyntheticEvent) => {
    event.preventDefault();
    onSay(text);
    setText("");
  };
  return (
    <footer>
      <form className="composer" onSubmit={submit}>
        <textarea
          aria-label="Message"
          placeholder={waiting ? "Answer first" : "Say something"}
          rows={1}
          value={text}
          onChange={({ target }) => setText(target.value)}
          onKeyDown={(event) => {
            // Enter sends, Shift+Enter begins a line; an input method's Enter only picks a word.
            if (event.key !== "Enter" || event.shiftKey || event.nativeEvent.isComposing) return;
            event.preventDefault();
            if (!running && !waiting && text) submit(event);
          }}
        />
        {running ? (
          <button type="button" onClick={onStop}>
            Stop
          </button>
        ) : (
          <button disabled={waiting || !text}>Send</button>
        )}
      </form>
    </footer>
  );
}

const SKIPPED = "No page has carried out this call.";

interface ToolLineProps {
  name: string;
  output?: unknown;
  /** Nothing runs and nobody is asked: the agent waits for a tool that no page has carried out. */
  onSkip?: () => void;
}

/** A tool call: its name, and what came of it. */
function ToolLine({ name, output, onSkip }: ToolLineProps) {
  const told = typeof output === "string" ? output : JSON.stringify(output);
  const waiting = onSkip ? "waits for a page that has this tool." : "waiting";
  return (
    <p className="tool">
      <code>{name}</code> {output == null ? waiting : told}{" "}
      {output == null && onSkip && <button onClick={onSkip}>Skip {name}</button>}
    </p>
  );
}

/** What went wrong. That nothing answers, TanStack AI says in words that help nobody. */
const textOf = ({ message }: Error) =>
  message === "Stream response body read failed" ? "The connection to the server broke off." : message;

/** A new thread, which a reload finds again. */
function begin(): string {
  const made = `thread-${crypto.randomUUID().slice(0, 8)}`;
  address.set("thread", made);
  window.history.replaceState(null, "", `?${address}`);
  return made;
}
