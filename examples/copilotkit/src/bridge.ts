import { useEffect, useRef, useState } from "react";

/** The bridge's own API, as far as this page reads it: agents, threads, and who answered what. */
export interface Agents {
  agents: { name: string; description?: string }[];
}

export interface Threads {
  threads: { threadId: string; status: string; openInterrupts: number; updatedAt: string }[];
}

/** The calls that a thread waits for a page to carry out. */
export interface Pending {
  pendingToolCallIds: string[];
}

export interface AskedOf {
  id: string;
  reason: string;
  message?: string;
  agent: string;
  threadId: string;
  status: "open" | "answered" | "claimed" | "resolved" | "cancelled" | "expired" | "indeterminate";
  toolCall?: { name: string; args: Record<string, unknown> };
  answer: { status: "resolved" | "cancelled"; payload: unknown } | null;
  history: { status: string; at: string; actor: string }[];
}

export interface Asks {
  interrupts: AskedOf[];
}

export function threadPath(agent: string, thread: string): string {
  return `/agents/${encodeURIComponent(agent)}/threads/${encodeURIComponent(thread)}`;
}

const EVERY = 2_000;

/** Milliseconds until a look counts as lost. */
const PATIENCE = 20_000;

/** Read a path of the bridge now and every two seconds: other tabs and people answer, too. */
export function useBridge<T>(server: string, path: string | null): T | null {
  const [found, setFound] = useState<T | null>(null);
  useEffect(() => {
    if (path === null) return;
    const aborter = new AbortController();
    let looking = false;
    const look = async () => {
      // Where the bridge is slow, looks would pile up.
      if (looking) return;
      looking = true;
      try {
        const signal = AbortSignal.any([aborter.signal, AbortSignal.timeout(PATIENCE)]);
        const answer = await fetch(server + path, { signal });
        if (answer.ok) setFound((await answer.json()) as T);
      } catch {
        // Gone for the moment; what was read last stays on the page.
      } finally {
        looking = false;
      }
    };
    void look();
    const timer = setInterval(look, EVERY);
    return () => {
      clearInterval(timer);
      aborter.abort();
      setFound(null);
    };
  }, [server, path]);
  return found;
}

interface Said {
  messages: { role: string; content?: unknown }[];
}

/** What was said first on each of an agent's threads, by the thread's path: it stays, and is read once. */
export function useSaid(server: string, paths: string[]): Record<string, string> {
  const [said, setSaid] = useState<Record<string, string>>({});
  const read = useRef(new Set<string>());
  useEffect(() => {
    for (const path of paths) {
      if (read.current.has(path)) continue;
      read.current.add(path);
      fetch(server + path)
        .then((answer) => (answer.ok ? (answer.json() as Promise<Said>) : { messages: [] }))
        .then(({ messages }) => messages.find(({ role }) => role === "user"))
        .then((first) => setSaid((before) => ({ ...before, [path]: textOf(first?.content) })))
        .catch(() => read.current.delete(path));
    }
  }, [server, paths.join("\n")]);
  return said;
}

/** The words of a message, which may have pictures besides. */
function textOf(content: unknown): string {
  if (!Array.isArray(content)) return typeof content === "string" ? content : "";
  return content.map((part: { text?: string }) => part.text ?? "").join(" ").trim();
}
