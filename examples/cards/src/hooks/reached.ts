interface Place {
  /** Of the agent: `https://agents.example/agents/ops`. */
  url: string;
  thread: string;
  headers?: Record<string, string>;
}

/**
 * Throw if the bridge can't be reached: for clients that take a question away before its answer has
 * arrived. Called first in `send`, it leaves the card as it is, with the error.
 */
export async function reached({ url, thread, headers }: Place): Promise<void> {
  const path = `${url}/threads/${encodeURIComponent(thread)}/interrupts`;
  const answer = await fetch(path, { headers }).catch(() => undefined);
  // A proxy answers in place of a bridge that is gone.
  if (!answer || answer.status >= 500)
    throw new Error("The server can't be reached. Nothing was sent: try again.");
}
