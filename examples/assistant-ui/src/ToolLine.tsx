import { AuiIf, type ToolCallMessagePartProps } from "@assistant-ui/react";
import { createContext, useContext } from "react";

/** Whether approvals are asked for in the line of their call, by assistant-ui's own means, and not by a card. */
export const Inline = createContext(false);

/** A tool call: its name, what came of it, and what it waits for. */
export function ToolLine(props: ToolCallMessagePartProps) {
  const { toolName, result, status, addResult } = props;
  if (useContext(Inline) && isAsked(props)) return <InlineApproval {...props} />;
  const told = result === undefined ? "waiting" : textOf(result);
  // Tools of the page are carried out at once: this one is nobody's here.
  const uncalled = result === undefined && status.type === "requires-action" && status.reason === "tool-calls";
  const skip = () => addResult("This page has no such tool; the call was not carried out.");
  return (
    <p className="tool">
      <code>{toolName}</code>{" "}
      {uncalled ? (
        <AuiIf condition={({ thread }) => !thread.isRunning}>
          waits, and this page has no such tool. <button onClick={skip}>Skip {toolName}</button>
        </AuiIf>
      ) : (
        told
      )}
    </p>
  );
}

type Approval = Pick<ToolCallMessagePartProps, "approval">;

/** Whether a call waits for assistant-ui's own approval, which no call has whose question wants more than a yes. */
export const isAsked = ({ approval }: Approval) =>
  !!approval && approval.approved === undefined && !approval.resolution;

function InlineApproval({ toolName, args, approval, respondToApproval }: ToolCallMessagePartProps) {
  return (
    <div className="tool inline" role="group" aria-label={approval?.prompt ?? toolName}>
      <strong>{approval?.prompt ?? "May this tool run?"}</strong>
      <p>
        <code>{toolName}</code> {JSON.stringify(args)}
      </p>
      <button onClick={() => respondToApproval({ approved: true })}>Approve</button>{" "}
      <button onClick={() => respondToApproval({ approved: false })}>Deny</button>
    </div>
  );
}

const textOf = (value: unknown) => (typeof value === "string" ? value : JSON.stringify(value));
