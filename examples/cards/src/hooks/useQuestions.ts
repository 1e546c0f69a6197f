import { useEffect, useRef, useState } from "react";

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
  /** What others have answered already, which is sent again with the rest: the bridge takes it for the same. */
  elsewhere?: Record<string, Answer>;
}

/** The answers to all that is asked, until they are sent. */
export function useQuestions({ interrupts, send, each = false, elsewhere = {} }: QuestionsOptions) {
  const [given, setGiven] = useState<Record<string, Given>>({});
  const [failure, setFailure] = useState<string | null>(null);
  // Asked again, as after a refusal, they can be answered again.
  const asked = interrupts.map((ask) => `${ask.id} ${refusalOf(ask)?.message ?? ""}`).join("\n");
  useEffect(() => {
    setGiven({});
    setFailure(null);
  }, [asked]);
  const mine = interrupts.some(({ id }) => id in given);
  const sending = mine && interrupts.every(({ id }) => id in given || id in elsewhere);
  // Refused anew in the same words, it is another refusal all the same.
  const refusals = interrupts.map(refusalOf);
  const told = useRef(refusals);
  useEffect(() => {
    const anew = refusals.some((refusal, place) => refusal && refusal !== told.current[place]);
    told.current = refusals;
    if (anew && sending) setGiven({});
  });

  const give = (answer: Answer, summary: string) => {
    setGiven({ ...given, [answer.interruptId]: { answer, summary } });
    setFailure(null);
    if (each) void handOver([answer]);
  };
  const handOver = async (answers: Answer[]) => {
    try {
      await send(answers);
    } catch (error) {
      const failed = answers.map(({ interruptId }) => interruptId);
      setGiven((now) => Object.fromEntries(Object.entries(now).filter(([id]) => !failed.includes(id))));
      setFailure(error instanceof Error ? error.message : String(error));
    }
  };
  // The last answer may be somebody else's.
  useEffect(() => {
    if (sending && !each) void handOver(interrupts.map(({ id }) => (given[id]?.answer ?? elsewhere[id]) as Answer));
  }, [sending]);
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
    sending,
  };
}
