import type { HttpAgent } from "@ag-ui/client";
import { createContext, useEffect, useState } from "react";

interface Message {
  id: string;
  role: string;
}

/** The newest message of the user or the assistant that the page has: by the bridge's id, as assistant-ui has its own. */
export const Newest = createContext<string | undefined>(undefined);

export function useNewest(agent: HttpAgent) {
  const [newest, setNewest] = useState<string>();
  const [onMessages] = useState(() => (messages: readonly Message[]) => {
    setNewest(messages.findLast(({ role }) => role === "user" || role === "assistant")?.id);
  });
  useEffect(() => {
    const onEnd = ({ messages }: { messages: readonly Message[] }) => onMessages(messages);
    return agent.subscribe({ onRunFinishedEvent: onEnd, onRunErrorEvent: onEnd }).unsubscribe;
  }, [agent]);
  return { newest, onMessages };
}
