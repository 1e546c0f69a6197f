import { useEffect, useState } from "react";

import type { QuestionRecord } from "../question";
import { learnTime } from "./useCountdown";

interface RecordsOptions {
  /** Of the agent: `https://agents.example/agents/ops`. */
  url: string;
  /** null while the bridge does not know the thread yet. */
  thread: string | null;
  headers?: Record<string, string>;
  /** Milliseconds between two looks. */
  every?: number;
}

/** Milliseconds until a look counts as lost. */
const PATIENCE = 20_000;

/** What the bridge knows of a thread's questions: who may answer, until when, and who has answered. */
export function useRecords({ url, thread, headers, every = 2000 }: RecordsOptions): QuestionRecord[] | null {
  const [records, setRecords] = useState<QuestionRecord[] | null>(null);
  const sent = JSON.stringify(headers ?? {});
  useEffect(() => {
    if (thread === null) return;
    const aborter = new AbortController();
    let looking = false;
    const look = async () => {
      // An answer that is late would be taken for news; what nobody sees needs none.
      if (looking || document.hidden) return;
      looking = true;
      try {
        const path = `${url}/threads/${encodeURIComponent(thread)}/interrupts`;
        // What hangs must not end all later looks.
        const signal = AbortSignal.any([aborter.signal, AbortSignal.timeout(PATIENCE)]);
        const answer = await fetch(path, { signal, headers: JSON.parse(sent) });
        learnTime(answer.headers.get("date"));
        if (answer.ok) setRecords((await answer.json()).interrupts);
      } catch {
        // Gone for the moment; what was read last stays.
      } finally {
        looking = false;
      }
    };
    void look();
    const timer = setInterval(look, every);
    document.addEventListener("visibilitychange", look);
    return () => {
      document.removeEventListener("visibilitychange", look);
      clearInterval(timer);
      aborter.abort();
      setRecords(null);
    };
  }, [url, thread, sent, every]);
  return records;
}
