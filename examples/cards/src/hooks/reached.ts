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
  try {
    await fetch(`${url}/threads/${encodeURIComponent(thread)}/interrupts`, { headers });
  } catch {
    throw new Error("The server can't be reached. Nothing was sent: try again.");
  }
}
