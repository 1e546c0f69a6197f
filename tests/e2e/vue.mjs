// TanStack AI's `useChat` for Vue on a thread of an agent, without a page:
//
//     node vue.mjs URL THREAD TEXT …
//
// Sends the texts one after the other, and prints the conversation as a component would show it.

import { fetchServerSentEvents, useChat } from "@tanstack/ai-vue";
import { createSSRApp, h } from "vue";
import { renderToString } from "vue/server-renderer";

const [url, threadId, ...texts] = process.argv.slice(2);

// The package's own connection sends no thread and no ids of messages, which AG-UI requires.
const connection = {
  async *connect(messages, _data, signal) {
    const { content } = messages.findLast(({ role }) => role === "user");
    const body = {
      threadId,
      runId: crypto.randomUUID(),
      messages: [{ id: crypto.randomUUID(), role: "user", content }],
    };
    yield* fetchServerSentEvents(url, { body }).connect([], undefined, signal);
  },
};

const Chat = {
  async setup() {
    const { messages, sendMessage, error } = useChat({ connection });
    for (const text of texts) await sendMessage(text);
    const shown = messages.value.map(({ role, parts }) => ({ role, parts }));
    console.log(JSON.stringify({ shown, error: error.value?.message ?? null }));
    return () => h("p");
  },
};

await renderToString(createSSRApp(Chat));
