import { useEffect, useState } from "react";

/** How the page reaches the bridge: its CopilotKit routes (two flavours), or one agent's own URL. */
export type Via = "rest" | "single" | "direct";

/** What the address of the page says; a reload, and a second tab, begin where this one is. */
export interface Place {
  server: string;
  agent: string | null;
  thread: string;
  via: Via;
  /** Whether forms check answers before they are sent; the bridge does in any case. */
  check: boolean;
}

const CHANGED = "place-changed";

function read(): Place {
  const given = new URLSearchParams(location.search);
  return {
    server: given.get("server") ?? "http://127.0.0.1:8787",
    agent: given.get("agent"),
    thread: given.get("thread") ?? newThread(),
    via: (given.get("via") as Via | null) ?? "rest",
    check: given.get("check") !== "off",
  };
}

export function newThread(): string {
  return `thread-${crypto.randomUUID().slice(0, 8)}`;
}

/** Go elsewhere; what is not named stays. */
export function go(change: Partial<Pick<Place, "agent" | "thread">>, how: "push" | "replace" = "push"): void {
  const url = new URL(location.href);
  for (const [name, value] of Object.entries(change)) if (value) url.searchParams.set(name, value);
  if (how === "push") history.pushState(null, "", url);
  else history.replaceState(null, "", url);
  dispatchEvent(new Event(CHANGED));
}

export function usePlace(): Place {
  const [place, setPlace] = useState(read);
  useEffect(() => {
    const update = () => setPlace(read());
    go({ thread: place.thread }, "replace");
    addEventListener(CHANGED, update);
    addEventListener("popstate", update);
    return () => {
      removeEventListener(CHANGED, update);
      removeEventListener("popstate", update);
    };
  }, []);
  return place;
}
