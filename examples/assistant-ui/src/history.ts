import { HttpAgent } from "@ag-ui/client";
import {
  type ChatModelRunResult,
  ExportedMessageRepository,
  type ThreadHistoryAdapter,
  type ThreadMessageLike,
} from "@assistant-ui/react";
import { type AgUiInterrupt, fromAgUiMessages } from "@assistant-ui/react-ag-ui";

interface Place {
  /** The agent's own: `https://agents.example/agents/ops`. */
  url: string;
  thread: string;
  headers: Record<string, string>;
  /** Is told of the state that a run which goes on has left. */
  onState: (state: unknown) => void;
  /** Is told of all that the bridge has said, under its ids. */
  onMessages: (messages: readonly Message[]) => void;
}

type Message = { id: string; role: string; metadata?: unknown };

/** What was said, what is open and what still runs, from the bridge: for a page that is loaded anew. */
export function bridgeHistory({ url, thread, headers, onState, onMessages }: Place): ThreadHistoryAdapter {
  const path = `${url}/threads/${encodeURIComponent(thread)}`;
  return {
    async load() {
      const answer = await fetch(path, { headers }).catch(() => undefined);
      // A thread begins with its first message.
      if (answer?.status === 404) return { messages: [] };
      if (!answer?.ok) {
        const why = answer ? `The server answered HTTP ${answer.status}.` : "The server can't be reached.";
        throw new Error(`The conversation can't be read. ${why}`);
      }
      const { messages, state, status, interrupts } = await answer.json();
      onMessages(messages);
      const running = status === "running";
      const shown = running ? upToAsked(messages) : withQuestions(messages, interrupts);
      return {
        ...ExportedMessageRepository.fromArray(likesOf(shown, interrupts.length > 0 && !running)),
        state,
        unstable_resume: running,
      };
    },

    /** The run that goes on, from its first word: as HttpAgent hears it. */
    async *resume({ abortSignal }) {
      const watching = new HttpAgent({ url: `${path}/connect`, threadId: thread, headers });
      abortSignal.addEventListener("abort", () => watching.abortRun());
      let told = Promise.withResolvers<void>();
      let over = false;
      const run = watching
        .runAgent({}, { onMessagesChanged: () => told.resolve() })
        .finally(() => {
          over = true;
          told.resolve();
        });
      while (!over) {
        await told.promise;
        told = Promise.withResolvers<void>();
        yield { content: partsOf(watching.messages) } as ChatModelRunResult;
      }
      await run;
      onState(watching.state);
      onMessages(watching.messages);
      const asked = watching.pendingInterrupts as AgUiInterrupt[];
      yield {
        content: partsOf(watching.messages),
        status: asked.length
          ? { type: "requires-action", reason: "interrupt" }
          : { type: "complete", reason: "stop" },
        ...(asked.length && { metadata: { custom: { agui: { interrupts: asked } } } }),
      } as ChatModelRunResult;
    },

    // The bridge has it already.
    async append() {},
  };
}

/** assistant-ui keeps open questions with the last message, which must be the assistant's. */
function withQuestions(messages: Message[], interrupts: unknown[]): Message[] {
  if (!interrupts.length) return messages;
  const metadata = { custom: { agui: { interrupts } } };
  const last = messages.findLastIndex(({ role }) => role === "assistant");
  if (last > messages.findLastIndex(({ role }) => role === "user"))
    return messages.with(last, { ...(messages[last] as Message), metadata });
  return [...messages, { id: "asked", role: "assistant", metadata }];
}

const lastAsked = (messages: readonly Message[]) => messages.findLastIndex(({ role }) => role === "user");

const upToAsked = (messages: Message[]) => messages.slice(0, lastAsked(messages) + 1);

function likesOf(messages: readonly Message[], waiting: boolean): ThreadMessageLike[] {
  const likes = fromAgUiMessages(messages) as ThreadMessageLike[];
  const last = likes.at(-1);
  if (!waiting || !last) return likes;
  return likes.with(-1, { ...last, status: { type: "requires-action", reason: "interrupt" } });
}

/** All that the agent has said since it was asked, as one message. */
function partsOf(messages: readonly Message[]): unknown[] {
  const since = likesOf(messages.slice(lastAsked(messages) + 1), false);
  return since.flatMap(({ content }): readonly unknown[] =>
    typeof content === "string" ? (content ? [{ type: "text", text: content }] : []) : content,
  );
}
