import { type Answer, Questions as Cards, useRecords } from "@agui-bridge/react-cards";
import type { Interrupt, Message } from "@copilotkit/react-core/v2";

import { DatabaseCard } from "./DatabaseCard";

/** Cards of this page's own, by the reason of the question; the package has one for all others. */
const CARDS = { database_modification: DatabaseCard };

interface QuestionsProps {
  asks: Interrupt[];
  messages: Message[];
  check: boolean;
  /** The agent's own URL, where the bridge tells what it knows of its questions. */
  url: string;
  thread: string;
  onReload?: () => void;
  send: (answers: Answer[]) => Promise<unknown>;
}

/** All that the agent waits for. */
export function Questions(props: QuestionsProps) {
  const { asks, messages, check, url, thread, onReload, send } = props;
  const records = useRecords({ url, thread: asks.length ? thread : null });
  return (
    <Cards
      interrupts={asks}
      records={records}
      callOf={(ask) => callOf(ask.toolCallId, messages)}
      cards={CARDS}
      check={check}
      send={send}
      onReload={onReload}
    />
  );
}

/** An interrupt names the call that it gates; what is called stands in the conversation. */
function callOf(id: string | undefined, messages: Message[]) {
  for (const message of messages) {
    if (message.role !== "assistant") continue;
    const found = message.toolCalls?.find((call) => call.id === id);
    if (found) return { name: found.function.name, args: argsOf(found.function.arguments) };
  }
  return undefined;
}

/** What a model writes need not be JSON, nor an object; a card that can't be drawn would take the page with it. */
function argsOf(text: string): Record<string, unknown> {
  try {
    const args = JSON.parse(text) ?? {};
    return typeof args === "object" ? args : { arguments: args };
  } catch {
    return { arguments: text };
  }
}
