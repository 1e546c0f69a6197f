import {
  type CopilotChatAssistantMessageProps,
  type CopilotChatUserMessageProps,
  useAgent,
  useCopilotKit,
  type UserMessage,
} from "@copilotkit/react-core/v2";
import { useMemo, useState } from "react";

import type { Trouble } from "./failure";

const NOTHING_BEFORE: Trouble = {
  code: "The first message stays",
  text: "Begin a new conversation to say something else.",
  harmless: true,
};

/** Edit and regenerate: the client's list of messages goes back, and the bridge follows. */
export function useRewriting(name: string, onTrouble: (trouble: Trouble) => void) {
  const { agent } = useAgent({ agentId: name });
  const { copilotkit } = useCopilotKit();
  const [rewritten, setRewritten] = useState<UserMessage | null>(null);

  const messageView = useMemo(() => {
    const onEditMessage: CopilotChatUserMessageProps["onEditMessage"] = ({ message }) => {
      if (message.id === agent.messages[0]?.id) onTrouble(NOTHING_BEFORE);
      else setRewritten(message);
    };
    const onRegenerate: CopilotChatAssistantMessageProps["onRegenerate"] = ({ id }) => {
      const before = agent.messages.slice(0, agent.messages.findIndex((m) => m.id === id));
      const asked = before.findLastIndex(({ role }) => role === "user");
      agent.setMessages(before.slice(0, asked + 1));
      void copilotkit.runAgent({ agent });
    };
    return { assistantMessage: { onRegenerate }, userMessage: { onEditMessage } };
  }, [agent, copilotkit, onTrouble]);

  const rewrite = (text: string) => {
    const place = agent.messages.findIndex(({ id }) => id === rewritten?.id);
    setRewritten(null);
    agent.setMessages(agent.messages.slice(0, place));
    agent.addMessage({ id: crypto.randomUUID(), role: "user", content: text });
    void copilotkit.runAgent({ agent });
  };

  return { rewritten, setRewritten, rewrite, messageView };
}
