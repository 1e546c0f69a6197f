import { useAuiState } from "@assistant-ui/react";
import { useEffect } from "react";

interface NoticeProps {
  failure?: Error;
  /** Another run has begun: what went wrong before is over. */
  onOver: () => void;
}

/** What went wrong with the last run, until the next one begins. */
export function Notice({ failure, onOver }: NoticeProps) {
  const running = useAuiState(({ thread }) => thread.isRunning);
  useEffect(() => {
    if (running) onOver();
  }, [running]);
  if (!failure) return null;
  // So `fetch` says it, in each browser in words of its own.
  const told = failure instanceof TypeError ? "The connection to the server broke off." : failure.message;
  return (
    <div className="notice" role="alert">
      {told} <button onClick={() => location.reload()}>Reload</button>
    </div>
  );
}
