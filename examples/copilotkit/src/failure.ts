/** What a request fails with: what `fetch` throws, or what an HttpAgent makes of an answer. */
interface Failure extends Error {
  status?: number;
  payload?: { error?: { message?: string } } | string;
}

/** What went wrong, in words: the page of a proxy is none. */
export function wordsOf(failure: Failure): string {
  // So `fetch` says it, in each browser in words of its own.
  if (failure instanceof TypeError) return "The connection to the server broke off.";
  const { status, payload, message } = failure;
  const told = typeof payload === "object" ? payload.error?.message : undefined;
  return told ?? (status ? `The server answered HTTP ${status}.` : message);
}

export interface Trouble {
  /** The bridge's code, such as INTERRUPT_EXPIRED, or a title. */
  code?: string;
  text: string;
  /** Nothing was refused: to load the conversation again would only lose what was typed. */
  harmless?: boolean;
}

/** What is told of an error that CopilotKit reports. */
export function troubleOf(error: Error): Trouble {
  // CopilotKit's own refusal of a message that is typed while a question is open.
  if (error.message.includes("not addressed by resume")) {
    const text = "Your message goes with the answer to what is asked below.";
    return { code: "Not sent yet", text, harmless: true };
  }
  const code = "code" in error && typeof error.code === "string" ? error.code : undefined;
  // CopilotKit asks now and then which agents there are, and says in words of its own that nobody told it.
  const text = wordsOf(error).replace(/^Runtime info request failed with status (\d+)$/, "The server answered HTTP $1.");
  return { code, text };
}
