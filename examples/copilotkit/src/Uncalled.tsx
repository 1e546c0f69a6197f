import { type AbstractAgent, useCopilotKit } from "@copilotkit/react-core/v2";

import { type Pending, threadPath, useBridge } from "./bridge";
import { Notice } from "./Notice";

interface UncalledProps {
  agent: AbstractAgent;
  server: string;
  /** The agent's name. */
  name: string;
  thread: string;
  onReload?: () => void;
}

/** Calls without a result although nothing runs: they wait for a tool that this page lacks, or their result was lost. */
export function Uncalled({ agent, server, name, thread, onReload }: UncalledProps) {
  const { copilotkit } = useCopilotKit();
  const calls = uncalledOf(agent);
  // Only the bridge tells the ones from the others.
  const pending = useBridge<Pending>(server, calls.length ? threadPath(name, thread) : null)?.pendingToolCallIds;
  if (!calls.length || !pending) return null;
  const waiting = calls.filter(({ id }) => pending.includes(id));
  const names = [...new Set((waiting.length ? waiting : calls).map((call) => call.function.name))].join(", ");
  if (!waiting.length)
    return <Notice text={`What came of ${names} is not known here: its result was not heard.`} onReload={onReload} />;
  const skip = () => {
    const content = "This page has no such tool; the call was not carried out.";
    for (const { id } of waiting)
      agent.addMessage({ id: crypto.randomUUID(), role: "tool", toolCallId: id, content });
    void copilotkit.runAgent({ agent });
  };
  return (
    <Notice code={`Nobody carries out ${names}`} text="The agent waits for a tool that this page doesn't have.">
      <button className="plain" onClick={skip}>
        Skip
      </button>
    </Notice>
  );
}

function uncalledOf({ messages, isRunning }: AbstractAgent) {
  if (isRunning) return [];
  const last = messages.findLastIndex(({ role }) => role === "user");
  const since = messages.slice(last + 1);
  const done = new Set(since.map((message) => (message.role === "tool" ? message.toolCallId : "")));
  return since
    .flatMap((message) => (message.role === "assistant" ? (message.toolCalls ?? []) : []))
    .filter(({ id }) => !done.has(id));
}
