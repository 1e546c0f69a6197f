import {
  CopilotChat,
  useAgent,
  useCopilotKit,
  useDefaultRenderTool,
  useInterrupt,
} from "@copilotkit/react-core/v2";
import { useEffect, useState } from "react";

import { Notice, type Trouble } from "./Notice";
import type { Place } from "./place";
import { Questions } from "./questions/Questions";
import { RewriteDialog } from "./RewriteDialog";
import { ToolLine } from "./ToolLine";
import { useRewriting } from "./useRewriting";

interface ChatProps extends Pick<Place, "server" | "thread" | "check"> {
  agent: string;
  /** Begins anew, where the bridge can show what was said before. */
  onReload?: () => void;
}

/** The chat, with a card for whatever the agent waits for. */
export function Chat({ server, agent: name, thread, check, onReload }: ChatProps) {
  const { agent, isReady } = useAgent({ agentId: name });
  const { copilotkit } = useCopilotKit();
  const [trouble, setTrouble] = useState<Trouble | null>(null);
  const [asked, setAsked] = useState(0);
  const { rewritten, setRewritten, rewrite, messageView } = useRewriting(name, setTrouble);

  useInterrupt({
    agentId: name,
    render: ({ interrupts, resolve, cancel }) => (
      <Questions
        // Asked again after a refusal, they can be answered again.
        key={asked}
        asks={interrupts}
        messages={agent.messages}
        check={check}
        url={`${server}/agents/${encodeURIComponent(name)}`}
        thread={thread}
        onReload={onReload}
        onAnswer={resolve}
        onCancel={cancel}
      />
    ),
  });
  useDefaultRenderTool({ render: ToolLine });

  useEffect(() => {
    const runs = agent.subscribe({
      onRunStartedEvent: () => setTrouble(null),
      onRunFinishedEvent: () => setAsked((count) => count + 1),
    });
    // Without it CopilotKit tells nobody that the bridge has refused something.
    const errors = copilotkit.subscribe({
      onError: ({ error, code }) => setTrouble(troubleOf(error, code)),
    });
    return () => {
      runs.unsubscribe();
      errors.unsubscribe();
    };
  }, [agent, copilotkit]);

  return (
    // Until CopilotKit has reached the bridge it takes no message.
    <div className="chat" aria-busy={!isReady}>
      {trouble && <Notice {...trouble} onReload={onReload} onClose={() => setTrouble(null)} />}
      {rewritten && (
        <RewriteDialog
          text={String(rewritten.content)}
          onRewrite={rewrite}
          onClose={() => setRewritten(null)}
        />
      )}
      <CopilotChat agentId={name} threadId={thread} messageView={messageView} />
    </div>
  );
}

function troubleOf(error: Error, kind: string): Trouble {
  // CopilotKit's own refusal of a message that is typed while a question is open.
  if (error.message.includes("not addressed by resume")) {
    const text = "Your message goes with the answer to what is asked below.";
    return { code: "Not sent yet", text, harmless: true };
  }
  // The bridge's own code, such as INTERRUPT_EXPIRED, if it is one of its refusals.
  const code = "code" in error && typeof error.code === "string" ? error.code : kind;
  return { code, text: error.message };
}
