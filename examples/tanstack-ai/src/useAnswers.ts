import { type Answer, type Interrupt, reached } from "@agui-bridge/react-cards";
import type { StreamChunk } from "@tanstack/ai/client";
import type { BoundInterrupts } from "@tanstack/ai-client";
import { useRef, useState } from "react";

import { wordsOf } from "./failure";

interface Place {
  /** The agent's own: `https://agents.example/agents/ops`. */
  url: string;
  thread: string;
}

/**
 * Questions and their answers. TanStack AI takes the questions away when it sends the answers, and shows them anew
 * if they don't arrive. Here they stay until the start of a run shows that the answers have arrived: a card keeps
 * what was typed.
 */
export function useAnswers(place: Place) {
  const [sent, setSent] = useState<readonly Interrupt[]>([]);
  const [failed, setFailed] = useState(false);
  const arrival = useRef<PromiseWithResolvers<void>>(null);
  return {
    /** For `useChat`. */
    heard: {
      onChunk: ({ type }: StreamChunk) => {
        if (type === "RUN_STARTED") arrival.current?.resolve();
      },
      onError: (error: Error) => arrival.current?.reject(error),
    },
    /** What is asked, or is being answered. */
    shown: (asked: readonly Interrupt[]) => (asked.length ? asked : sent),
    /** Whether the last answers have not arrived, which their cards tell. */
    failed,
    send: async (asked: readonly Interrupt[], bound: BoundInterrupts, answers: Answer[]) => {
      await reached(place);
      setFailed(false);
      setSent(asked);
      for (const answer of answers) {
        const found = bound.find(({ id }) => id === answer.interruptId);
        if (found?.kind !== "generic") throw new Error("It can't be answered here any more. Reload the page.");
        if (answer.status === "cancelled") found.cancel();
        else found.resolveInterrupt(answer.payload);
      }
      arrival.current = Promise.withResolvers<void>();
      try {
        await arrival.current.promise;
      } catch (error) {
        setFailed(true);
        throw new Error(`${wordsOf(error as Error)} The answer may have arrived all the same. Try again: it counts once.`);
      }
      setSent([]);
    },
  };
}
