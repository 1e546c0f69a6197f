import { useLayoutEffect, useRef } from "react";

interface SlotProps {
  /** An element that moves from one slot to another, with what was typed in it. */
  place: HTMLElement;
  onShown?: () => void;
}

/** Where an element of the page's own stands, inside of what CopilotKit draws. */
export function Slot({ place, onShown }: SlotProps) {
  const slot = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    slot.current?.append(place);
    onShown?.();
  }, [place, onShown]);
  return <div ref={slot} />;
}
