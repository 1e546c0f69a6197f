import {
  announce,
  Arguments,
  Button,
  Card,
  type QuestionRecord,
  reached,
  useFocus,
  useRecords,
} from "@agui-bridge/react-cards";
import { type ThreadMessage, type ToolCallMessagePartProps, useAuiState } from "@assistant-ui/react";
import { createContext, type ReactNode, useContext, useEffect, useRef, useState } from "react";

interface Place {
  /** The agent's own: `https://agents.example/agents/ops`. */
  url: string;
  thread: string;
}

interface Known extends Place {
  /** What the bridge knows of the questions. */
  records: QuestionRecord[] | null;
}

/** Where approvals are asked for in the line of their call, by assistant-ui's own means, and not by a card of all. */
export const Inline = createContext<Known | null>(null);

/** Approvals in the lines of their calls: what is asked is announced, and has the focus. */
export function InlineApprovals({ url, thread, children }: Place & { children: ReactNode }) {
  const place = useRef<HTMLDivElement>(null);
  const asked = useAuiState(({ thread }) => askedOf(thread.messages).map(({ toolCallId }) => toolCallId).join(" ")) || null;
  const text = useAuiState(({ thread }) => askedOf(thread.messages).map(promptOf).join(" "));
  const records = useRecords({ url, thread: asked ? thread : null });
  useFocus(place, asked);
  useEffect(() => {
    if (asked) announce(text);
  }, [asked]);
  return (
    <Inline.Provider value={{ url, thread, records }}>
      <div ref={place}>{children}</div>
    </Inline.Provider>
  );
}

/** The frame of a card has the prompt, the time that is left, and names for the buttons. */
export function InlineApproval(props: ToolCallMessagePartProps) {
  const { toolName, toolCallId, args, approval, respondToApproval } = props;
  const { records, ...place } = useContext(Inline) as Known;
  const [sending, setSending] = useState(false);
  const [failure, setFailure] = useState<string>();
  const ask = { id: approval?.id ?? "", reason: "tool_call", toolCallId, message: promptOf(props) };
  const answer = async (approved: boolean) => {
    setSending(true);
    try {
      await reached(place);
      await respondToApproval({ approved });
    } catch (error) {
      setFailure((error as Error).message);
    }
    setSending(false);
  };
  return (
    <Card
      ask={ask}
      record={records?.find(({ id }) => id === ask.id)}
      kind="Approval"
      disabled={sending}
      failure={failure}
    >
      <p className="agc-tool">
        Tool <code>{toolName}</code>
      </p>
      <Arguments values={args} />
      <div className="agc-actions">
        <Button onClick={() => answer(true)}>Approve</Button>
        <Button look="plain" onClick={() => answer(false)}>
          Deny
        </Button>
      </div>
    </Card>
  );
}

type Asked = Pick<ToolCallMessagePartProps, "approval" | "toolCallId" | "toolName">;

/** Whether a call waits for assistant-ui's own approval, which no call has whose question wants more than a yes. */
export const isAsked = ({ approval }: Pick<Asked, "approval">) =>
  !!approval && approval.approved === undefined && !approval.resolution;

/** The calls of the last message that wait for an approval of their own. */
export function askedOf(messages: readonly ThreadMessage[]): Asked[] {
  const parts = messages.at(-1)?.content ?? [];
  return parts.flatMap((part) => (part.type === "tool-call" && isAsked(part) ? [part] : []));
}

const promptOf = ({ approval, toolName }: Asked) => approval?.prompt ?? `May ${toolName} run?`;
