import {
  canonicalInterruptJson,
  digestInterruptJson,
  type Interrupt,
  type StreamChunk,
  withInterruptBinding,
} from "@tanstack/ai/client";
import { fetchServerSentEvents, type ResumableConnectConnectionAdapter } from "@tanstack/ai-client";

import { Calls } from "./calls";
import { Newest } from "./newest";

interface Place {
  /** The agent's own: `https://agents.example/agents/ops`. */
  url: string;
  thread: string;
  headers?: Record<string, string>;
  /** TanStack AI tells nobody that a conversation can't be read, and shows an empty one. */
  onUnread?: (error: Error) => void;
}

export interface BridgeConnection extends ResumableConnectConnectionAdapter {
  /** A question as it was asked: TanStack AI sorts the members of its schema, and so the fields of a form. */
  asked(interruptId: string): Interrupt | undefined;
  /** Asks the bridge to stop: TanStack AI only breaks the connection, and the run may go on without it. */
  stop(): Promise<void>;
  /** Says with the next run what the page knew: only then do tool calls give way to another answer. */
  goBack(): void;
}

/** How TanStack AI reaches a thread of the bridge: its questions can be answered, also after a reload. */
export function bridgeConnection({ url, thread, headers = {}, onUnread }: Place): BridgeConnection {
  const asked = new Map<string, Interrupt>();
  const newest = new Newest();
  const calls = new Calls();
  let sign: string | undefined;
  const bound = (chunks: AsyncIterable<StreamChunk>, runId: string, said?: string) =>
    bindAll(newest.hear(chunks, said), (interrupt) => {
      asked.set(interrupt.id, interrupt);
      return bind(interrupt, runId);
    });
  const path = `${url}/threads/${encodeURIComponent(thread)}`;
  const runs = fetchServerSentEvents(url, () => {
    const newestKnown = sign && { "AG-UI-Newest": sign };
    sign = undefined;
    // A RUN_ERROR would take the question away.
    return { headers: { "AG-UI-Refusals": "ask", ...newestKnown, ...headers } };
  });
  const follows = fetchServerSentEvents(`${path}/connect`, { headers });
  return {
    asked: (interruptId) => asked.get(interruptId),
    async stop() {
      const answer = await fetch(`${path}/stop`, { method: "POST", headers }).catch(() => undefined);
      if (!answer?.ok) throw new Error("The stop did not arrive. The run may go on.");
    },

    goBack() {
      sign = newest.id;
    },

    async *connect(messages, data, signal, context) {
      const tools = context?.clientTools?.map(({ name }) => name) ?? [];
      const chunks = runs.connect(messages, data, signal, context);
      const last = messages.at(-1) as { id?: string; role: string } | undefined;
      const said = last?.role === "user" ? last.id : undefined;
      yield* calls.hear(bound(chunks, context?.runId ?? "", said), (ids) =>
        ids.filter((id) => tools.includes(calls.toolOf(id))),
      );
    },

    /** What was said, what is open, and the run that goes on, if one does. */
    async *joinRun(runId, signal) {
      try {
        const chunks = follows.connect([], undefined, signal, { threadId: thread, runId });
        yield* calls.hear(bound(chunks, runId), async (ids) => {
          const waiting = await pending(path, headers);
          return ids.filter((id) => waiting.includes(id));
        });
      } catch (error) {
        if (!signal?.aborted) onUnread?.(error as Error);
        throw error;
      }
    },

    async hydrate() {
      const answer = await fetch(path, { headers }).catch(() => undefined);
      // A thread begins with its first message.
      if (answer?.status === 404) return { messages: [], interrupts: null, activeRun: null };
      if (!answer?.ok) {
        const why = answer ? `The server answered HTTP ${answer.status}.` : "The server can't be reached.";
        const error = new Error(why);
        onUnread?.(error);
        throw error;
      }
      // The connect route tells all of it.
      return { messages: [], interrupts: null, activeRun: { runId: crypto.randomUUID() } };
    },
  };
}

/** The calls that wait for a page: others have lost their result. */
async function pending(path: string, headers: Record<string, string>): Promise<string[]> {
  const answer = await fetch(path, { headers }).catch(() => undefined);
  return answer?.ok ? (await answer.json()).pendingToolCallIds : [];
}

/** TanStack AI answers only what is bound to the run that it has begun itself. */
async function* bindAll(
  chunks: AsyncIterable<StreamChunk>,
  bindOne: (interrupt: Interrupt) => Interrupt,
): AsyncGenerator<StreamChunk> {
  for await (const chunk of chunks) {
    if (chunk.type !== "RUN_FINISHED" || chunk.outcome?.type !== "interrupt") {
      yield chunk;
      continue;
    }
    const interrupts = chunk.outcome.interrupts.map(bindOne);
    yield { ...chunk, outcome: { type: "interrupt", interrupts } };
  }
}

function bind(interrupt: Interrupt, interruptedRunId: string): Interrupt {
  const { id, responseSchema } = interrupt;
  const hash = responseSchema && digestInterruptJson(canonicalInterruptJson(responseSchema));
  return withInterruptBinding(interrupt, {
    v: 1,
    kind: "generic",
    interruptId: id,
    interruptedRunId,
    generation: 0,
    ...(hash && { responseSchemaHash: hash }),
  });
}
