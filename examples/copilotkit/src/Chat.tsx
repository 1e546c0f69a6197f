import { CopilotChat, useAgent, useDefaultRenderTool } from "@copilotkit/react-core/v2";
import { useState } from "react";
import { createPortal } from "react-dom";

import type { Trouble } from "./failure";
import { Notice } from "./Notice";
import type { Place } from "./place";
import { Questions } from "./questions/Questions";
import { RewriteDialog } from "./RewriteDialog";
import { Slot } from "./Slot";
import { State } from "./State";
import { ToolLine } from "./ToolLine";
import { Uncalled } from "./Uncalled";
import { useAsked } from "./useAsked";
import { useRewriting } from "./useRewriting";

interface ChatProps extends Pick<Place, "server" | "thread" | "check"> {
  agent: string;
  /** Begins anew, where the bridge can show what was said before. */
  onReload?: () => void;
}

/** The chat, with a card for whatever the agent waits for. */
export function Chat({ server, agent: name, thread, check, onReload }: ChatProps) {
  const { agent, isReady } = useAgent({ agentId: name });
  const [trouble, setTrouble] = useState<Trouble | null>(null);
  const { rewritten, setRewritten, rewrite, messageView } = useRewriting(name, setTrouble);
  const url = `${server}/agents/${encodeURIComponent(name)}`;
  const { asks, lost, place, send } = useAsked({ name, url, thread, onTrouble: setTrouble });
  useDefaultRenderTool({ render: ToolLine });

  return (
    // Until CopilotKit has reached the bridge it takes no message.
    <div className="chat" aria-busy={!isReady}>
      {/* What a card tells itself is not told twice. */}
      {trouble && (!lost || trouble.harmless) && (
        <Notice {...trouble} onReload={onReload} onClose={() => setTrouble(null)} />
      )}
      {lost && (
        <div className="unsent">
          <Slot place={place} />
        </div>
      )}
      {!trouble && !asks.length && (
        <Uncalled agent={agent} server={server} name={name} thread={thread} onReload={onReload} />
      )}
      {createPortal(
        <Questions
          asks={asks}
          messages={agent.messages}
          check={check}
          url={url}
          thread={thread}
          onReload={onReload}
          send={send}
        />,
        place,
      )}
      {rewritten && (
        <RewriteDialog
          text={String(rewritten.content)}
          onRewrite={rewrite}
          onClose={() => setRewritten(null)}
        />
      )}
      <State state={agent.state} />
      <CopilotChat agentId={name} threadId={thread} messageView={messageView} input={inputOf(agent.isRunning)} />
    </div>
  );
}

/** CopilotKit's buttons have no names, and what it says below them no class. */
const inputOf = (running: boolean) => ({
  sendButton: { "aria-label": running ? "Stop" : "Send" },
  addMenuButton: { "aria-label": "Add" },
  disclaimer: "disclaimer",
});
