import {
  type CopilotChatAssistantMessageProps,
  type CopilotChatUserMessageProps,
  type Message,
  useAgent,
  useCopilotKit,
  type UserMessage,
} from "@copilotkit/react-core/v2";
import { useEffect, useMemo, useState } from "react";

import type { Trouble } from "./failure";

/** Edit and regenerate: the client's list of messages goes back, and the bridge follows. */
export function useRewriting(name: string, onTrouble: (trouble: Trouble) => void) {
  const { agent } = useAgent({ agentId: name });
  const { copilotkit } = useCopilotKit();
  const [rewritten, setRewritten] = useState<UserMessage | null>(null);

  // Where the page had not heard of all that it would take back, the bridge keeps it, and says why.
  useEffect(() => {
    const onCustomEvent = ({ event }: { event: { name: string; value?: { message: string } } }) => {
      if (event.name === "agui_bridge.kept" && event.value) onTrouble({ text: event.value.message, harmless: true });
    };
    return agent.subscribe({ onCustomEvent }).unsubscribe;
  }, [agent, onTrouble]);

  /** Go on from these messages. What the page had is the sign: only with it do tool calls give way. */
  const goBack = (messages: Message[]) => {
    const newest = agent.messages.findLast(({ role }) => role === "user" || role === "assistant")?.id;
    agent.setMessages(messages);
    void copilotkit.runAgent({ agent, forwardedProps: { agui_bridge: { newest } } });
  };

  const messageView = useMemo(() => {
    const onEditMessage: CopilotChatUserMessageProps["onEditMessage"] = ({ message }) => setRewritten(message);
    const onRegenerate: CopilotChatAssistantMessageProps["onRegenerate"] = ({ id }) => {
      const before = agent.messages.slice(0, agent.messages.findIndex((m) => m.id === id));
      goBack(before.slice(0, before.findLastIndex(({ role }) => role === "user") + 1));
    };
    return { assistantMessage: { onRegenerate }, userMessage: { onEditMessage } };
  }, [agent, copilotkit]);

  const rewrite = (text: string) => {
    const place = agent.messages.findIndex(({ id }) => id === rewritten?.id);
    setRewritten(null);
    goBack([...agent.messages.slice(0, place), { id: crypto.randomUUID(), role: "user", content: text }]);
  };

  return { rewritten, setRewritten, rewrite, messageView };
}
