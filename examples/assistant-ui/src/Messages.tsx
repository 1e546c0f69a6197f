import {
  ActionBarPrimitive,
  AuiIf,
  ComposerPrimitive,
  MessagePrimitive,
  ThreadPrimitive,
} from "@assistant-ui/react";
import { useAgUiInterrupts } from "@assistant-ui/react-ag-ui";

import { ToolLine } from "./ToolLine";

/** What was said, and which tools were called. */
export function Messages() {
  return <ThreadPrimitive.Messages components={{ AssistantMessage: Told, UserMessage: Said, UserEditComposer: SaidAnew }} />;
}

function Told() {
  return (
    <MessagePrimitive.Root className="message">
      <MessagePrimitive.Parts components={{ tools: { Fallback: ToolLine } }} />
    </MessagePrimitive.Root>
  );
}

function Said() {
  const asked = useAgUiInterrupts().length > 0;
  return (
    <MessagePrimitive.Root className="message said">
      <MessagePrimitive.Parts />
      {/* Alone in the page's input, the first message would be one of a new page: it would replace nothing. */}
      <AuiIf condition={({ message, thread }) => message.parentId !== null && !thread.isRunning && !asked}>
        <ActionBarPrimitive.Edit className="change">Change</ActionBarPrimitive.Edit>
      </AuiIf>
    </MessagePrimitive.Root>
  );
}

/** Something else in place of a message; what followed it is gone. */
function SaidAnew() {
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
