import type { KeyboardEvent, MouseEvent } from "react";

/** What a button does when it is pressed. */
export const pressed = (act?: () => void) => (event: MouseEvent<HTMLButtonElement>) => {
  // The second click of a double one was meant for what stood there before.
  if (event.detail > 1) return event.preventDefault();
  // Safari leaves the focus where it was.
  event.currentTarget.focus();
  act?.();
};

let brought: EventTarget | null = null;
let at = 0;

/** Bring the focus to what a press has made. */
export function bring(element: HTMLElement | null): void {
  [brought, at] = [element, performance.now()];
  element?.focus();
}

/** Has Enter do nothing while it is held, and just after: it was meant for what had the focus when it was pressed. */
export function once(event: KeyboardEvent): void {
  const lines = event.target instanceof HTMLTextAreaElement;
  const early = event.target === brought && performance.now() - at < 500;
  if ((event.repeat || early) && event.key === "Enter" && !lines) event.preventDefault();
}

/** Has the second click of a double one leave the focus where the first has brought it, whatever lies there now. */
export function still(event: MouseEvent): void {
  if (event.detail > 1 && (event.target as Element).closest("button, label")) event.preventDefault();
}
