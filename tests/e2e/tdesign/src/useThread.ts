import { AGUIAdapter, useChat } from "@tdesign-vue-next/chat";
import { onMounted, ref } from "vue";

import type { Answer, Event, Question } from "./question";

/** A thread of the bridge: what is said, and what is asked. */
export function useThread(url: string, threadId: string) {
  const questions = ref<Question[]>([]);
  const failed = ref("");
  const unsent = ref("");
  const address = `${url}/threads/${encodeURIComponent(threadId)}`;
  let told: Event["messages"];
  let said = { id: "", content: "" };
  let following = false;
  const show = () => told && chatEngine.value.setMessages(AGUIAdapter.convertHistoryMessages(told));
  const load = async () => {
    const thread = await fetch(address);
    if (!thread.ok) return; // A thread begins with its first message.
    const { messages, interrupts, status } = await thread.json();
    [told, questions.value] = [messages, interrupts];
    show();
    return status;
  };
  const { chatEngine, messages, status } = useChat({
    defaultMessages: [],
    chatServiceConfig: {
      get endpoint() {
        return following ? `${address}/connect` : url;
      },
      protocol: "agui",
      stream: true,
      onRequest({ prompt, resume }) {
        [told, failed.value, unsent.value] = [undefined, "", ""];
        said = { id: crypto.randomUUID(), content: prompt ?? "" };
        const messages = prompt ? [{ ...said, role: "user" }] : [];
        const body = { threadId, runId: crypto.randomUUID(), messages, resume };
        return { headers: { "AG-UI-Refusals": "ask" }, body: JSON.stringify(body) };
      },
      onMessage({ data }) {
        if ((data as Event).type === "MESSAGES_SNAPSHOT") told = (data as Event).messages;
        return null;
      },
      onComplete(stopped, _request, event) {
        questions.value = (event as Event | undefined)?.outcome?.interrupts ?? [];
        // A run that is followed was told from its middle on.
        if (!stopped) (following ? load : show)();
        following = false;
      },
      async onError(error) {
        [failed.value, following] = [(error as Error).message, false];
        await load().catch(() => undefined);
        if (!told?.some(({ id }) => id === said.id)) unsent.value = said.content;
      },
    },
  });
  onMounted(async () => {
    following = (await load()) === "running";
    if (following) answer([]);
  });
  const say = (prompt: string) => chatEngine.value.sendUserMessage({ prompt });
  const answer = (resume: Answer[]) => chatEngine.value.sendAIMessage({ params: { prompt: "", resume } });
  const stop = async () => {
    await chatEngine.value.abortChat();
    // The connection alone ends no run that somebody else follows, or whose agent goes on by itself.
    await fetch(`${address}/stop`, { method: "POST" }).catch((error) => (failed.value = error.message));
  };
  return { messages, status, questions, failed, unsent, say, answer, stop };
}
