import type { Interrupt, Message } from "@copilotkit/react-core/v2";
import { useState } from "react";

import { type Asks, useBridge } from "../bridge";
import { cardFor } from "./cards";
import type { Call } from "./question";

interface QuestionsProps {
  asks: Interrupt[];
  messages: Message[];
  check: boolean;
  /** Where the bridge lists what is open in this conversation. */
  server: string;
  path: string;
  onReload?: () => void;
  onAnswer: (payload: unknown, id: string) => Promise<unknown>;
  onCancel: (id: string) => Promise<unknown>;
}

/** All that the agent waits for. CopilotKit sends the answers once there is one to each. */
export function Questions(props: QuestionsProps) {
  const { asks, messages, check, server, path, onReload, onAnswer, onCancel } = props;
  const [answered, setAnswered] = useState<Record<string, string>>({});
  const open = useBridge<Asks>(server, `${path}/interrupts?status=open`)?.interrupts;
  const stale = open && !asks.some(({ id }) => id in answered || open.some((ask) => ask.id === id));
  const done = (id: string, summary: string, sent: Promise<unknown>) => {
    setAnswered((before) => ({ ...before, [id]: summary }));
    // The notice above the chat says what went wrong.
    sent.catch(() => {});
  };
  return (
    <section className="questions" aria-label="Waiting for you">
      {stale && onReload && (
        <p className="stale">
          Somebody has answered in another tab, or the time is over.
          <button className="plain" onClick={onReload}>
            Show the outcome
          </button>
        </p>
      )}
      {asks.length > 1 && (
        <p className="count">
          {asks.length} questions, answered together: {Object.keys(answered).length} of{" "}
          {asks.length} done
        </p>
      )}
      {asks.map((ask) => {
        const Card = cardFor(ask);
        return ask.id in answered ? (
          <div className="card answered" key={ask.id}>
            <span>{ask.message}</span> <strong>{answered[ask.id]}</strong>
          </div>
        ) : (
          <Card
            key={ask.id}
            ask={ask}
            call={callOf(ask, messages)}
            check={check}
            onAnswer={(payload, summary) => done(ask.id, summary, onAnswer(payload, ask.id))}
            onCancel={() => done(ask.id, "Cancelled", onCancel(ask.id))}
          />
        );
      })}
    </section>
  );
}

/** An interrupt names the call that it gates; what is called stands in the conversation. */
function callOf(ask: Interrupt, messages: Message[]): Call | undefined {
  for (const message of messages) {
    if (message.role !== "assistant") continue;
    const found = message.toolCalls?.find(({ id }) => id === ask.toolCallId);
    if (found) return { name: found.function.name, args: JSON.parse(found.function.arguments) };
  }
  return undefined;
}
