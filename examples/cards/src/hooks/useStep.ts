import { type RefObject, useEffect, useRef, useState } from "react";

/**
 * What a card shows of several steps, one at a time. What was pressed is gone with its step: the
 * focus goes to the first field of the next one, and back to the same button.
 *
 * @param first the step to begin with, and to come back to.
 * @returns the step, what goes to another one, and the place of its elements.
 */
export function useStep<Step extends string>(
  first: Step,
): [Step, (next: Step) => void, RefObject<HTMLDivElement | null>] {
  const [step, setStep] = useState<Step>(first);
  const place = useRef<HTMLDivElement>(null);
  const pressed = useRef("");
  const shown = useRef<Step>(step);
  const go = (next: Step) => {
    if (step === first) pressed.current = document.activeElement?.textContent ?? "";
    setStep(next);
  };
  useEffect(() => {
    if (shown.current === step) return;
    shown.current = step;
    const buttons = [...(place.current?.querySelectorAll<HTMLElement>("button:not([hidden] *)") ?? [])];
    const target =
      step === first
        ? buttons.find(({ textContent }) => textContent === pressed.current)
        : place.current?.querySelector<HTMLElement>("form:not([hidden] *) :is(input, select, textarea)");
    target?.focus();
    // A chat that scrolls when its content changes may have left behind what has just got the focus.
    requestAnimationFrame(() => target?.scrollIntoView({ block: "nearest" }));
  }, [step, first]);
  return [step, go, place];
}
