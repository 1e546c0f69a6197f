import { AGUIAdapter, useChat } from "@tdesign-vue-next/chat";
import { onMounted, ref } from "vue";

import type { Answer, Event, Question } from "./question";

/** A thread of the bridge: what is said, and what is asked. */
export function useThread(url: string, threadId: string) {
  const questions = ref<Question[]>([]);
  const failed = ref("");
  let told: Event["messages"];
  const show = () => told && chatEngine.value.setMessages(AGUIAdapter.convertHistoryMessages(told));
  const load = async () => {
    const thread = await fetch(`${url}/threads/${encodeURIComponent(threadId)}`);
    if (!thread.ok) return; // A thread begins with its first message.
    ({ messages: told, interrupts: questions.value } = await thread.json());
    show();
  };
  const { chatEngine, messages, status } = useChat({
    defaultMessages: [],
    chatServiceConfig: {
      endpoint: url,
      protocol: "agui",
      stream: true,
      onRequest({ prompt, resume }) {
        [told, failed.value] = [undefined, ""];
        const messages = prompt ? [{ id: crypto.randomUUID(), role: "user", content: prompt }] : [];
        const body = { threadId, runId: crypto.randomUUID(), messages, resume };
        return { headers: { "AG-UI-Refusals": "ask" }, body: JSON.stringify(body) };
      },
      onMessage({ data }) {
        if ((data as Event).type === "MESSAGES_SNAPSHOT") told = (data as Event).messages;
        return null;
      },
      onComplete(stopped, _request, event) {
        questions.value = (event as Event | undefined)?.outcome?.interrupts ?? [];
        if (!stopped) show();
      },
      onError(error) {
        failed.value = (error as Error).message;
        return load().catch(() => undefined);
      },
    },
  });
  onMounted(load);
  const say = (prompt: string) => chatEngine.value.sendUserMessage({ prompt });
  const answer = (resume: Answer[]) => chatEngine.value.sendAIMessage({ params: { prompt: "", resume } });
  const stop = () => chatEngine.value.abortChat();
  return { messages, status, questions, failed, say, answer, stop };
}
