import { type ComponentType, useEffect, useRef } from "react";

import { announce } from "../hooks/announce";
import { useFocus } from "../hooks/useFocus";
import { useQuestions } from "../hooks/useQuestions";
import { type AskKind, decidedOf, kindOf, titleOf } from "../kinds";
import type { Answer, Call, CardProps, Interrupt, QuestionRecord } from "../question";
import { ApprovalCard } from "./ApprovalCard";
import { ConfirmationCard } from "./ConfirmationCard";
import { FormCard } from "./FormCard";

const CARDS: Record<AskKind, ComponentType<CardProps>> = {
  approval: ApprovalCard,
  confirmation: ConfirmationCard,
  form: FormCard,
};

const OPEN = "div:not([hidden]) > article";

export interface QuestionsProps {
  interrupts: readonly Interrupt[];
  /** Takes the answers; what it throws is shown, and the cards can be answered again. */
  send: (answers: Answer[]) => unknown;
  /** Each answer is handed over at once, for clients that collect them; else all together. */
  each?: boolean;
  /** What the bridge knows of them: `useRecords`. Without it nothing is told of other people. */
  records?: QuestionRecord[] | null;
  /** The call that a question is about; without it the record's. */
  callOf?: (ask: Interrupt) => Call | undefined;
  /** Cards of your own, by `reason`. */
  cards?: Record<string, ComponentType<CardProps>>;
  /** Whether forms check answers before they are sent; the bridge does in any case. */
  check?: boolean;
  /** Shows what came of a question that was decided elsewhere. */
  onReload?: () => void;
}

/** All that an agent waits for: a card for each, which are answered together. */
export function Questions(props: QuestionsProps) {
  const { interrupts, send, each, records, callOf, cards = {}, check, onReload } = props;
  const place = useRef<HTMLElement>(null);
  const { given, failure, answer, cancel, change, sending } = useQuestions({ interrupts, send, each });
  const asked = interrupts.map(({ id }) => id).join(" ") || null;
  useFocus(place, asked);
  useEffect(() => {
    const [first] = interrupts;
    if (!first) return;
    const count = interrupts.length > 1 ? `${interrupts.length} questions wait for you: ` : "";
    announce(count + interrupts.map(titleOf).join(" "));
  }, [asked]);
  // The button that was pressed is gone: the next card is the one to go to.
  const answered = Object.keys(given).length;
  const changed = useRef<string>(null);
  useEffect(() => {
    const open = [...(place.current?.querySelectorAll<HTMLElement>(OPEN) ?? [])];
    const again = open.find(({ parentElement }) => parentElement?.dataset.ask === changed.current);
    if (again ?? answered) (again ?? open[0])?.focus();
    changed.current = null;
  }, [answered]);

  // A cancel decides nothing any more: the bridge says so, and what is asked is gone.
  const shows = onReload ? "Show the outcome" : "Dismiss";

  if (!interrupts.length) return null;
  return (
    <section className="agc" ref={place} aria-label="Waiting for you">
      {interrupts.length > 1 && (
        <p className="agc-count">
          {interrupts.length} questions, answered together: {answered} of {interrupts.length} done
        </p>
      )}
      {interrupts.map((ask) => {
        const record = records?.find(({ id }) => id === ask.id);
        const decided = given[ask.id] ? undefined : decidedOf(record);
        if (decided)
          return (
            <div className="agc-card agc-done" key={ask.id}>
              <span>{titleOf(ask)}</span> <strong>{decided}</strong>
              <button
                className="agc-plain"
                aria-label={`${shows}: ${titleOf(ask)}`}
                onClick={onReload ?? (() => cancel(ask.id))}
              >
                {shows}
              </button>
            </div>
          );
        const Shown = cards[ask.reason] ?? CARDS[kindOf(ask)];
        const done = given[ask.id];
        return (
          <div key={ask.id}>
            {done && (
              <div className="agc-card agc-done">
                <span>{titleOf(ask)}</span> <strong>{done.summary}</strong>
                {!each && !sending && (
                  <button
                    className="agc-quiet"
                    aria-label={`Change: ${titleOf(ask)}`}
                    onClick={() => {
                      changed.current = ask.id;
                      change(ask.id);
                    }}
                  >
                    Change
                  </button>
                )}
              </div>
            )}
            {/* Out of sight, what was typed is still there if the answer is not taken. */}
            <div hidden={!!done} data-ask={ask.id}>
              <Shown
                ask={ask}
                record={record}
                call={callOf?.(ask) ?? record?.toolCall}
                check={check}
                failure={failure ?? undefined}
                onAnswer={(payload, summary) => answer(ask.id, payload, summary)}
                onCancel={() => cancel(ask.id)}
              />
            </div>
          </div>
        );
      })}
    </section>
  );
}
