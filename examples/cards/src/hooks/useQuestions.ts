import { useEffect, useState } from "react";

import { refusalOf } from "../kinds";
import type { Answer, Interrupt } from "../question";

export interface Given {
  answer: Answer;
  /** In a word: Approved, Denied. */
  summary: string;
}

interface QuestionsOptions {
  interrupts: readonly Interrupt[];
  /** Takes the answers; what it throws is shown on the cards, which can be answered again. */
  send: (answers: Answer[]) => unknown;
  /** Each answer is handed over at once, for clients that collect them; else all together. */
  each?: boolean;
}

/** The answers to all that is asked, until they are sent. */
export function useQuestions({ interrupts, send, each = false }: QuestionsOptions) {
  const [given, setGiven] = useState<Record<string, Given>>({});
  const [failure, setFailure] = useState<string | null>(null);
  // Asked again, as after a refusal, they can be answered again.
  const asked = interrupts.map((ask) => `${ask.id} ${refusalOf(ask)?.message ?? ""}`).join("\n");
  useEffect(() => {
    setGiven({});
    setFailure(null);
  }, [asked]);

  const give = (answer: Answer, summary: string) => {
    const next = { ...given, [answer.interruptId]: { answer, summary } };
    setGiven(next);
    setFailure(null);
    const complete = interrupts.every(({ id }) => id in next);
    const answers = each ? [answer] : interrupts.map(({ id }) => next[id]?.answer as Answer);
    if (each || complete) void handOver(answers);
  };
  const handOver = async (answers: Answer[]) => {
    try {
      await send(answers);
    } catch (error) {
      setGiven({});
      setFailure(error instanceof Error ? error.message : String(error));
    }
  };
  return {
    given,
    failure,
    answer: (id: string, payload: unknown, summary: string) =>
      give({ interruptId: id, status: "resolved", payload }, summary),
    cancel: (id: string) => give({ interruptId: id, status: "cancelled" }, "Cancelled"),
    /** Take an answer back that waits for the others. */
    change: (id: string) => {
      const { [id]: _, ...rest } = given;
      setGiven(rest);
    },
    sending: interrupts.length > 0 && interrupts.every(({ id }) => id in given),
  };
}
