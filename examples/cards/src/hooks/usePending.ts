import { useEffect, useState } from "react";

interface PendingOptions {
  /** Of the agent: `https://agents.example/agents/ops`. */
  url: string;
  /** null while something runs or is asked. */
  thread: string | null;
  headers?: Record<string, string>;
}

/**
 * The ids of the calls that a thread waits for a page to carry out: of calls without a result, only the bridge tells
 * them from those whose result was lost. null until the bridge has answered; none are known to wait where it can't.
 */
export function usePending({ url, thread, headers }: PendingOptions): string[] | null {
  const [pending, setPending] = useState<string[] | null>(null);
  const sent = JSON.stringify(headers ?? {});
  useEffect(() => {
    setPending(null);
    if (thread === null) return;
    const aborter = new AbortController();
    const look = async () => {
      const path = `${url}/threads/${encodeURIComponent(thread)}`;
      const answer = await fetch(path, { signal: aborter.signal, headers: JSON.parse(sent) });
      setPending(answer.ok ? (await answer.json()).pendingToolCallIds : []);
    };
    look().catch(() => aborter.signal.aborted || setPending([]));
    return () => aborter.abort();
  }, [url, thread, sent]);
  return pending;
}
