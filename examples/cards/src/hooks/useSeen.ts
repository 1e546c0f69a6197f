import { type RefObject, useEffect, useState } from "react";

import { announce } from "./announce";
import { writing } from "./useFocus";

interface SeenOptions {
  /** Any element of the card. */
  place: RefObject<HTMLElement | null>;
  /** What somebody decides on; undefined while it is not known. */
  shown: string | undefined;
  /** What screen readers say when it changes. */
  news: string;
}

/**
 * Whether what somebody decides on is still what they have seen. A press that was meant for the
 * earlier one must not count: the card gets the focus, except from whoever is writing.
 *
 * @returns whether it has changed, what takes the change as seen, and what was seen last.
 */
export function useSeen({ place, shown, news }: SeenOptions): [boolean, () => void, string | undefined] {
  const [seen, setSeen] = useState(shown);
  if (seen === undefined && shown !== undefined) setSeen(shown);
  const changed = seen !== undefined && shown !== undefined && shown !== seen;
  const toCard = () => place.current?.closest("article")?.focus();
  useEffect(() => {
    if (!changed) return;
    announce(news);
    if (!writing(document.activeElement)) toCard();
  }, [changed, shown]);
  const see = () => {
    setSeen(shown);
    toCard();
  };
  return [changed, see, seen];
}
