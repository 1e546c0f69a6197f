import type { Answer } from "@agui-bridge/react-cards";
import {
  CopilotChat,
  type Interrupt,
  useAgent,
  useCopilotKit,
  useDefaultRenderTool,
  useInterrupt,
} from "@copilotkit/react-core/v2";
import { useEffect, useRef, useState } from "react";

import { Notice, type Trouble } from "./Notice";
import type { Place } from "./place";
import { Questions } from "./questions/Questions";
import { RewriteDialog } from "./RewriteDialog";
import { State } from "./State";
import { ToolLine } from "./ToolLine";
import { Uncalled } from "./Uncalled";
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

  // What CopilotKit shows no more once it is answered, even if the answer never arrives.
  const answered = useRef<Interrupt[]>([]);
  const [unsent, setUnsent] = useState<Interrupt[]>([]);
  const shared = {
    messages: agent.messages,
    check,
    url: `${server}/agents/${encodeURIComponent(name)}`,
    thread,
    onReload,
  };

  useInterrupt({
    agentId: name,
    render: ({ interrupts, resolve, cancel }) => {
      answered.current = interrupts;
      // CopilotKit sends the answers once there is one to each.
      const send = async ([answer]: Answer[]) => {
        if (answer?.status === "resolved") await resolve(answer.payload, answer.interruptId);
        else if (answer) await cancel(answer.interruptId);
      };
      // Asked again after a refusal, they can be answered again.
      return <Questions key={asked} {...shared} asks={interrupts} each send={send} />;
    },
  });
  const sendAgain = async (resume: Answer[]) => {
    answered.current = unsent;
    setUnsent([]);
    await copilotkit.runAgent({ agent, resume });
  };
  useDefaultRenderTool({ render: ToolLine });

  useEffect(() => {
    const runs = agent.subscribe({
      onRunStartedEvent: () => {
        answered.current = [];
        setTrouble(null);
        setUnsent([]);
      },
      onRunFinishedEvent: () => setAsked((count) => count + 1),
    });
    // Without it CopilotKit tells nobody that the bridge has refused something.
    const errors = copilotkit.subscribe({
      onError: ({ error, code }) => {
        const trouble = troubleOf(error, code);
        const asks = answered.current;
        if (code !== "agent_run_failed" || trouble.harmless || !asks.length) {
          setTrouble(trouble);
          return;
        }
        // CopilotKit has put the answer in place of the tool's result.
        const calls = asks.map(({ toolCallId }) => toolCallId);
        agent.setMessages(
          agent.messages.filter((it) => it.role !== "tool" || !calls.includes(it.toolCallId)),
        );
        setUnsent(asks.map((ask) => failed(ask, trouble.text)));
      },
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
      {unsent.length > 0 ? (
        <div className="unsent">
          <Questions {...shared} asks={unsent} send={sendAgain} />
        </div>
      ) : (
        <Uncalled agent={agent} />
      )}
      {rewritten && (
        <RewriteDialog
          text={String(rewritten.content)}
          onRewrite={rewrite}
          onClose={() => setRewritten(null)}
        />
      )}
      <State state={agent.state} />
      <CopilotChat agentId={name} threadId={thread} messageView={messageView} />
    </div>
  );
}

/** The question, which says on its card why it is still there. */
function failed(ask: Interrupt, text: string): Interrupt {
  const message = `The answer did not arrive: ${text}. Try again.`;
  return { ...ask, metadata: { ...ask.metadata, agui_bridge: { refused: { code: "Not sent", message } } } };
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
