import { type ComponentType, useEffect, useRef } from "react";

import { announce } from "../hooks/announce";
import { useFocus } from "../hooks/useFocus";
import { useQuestions } from "../hooks/useQuestions";
import { type AskKind, decidedOf, kindOf } from "../kinds";
import type { Answer, Call, CardProps, Interrupt, QuestionRecord } from "../question";
import { ApprovalCard } from "./ApprovalCard";
import { ConfirmationCard } from "./ConfirmationCard";
import { DoneCard, OPEN } from "./DoneCard";
import { FormCard } from "./FormCard";
import { Guard } from "./Guard";
import { Titles, titlesOf } from "./titles";

const CARDS: Record<AskKind, ComponentType<CardProps>> = {
  approval: ApprovalCard,
  confirmation: ConfirmationCard,
  form: FormCard,
};

/** One's own card for a question, or the one for what its schema says, which may be beyond reading. */
function Shown({ own, ...props }: CardProps & { own?: ComponentType<CardProps> }) {
  const Found = own ?? CARDS[kindOf(props.ask)];
  return <Found {...props} />;
}

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
  /** What screen readers call the cards; a page that shows several needs several names. */
  label?: string;
}

/** All that an agent waits for: a card for each, which are answered together. */
export function Questions(props: QuestionsProps) {
  const { interrupts, send, each, records, callOf, cards = {}, check, onReload, label = "Waiting for you" } = props;
  const place = useRef<HTMLElement>(null);
  const elsewhere = Object.fromEntries(
    (records ?? []).flatMap(({ id, status, answer }) =>
      status === "answered" && answer ? [[id, { interruptId: id, ...answer } as Answer]] : [],
    ),
  );
  const { given, failures, answer, cancel, change, sending } = useQuestions({ interrupts, send, each, elsewhere });
  const asked = interrupts.map(({ id }) => id).join(" ") || null;
  // Of answers that failed together the first one says why.
  const failed = interrupts.filter(({ id }, place) => {
    const before = interrupts.slice(0, place);
    return id in failures && !before.some((other) => failures[other.id] === failures[id]);
  });
  const titles = titlesOf(interrupts);
  useFocus(place, asked);
  useEffect(() => {
    const [first] = interrupts;
    if (!first) return;
    const count = interrupts.length > 1 ? `${interrupts.length} questions wait for you: ` : "";
    announce(count + Object.values(titles).join(" "));
  }, [asked]);
  // The button that was pressed is gone: the next card is the one to go to.
  const answered = Object.keys(given).length;
  const changed = useRef<string>(null);
  useEffect(() => {
    const open = [...(place.current?.querySelectorAll<HTMLElement>(OPEN) ?? [])];
    // An answer that was not taken leaves the focus nowhere, too.
    const id = changed.current ?? failed[0]?.id;
    const again = open.find(({ parentElement }) => id && parentElement?.dataset.ask === id);
    if (again ?? answered) (again ?? open[0])?.focus();
    changed.current = null;
  }, [answered, failures]);

  // A cancel decides nothing any more: the bridge says so, and what is asked is gone.
  const shows = onReload ? "Show the outcome" : "Dismiss";

  if (!interrupts.length) return null;
  const done = interrupts.filter(({ id }) => id in given || id in elsewhere).length;
  return (
    <Titles.Provider value={titles}>
      <section className="agc" ref={place} aria-label={label}>
        {interrupts.length > 1 && (
          <p className="agc-count">
            {interrupts.length} questions, answered together: {done} of {interrupts.length} done
          </p>
        )}
        {interrupts.map((ask) => {
          const record = records?.find(({ id }) => id === ask.id);
          const mine = given[ask.id];
          const decided = mine ? undefined : decidedOf(record);
          if (decided)
            return (
              <DoneCard
                key={ask.id}
                ask={ask}
                what={decided}
                elsewhere
                // Its answer waits for those to the others.
                button={ask.id in elsewhere && done < interrupts.length ? undefined : shows}
                onClick={onReload ?? (() => cancel(ask.id))}
              />
            );
          const own = Object.hasOwn(cards, ask.reason) ? cards[ask.reason] : undefined;
          const shared = {
            ask,
            call: callOf?.(ask) ?? record?.toolCall,
            failure: failed.includes(ask) ? failures[ask.id] : undefined,
            onCancel: () => cancel(ask.id),
          };
          const again = () => {
            changed.current = ask.id;
            change(ask.id);
          };
          return (
            <div key={ask.id}>
              {mine && (
                <DoneCard ask={ask} what={mine.summary} button={each || sending ? undefined : "Change"} onClick={again} />
              )}
              {/* Out of sight, what was typed is still there if the answer is not taken. */}
              <div hidden={!!mine} data-ask={ask.id}>
                <Guard {...shared}>
                  <Shown
                    {...shared}
                    own={own}
                    record={record}
                    check={check}
                    onAnswer={(payload, summary) => answer(ask.id, payload, summary)}
                  />
                </Guard>
              </div>
            </div>
          );
        })}
      </section>
    </Titles.Provider>
  );
}
