import type { HttpAgent } from "@ag-ui/client";
import { useAuiState } from "@assistant-ui/react";
import { type AgUiAssistantRuntime, type AgUiInterrupt, useAgUiInterrupts } from "@assistant-ui/react-ag-ui";
import { useEffect, useRef, useState } from "react";

interface KeptOptions {
  agent: HttpAgent;
  runtime: AgUiAssistantRuntime;
}

/**
 * The open questions. assistant-ui takes them away when it sends the answers; here they stay until the answers
 * have arrived, which the start of a run shows. If they don't arrive, assistant-ui is given the questions again.
 */
export function useKept({ agent, runtime }: KeptOptions): readonly AgUiInterrupt[] {
  const open = useAgUiInterrupts();
  const running = useAuiState(({ thread }) => thread.isRunning);
  const [kept, setKept] = useState(open);
  const before = useRef<ReturnType<typeof runtime.thread.export>>(null);
  useEffect(() => {
    if (!open.length) return;
    before.current = runtime.thread.export();
    setKept(open);
  }, [open]);
  useEffect(() => {
    const onRunStartedEvent = () => {
      before.current = null;
      setKept([]);
    };
    return agent.subscribe({ onRunStartedEvent }).unsubscribe;
  }, [agent]);
  useEffect(() => {
    if (!running && !open.length && before.current) runtime.thread.import(before.current);
  }, [running]);
  return open.length ? open : kept;
}
