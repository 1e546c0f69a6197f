import { type ReactNode, useState } from "react";

interface StepProps {
  /** Whether it is the step that the card is at. */
  shown: boolean;
  children: ReactNode;
}

/** A form that one of a card's steps has. What was typed is still there for whoever comes back. */
export function Step({ shown, children }: StepProps) {
  const [opened, setOpened] = useState(shown);
  if (shown && !opened) setOpened(true);
  return opened ? <div hidden={!shown}>{children}</div> : null;
}
