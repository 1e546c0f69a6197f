import { usePending } from "@agui-bridge/react-cards";

interface ToolLineProps {
  name: string;
  id: string;
  output?: unknown;
  /** The agent's address. */
  url: string;
  /** Where the bridge tells what it waits for; null while something runs or is asked. */
  thread: string | null;
  /** Goes on without the tool. */
  onSkip: () => void;
}

/** A tool call: its name, and what came of it. */
export function ToolLine({ name, id, output, url, thread, onSkip }: ToolLineProps) {
  const told = typeof output === "string" ? output : JSON.stringify(output);
  const pending = usePending({ url, thread: output == null ? thread : null });
  return (
    <p className="tool">
      <code>{name}</code>{" "}
      {output != null ? (
        told
      ) : !pending ? (
        "waiting"
      ) : pending.includes(id) ? (
        <>
          waits for a page that has this tool. <button onClick={onSkip}>Skip {name}</button>
        </>
      ) : (
        <>
          has no result here. What came of it is not known. <button onClick={() => location.reload()}>Reload</button>
        </>
      )}
    </p>
  );
}
