import {
  ActionBarPrimitive,
  AuiIf,
  ComposerPrimitive,
  MessagePrimitive,
  ThreadPrimitive,
  useAui,
} from "@assistant-ui/react";
import { useAgUiInterrupts } from "@assistant-ui/react-ag-ui";
import { useContext, useEffect, useMemo } from "react";

import { ToolLine } from "./ToolLine";
import { Newest } from "./useNewest";

/** What was said, and which tools were called. */
export function Messages() {
  return <ThreadPrimitive.Messages components={{ AssistantMessage: Told, UserMessage: Said, UserEditComposer: SaidAnew }} />;
}

function Told() {
  const asked = useAgUiInterrupts().length > 0;
  const runConfig = useRunConfig();
  const aui = useAui();
  // An answer may be several messages: a call, and what was said of its result. assistant-ui's Reload would only
  // repeat the last one.
  const again = () => {
    const said = aui.thread().getState().messages.findLast(({ role }) => role === "user");
    aui.thread().startRun({ parentId: said?.id ?? null, runConfig });
  };
  return (
    <MessagePrimitive.Root className="message">
      <MessagePrimitive.Parts components={{ tools: { Fallback: ToolLine } }} />
      <AuiIf condition={({ message, thread }) => message.isLast && !thread.isRunning && !asked}>
        <button className="change" onClick={again}>
          Another answer
        </button>
      </AuiIf>
    </MessagePrimitive.Root>
  );
}

function Said() {
  const asked = useAgUiInterrupts().length > 0;
  return (
    <MessagePrimitive.Root className="message said">
      <MessagePrimitive.Parts />
      <AuiIf condition={({ thread }) => !thread.isRunning && !asked}>
        <ActionBarPrimitive.Edit className="change">Change</ActionBarPrimitive.Edit>
      </AuiIf>
    </MessagePrimitive.Root>
  );
}

/** Something else in place of a message; what followed it is gone. */
function SaidAnew() {
  const runConfig = useRunConfig();
  const aui = useAui();
  useEffect(() => aui.composer().setRunConfig(runConfig), [runConfig]);
  return (
    <MessagePrimitive.Root className="message said">
      <ComposerPrimitive.Root className="composer">
        <ComposerPrimitive.Input aria-label="Say instead" rows={1} />
        <ComposerPrimitive.Cancel className="quiet">Back</ComposerPrimitive.Cancel>
        <ComposerPrimitive.Send>Say it</ComposerPrimitive.Send>
      </ComposerPrimitive.Root>
    </MessagePrimitive.Root>
  );
}

/** What goes along when the conversation goes back: what the page knew. Without it no tool call gives way. */
function useRunConfig() {
  const newest = useContext(Newest);
  return useMemo(() => ({ custom: { agui_bridge: { newest } } }), [newest]);
}
