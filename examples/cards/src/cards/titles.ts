import { createContext, useContext } from "react";

import { titleOf } from "../kinds";
import type { Interrupt } from "../question";

/** The titles of all that is asked, by the questions' ids. */
export const Titles = createContext<Record<string, string>>({});

/** The title of the card that an element is in. */
export const Title = createContext("");

/** What a question is called: `Run it? (1 of 2)` where another one that waits is called the same. */
export function titlesOf(asks: readonly Interrupt[]): Record<string, string> {
  return Object.fromEntries(
    asks.map((ask) => {
      const title = titleOf(ask);
      const twins = asks.filter((other) => titleOf(other) === title);
      return [ask.id, twins.length > 1 ? `${title} (${twins.indexOf(ask) + 1} of ${twins.length})` : title];
    }),
  );
}

/** The title of a question's card. */
export function useTitleOf(ask: Interrupt): string {
  return useContext(Titles)[ask.id] ?? titleOf(ask);
}
