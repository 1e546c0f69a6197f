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
