/** What went wrong, in words. */
export function wordsOf({ message }: Error): string {
  if (message === "Stream response body read failed") return "The connection to the server broke off.";
  return message.replace(/^HTTP error! status: (\d+).*/, "The server answered HTTP $1.");
}
