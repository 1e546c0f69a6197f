import { AuiIf, ComposerPrimitive } from "@assistant-ui/react";
import { useAgUiInterrupts } from "@assistant-ui/react-ag-ui";

interface ComposerProps {
  /** What is said before the conversation is there, its loading would wipe out. */
  loaded: boolean;
  /** Asks the bridge to stop: assistant-ui only breaks the connection, and the run may go on without it. */
  onStop: () => void;
}

/** The box for messages; while a question is open, assistant-ui would throw away what is sent. */
export function Composer({ loaded, onStop }: ComposerProps) {
  const asked = useAgUiInterrupts().length > 0;
  return (
    <ComposerPrimitive.Root className="composer">
      <ComposerPrimitive.Input
        aria-label="Message"
        placeholder={asked ? "Answer first" : "Say something"}
        rows={1}
        disabled={!loaded}
        onKeyDown={(event) => {
          if (asked && event.key === "Enter" && !event.shiftKey) event.preventDefault();
        }}
      />
      <AuiIf condition={({ thread }) => thread.isRunning}>
        <ComposerPrimitive.Cancel onClick={onStop}>Stop</ComposerPrimitive.Cancel>
      </AuiIf>
      <AuiIf condition={({ thread }) => !thread.isRunning}>
        <ComposerPrimitive.Send disabled={asked}>Send</ComposerPrimitive.Send>
      </AuiIf>
    </ComposerPrimitive.Root>
  );
}
