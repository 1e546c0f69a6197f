import { type ReactNode, useContext, useEffect, useId, useLayoutEffect, useRef } from "react";

import { announce } from "../hooks/announce";
import { once, pressed, still } from "../hooks/pressed";
import { duration, useCountdown } from "../hooks/useCountdown";
import { approversOf, refusalOf } from "../kinds";
import type { CardProps } from "../question";
import { visible } from "../visible";
import { Title, useTitleOf } from "./titles";

interface FrameProps extends Pick<CardProps, "ask" | "record" | "disabled" | "failure"> {
  /** Withdraws it, which whoever asked may do whoever is to answer. */
  onCancel?: () => void;
  kind: string;
  /** Coloured by how much it matters. */
  tone?: "plain" | "danger";
  children?: ReactNode;
}

/** The frame of every card: what is asked, until when, by whom to be answered, and what went wrong. */
export function Card(props: FrameProps) {
  const { ask, record, kind, tone = "plain", disabled, failure, onCancel, children } = props;
  const id = useId();
  const title = useTitleOf(ask);
  const left = useCountdown(record?.expiresAt ?? ask.expiresAt);
  const refused = refusalOf(ask);
  const wrong = failure ?? refused?.message;
  const who = approversOf(ask, record);
  const why = record?.mayAnswer === false ? record.why?.message : undefined;
  const told = Object.entries({ wrong, who, why }).flatMap(([name, text]) => (text ? `${id}-${name}` : [])).join(" ");
  const over = left === 0;
  const locked = disabled || over || record?.mayAnswer === false;
  const place = useRef<HTMLElement>(null);
  // Read before it is drawn: what is locked loses the focus at once, and whoever was typing with it.
  const held = locked && place.current?.contains(document.activeElement);
  useLayoutEffect(() => {
    if (held) place.current?.focus();
  }, [locked]);
  // Not each second is seen: a page in the background sleeps through some.
  const stage = left === null ? undefined : [0, 10, 60].find((seconds) => left <= seconds);
  useEffect(() => {
    if (stage !== undefined)
      announce(`${title} ${over ? "The time to answer is over." : `${duration(left ?? 0)} left to answer.`}`);
  }, [stage]);
  return (
    <Title.Provider value={title}>
      <article
        ref={place}
        className={`agc-card agc-${tone}`}
        aria-labelledby={`${id}-title`}
        aria-describedby={told || undefined}
        tabIndex={-1}
        onKeyDown={once}
        onMouseDown={still}
      >
        <header>
          <span className="agc-kind">{kind}</span>
          {left !== null && (
            <span className="agc-left" role="timer" data-soon={left <= 60 || undefined}>
              {over ? "Time is over" : `${duration(left)} left`}
            </span>
          )}
          <h2 id={`${id}-title`}>{title}</h2>
        </header>
        {wrong && (
          <div className="agc-wrong" role="alert" id={`${id}-wrong`}>
            {refused && !failure && <strong>{refused.code}</strong>} {visible(wrong)}
          </div>
        )}
        {who && (
          <p className="agc-help" id={`${id}-who`}>
            {who}
          </p>
        )}
        {why && (
          <p className="agc-note" id={`${id}-why`}>
            {visible(why)}
          </p>
        )}
        {/* Whoever may not answer, or is too late, reads it all the same. */}
        <fieldset role="none" disabled={locked}>
          {children}
        </fieldset>
        {onCancel && (over || record?.mayAnswer === false) && (
          <div className="agc-actions">
            <Button look="plain" onClick={onCancel}>
              {over ? "Dismiss" : "Withdraw"}
            </Button>
          </div>
        )}
      </article>
    </Title.Provider>
  );
}

interface ButtonProps {
  children: string;
  look?: "main" | "plain" | "danger" | "quiet";
  type?: "button" | "submit";
  id?: string;
  onClick?: () => void;
}

/** A button whose name says to which question it belongs: two cards have no two equal ones. */
export function Button({ children, look = "main", type = "button", onClick, ...rest }: ButtonProps) {
  const title = useContext(Title);
  return (
    <button
      {...rest}
      type={type}
      className={`agc-${look}`}
      aria-label={title ? `${children}: ${title}` : undefined}
      onClick={pressed(onClick)}
    >
      {children}
    </button>
  );
}
