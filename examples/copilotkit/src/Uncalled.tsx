import { type AbstractAgent, useCopilotKit } from "@copilotkit/react-core/v2";

interface UncalledProps {
  agent: AbstractAgent;
}

/** A call that the agent waits for, of a tool that this page doesn't have: it can only be skipped. */
export function Uncalled({ agent }: UncalledProps) {
  const { copilotkit } = useCopilotKit();
  const calls = uncalledOf(agent);
  if (!calls.length) return null;
  const names = [...new Set(calls.map((call) => call.function.name))].join(", ");
  const skip = () => {
    const content = "This page has no such tool; the call was not carried out.";
    for (const { id } of calls)
      agent.addMessage({ id: crypto.randomUUID(), role: "tool", toolCallId: id, content });
    void copilotkit.runAgent({ agent });
  };
  return (
    <div className="notice" role="alert">
      <div>
        <strong>Nobody carries out {names}</strong>
        <p>The agent waits for a tool that this page doesn't have.</p>
      </div>
      <button className="plain" onClick={skip}>
        Skip
      </button>
    </div>
  );
}

function uncalledOf({ messages, isRunning, pendingInterrupts }: AbstractAgent) {
  if (isRunning || pendingInterrupts.length) return [];
  const last = messages.findLastIndex(({ role }) => role === "user");
  const since = messages.slice(last + 1);
  const done = new Set(since.map((message) => (message.role === "tool" ? message.toolCallId : "")));
  return since
    .flatMap((message) => (message.role === "assistant" ? (message.toolCalls ?? []) : []))
    .filter(({ id }) => !done.has(id));
}
