import type { KeyboardEvent, MouseEvent } from "react";

/** What a button does when it is pressed. */
export const pressed = (act?: () => void) => (event: MouseEvent<HTMLButtonElement>) => {
  // The second click of a double one was meant for what stood there before.
  if (event.detail > 1) return event.preventDefault();
  // Safari leaves the focus where it was.
  event.currentTarget.focus();
  act?.();
};

/** Has Enter do nothing while it is held: it was meant for what had the focus when it was pressed. */
export function once(event: KeyboardEvent): void {
  const lines = event.target instanceof HTMLTextAreaElement;
  if (event.repeat && event.key === "Enter" && !lines) event.preventDefault();
}

/** Has the second click of a double one leave the focus where the first has brought it, whatever lies there now. */
export function still(event: MouseEvent): void {
  if (event.detail > 1 && (event.target as Element).closest("button, label")) event.preventDefault();
}
