import { CopilotKitProvider, HttpAgent } from "@copilotkit/react-core/v2";
import { useMemo } from "react";

import { Chat } from "./Chat";
import type { Place } from "./place";

interface ConversationProps extends Place {
  agent: string;
  onReload: () => void;
}

/** CopilotKit on one thread of one agent; no Node.js runtime stands between it and the bridge. */
export function Conversation({ server, agent, thread, via, check, onReload }: ConversationProps) {
  const reached = useMemo(() => {
    if (via === "direct") {
      const url = `${server}/agents/${encodeURIComponent(agent)}`;
      return { agents__unsafe_dev_only: { [agent]: new HttpAgent({ url }) } };
    }
    return { runtimeUrl: `${server}/copilotkit`, useSingleEndpoint: via === "single" };
  }, [server, agent, via]);
  return (
    <CopilotKitProvider {...reached} agentId={agent} enableInspector={false}>
      <Chat
        server={server}
        agent={agent}
        thread={thread}
        check={check}
        // An agent's own URL can't show what was said before.
        onReload={via === "direct" ? undefined : onReload}
      />
    </CopilotKitProvider>
  );
}
