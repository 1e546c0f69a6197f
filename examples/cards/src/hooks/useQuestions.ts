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

/** All but what is about some questions. */
const without = <Value>(all: Record<string, Value>, ids: string[]) =>
  Object.fromEntries(Object.entries(all).filter(([id]) => !ids.includes(id)));

/** The answers to all that is asked, until they are sent. */
export function useQuestions({ interrupts, send, each = false, elsewhere = {} }: QuestionsOptions) {
  const [given, setGiven] = useState<Record<string, Given>>({});
  const [failures, setFailures] = useState<Record<string, string>>({});
  // Asked again, as after a refusal, they can be answered again; what stays as it was stays answered.
  const asked = interrupts.map((ask) => `${ask.id} ${refusalOf(ask)?.message ?? ""}`);
  const known = useRef(asked);
  useEffect(() => {
    const stay = interrupts.filter((_, place) => known.current.includes(asked[place] as string));
    known.current = asked;
    const gone = Object.keys({ ...given, ...failures }).filter((id) => !stay.some((ask) => ask.id === id));
    setGiven((now) => without(now, gone));
    setFailures((now) => without(now, gone));
  }, [asked.join("\n")]);
  const mine = interrupts.some(({ id }) => id in given);
  const sending = mine && interrupts.every(({ id }) => id in given || id in elsewhere);
  // Refused anew in the same words, it is another refusal all the same.
  const refusals = interrupts.map(refusalOf);
  const told = useRef(refusals);
  useEffect(() => {
    const anew = interrupts.filter((_, place) => refusals[place] && refusals[place] !== told.current[place]);
    told.current = refusals;
    if (anew.length && sending) setGiven((now) => without(now, anew.map(({ id }) => id)));
  });

  const give = (answer: Answer, summary: string) => {
    const { interruptId } = answer;
    setGiven((now) => ({ ...now, [interruptId]: { answer, summary } }));
    setFailures(each ? ({ [interruptId]: _, ...others }) => others : {});
    if (each) void handOver([answer]);
  };
  const handOver = async (answers: Answer[]) => {
    try {
      await send(answers);
    } catch (error) {
      const failed = answers.map(({ interruptId }) => interruptId);
      const text = error instanceof Error ? error.message : String(error);
      setGiven((now) => without(now, failed));
      setFailures((now) => ({ ...now, ...Object.fromEntries(failed.map((id) => [id, text])) }));
    }
  };
  // The last answer may be somebody else's.
  useEffect(() => {
    if (sending && !each) void handOver(interrupts.map(({ id }) => (given[id]?.answer ?? elsewhere[id]) as Answer));
  }, [sending]);
  return {
    given,
    /** Why answers were not taken, by the ids of their questions. */
    failures,
    answer: (id: string, payload: unknown, summary: string) =>
      give({ interruptId: id, status: "resolved", payload }, summary),
    cancel: (id: string) => give({ interruptId: id, status: "cancelled" }, "Cancelled"),
    /** Take an answer back that waits for the others. */
    change: (id: string) => setGiven(({ [id]: _, ...others }) => others),
    sending,
  };
}
