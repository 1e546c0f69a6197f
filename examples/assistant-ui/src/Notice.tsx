import { useAuiState } from "@assistant-ui/react";
import { useEffect } from "react";

import { wordsOf } from "./failure";

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
  return (
    <div className="notice" role="alert">
      {wordsOf(failure)} <button onClick={() => location.reload()}>Reload</button>
    </div>
  );
}
