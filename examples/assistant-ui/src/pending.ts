import { useEffect, useState } from "react";

interface Thread {
  pendingToolCallIds: string[];
}

/**
 * The calls that a thread waits for a page to carry out. Only the bridge tells them from those that were lost.
 *
 * @param path the thread's; null while nothing is to be asked.
 * @returns null until the bridge has answered; nothing is known to wait where it can't.
 */
export function usePending(path: string | null): string[] | null {
  const [pending, setPending] = useState<string[] | null>(null);
  useEffect(() => {
    setPending(null);
    if (path === null) return;
    const aborter = new AbortController();
    fetch(path, { signal: aborter.signal })
      .then((answer) => (answer.ok ? (answer.json() as Promise<Thread>) : { pendingToolCallIds: [] }))
      .catch(() => ({ pendingToolCallIds: [] }))
      .then(({ pendingToolCallIds }) => aborter.signal.aborted || setPending(pendingToolCallIds));
    return () => aborter.abort();
  }, [path]);
  return pending;
}
