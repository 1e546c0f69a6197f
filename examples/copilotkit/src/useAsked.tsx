import { type Answer, reached } from "@agui-bridge/react-cards";
import { type Interrupt, useAgent, useCopilotKit, useInterrupt } from "@copilotkit/react-core/v2";
import { useEffect, useRef, useState } from "react";

import { type Trouble, troubleOf } from "./failure";
import { Slot } from "./Slot";

interface AskedOptions {
  /** The agent's name. */
  name: string;
  url: string;
  thread: string;
  onTrouble: (trouble: Trouble | null) => void;
}

/**
 * What the agent asks. CopilotKit takes a card away as soon as it is answered. So the cards are drawn outside of
 * it and only stand in it: they keep what was typed until the answers have arrived, which the start of a run shows.
 */
export function useAsked({ name, url, thread, onTrouble }: AskedOptions) {
  const { agent } = useAgent({ agentId: name });
  const { copilotkit } = useCopilotKit();
  const [asks, setAsks] = useState<Interrupt[]>([]);
  const [lost, setLost] = useState(false);
  const [place] = useState(() => document.createElement("div"));
  const arrival = useRef<PromiseWithResolvers<void>>(null);

  useInterrupt({
    agentId: name,
    render: ({ interrupts }) => <Slot place={place} onShown={() => setAsks(interrupts)} />,
  });
  useEffect(() => {
    const runs = agent.subscribe({
      onRunStartedEvent: () => {
        arrival.current?.resolve();
        arrival.current = null;
        onTrouble(null);
        setAsks([]);
        setLost(false);
      },
    });
    // Without it CopilotKit tells nobody that the bridge has refused something.
    const errors = copilotkit.subscribe({
      onError: ({ error, code }) => {
        // It is told a second time, as `agent_run_failed`.
        if (code === "agent_run_failed_event") return;
        const trouble = troubleOf(error);
        if (!arrival.current || trouble.harmless) return onTrouble(trouble);
        setLost(true);
        const text = `${trouble.text} The answer may have arrived all the same. Try again: it counts once.`;
        arrival.current.reject(new Error(text));
        arrival.current = null;
      },
    });
    return () => {
      runs.unsubscribe();
      errors.unsubscribe();
    };
  }, [agent, copilotkit]);

  const send = async (resume: Answer[]) => {
    await reached({ url, thread });
    const arriving = Promise.withResolvers<void>();
    arrival.current = arriving;
    void copilotkit.runAgent({ agent, resume });
    await arriving.promise;
  };
  return { asks, lost, place, send };
}
