import { type RefObject, useEffect } from "react";

/** Where the focus was outside of all cards; a page may take them away and show them anew. */
let before: HTMLElement | null = null;

/**
 * Bring the focus to what is asked, and back to where it was once nothing is asked any more. Who is
 * writing something is left alone: to them it is only announced.
 *
 * @param asked changes when something new is asked; null while nothing is.
 */
export function useFocus(place: RefObject<HTMLElement | null>, asked: string | null): void {
  useEffect(() => {
    const section = place.current;
    if (asked === null || !section) return;
    const active = document.activeElement as HTMLElement | null;
    if (active && section.contains(active)) return;
    if (active !== document.body) before = active;
    if (!writing(active)) section.querySelector<HTMLElement>("article")?.focus();
  }, [place, asked]);
  useEffect(() => {
    if (asked === null) return;
    const section = place.current;
    return () => {
      const active = document.activeElement;
      const lost = !active || active === document.body || section?.contains(active);
      if (lost && before) returnTo(before);
    };
  }, [place, asked === null]);
}

/** Whether an element holds a text that somebody is at. */
export function writing(active: Element | null): boolean {
  if (active instanceof HTMLTextAreaElement || active instanceof HTMLInputElement)
    return active.value !== "" && !["button", "checkbox", "radio", "submit"].includes(active.type);
  return active instanceof HTMLElement && active.isContentEditable && active.textContent !== "";
}

/** A composer is often disabled while the agent answers: it is waited for a moment. */
function returnTo(target: HTMLElement, attempts = 20): void {
  setTimeout(() => {
    const active = document.activeElement;
    if (active && active !== document.body && active.isConnected) return;
    if (target.isConnected) target.focus();
    if (document.activeElement !== target && attempts > 0) returnTo(target, attempts - 1);
  }, 50);
}
