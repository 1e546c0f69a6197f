import { useEffect, useState } from "react";

import type { QuestionRecord } from "../question";

interface RecordsOptions {
  /** Of the agent: `https://agents.example/agents/ops`. */
  url: string;
  /** null while the bridge does not know the thread yet. */
  thread: string | null;
  headers?: Record<string, string>;
  /** Milliseconds between two looks. */
  every?: number;
}

/** What the bridge knows of a thread's questions: who may answer, until when, and who has answered. */
export function useRecords({ url, thread, headers, every = 2000 }: RecordsOptions): QuestionRecord[] | null {
  const [records, setRecords] = useState<QuestionRecord[] | null>(null);
  const sent = JSON.stringify(headers ?? {});
  useEffect(() => {
    if (thread === null) return;
    const aborter = new AbortController();
    const look = async () => {
      try {
        const path = `${url}/threads/${encodeURIComponent(thread)}/interrupts`;
        const answer = await fetch(path, { signal: aborter.signal, headers: JSON.parse(sent) });
        if (answer.ok) setRecords((await answer.json()).interrupts);
      } catch {
        // Gone for the moment; what was read last stays.
      }
    };
    void look();
    const timer = setInterval(look, every);
    return () => {
      clearInterval(timer);
      aborter.abort();
      setRecords(null);
    };
  }, [url, thread, sent, every]);
  return records;
}
