import { useEffect, useRef } from "react";

import { announce } from "../hooks/announce";
import type { Interrupt } from "../question";
import { Button } from "./Card";
import { Title, useTitleOf } from "./titles";

/** The cards that can be answered. */
export const OPEN = "div:not([hidden]) > article";

interface DoneCardProps {
  ask: Interrupt;
  /** What was answered, in a word or a sentence. */
  what: string;
  /** It was not answered here: whoever looks at its card must be told. */
  elsewhere?: boolean;
  /** The button's word; without it there is none. */
  button?: string;
  onClick: () => void;
}

/** What is left of a card once its question has an answer. */
export function DoneCard({ ask, what, elsewhere, button, onClick }: DoneCardProps) {
  const title = useTitleOf(ask);
  const place = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (!elsewhere) return;
    announce(`${title} ${what}`);
    // Whoever had the focus in the card that is gone.
    if (document.activeElement !== document.body) return;
    const next = place.current?.querySelector("button") ?? place.current?.closest(".agc")?.querySelector<HTMLElement>(OPEN);
    next?.focus();
  }, [elsewhere, title, what]);
  return (
    <Title.Provider value={title}>
      <div className="agc-card agc-done" ref={place}>
        <span>{title}</span> <strong>{what}</strong>
        {button && (
          <Button look={elsewhere ? "plain" : "quiet"} onClick={onClick}>
            {button}
          </Button>
        )}
      </div>
    </Title.Provider>
  );
}
