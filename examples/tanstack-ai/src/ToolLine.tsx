import { usePending } from "./pending";

interface ToolLineProps {
  name: string;
  id: string;
  output?: unknown;
  /** The path of the thread, where the bridge tells what it waits for; null while something runs or is asked. */
  path: string | null;
  /** Goes on without the tool. */
  onSkip: () => void;
}

/** A tool call: its name, and what came of it. */
export function ToolLine({ name, id, output, path, onSkip }: ToolLineProps) {
  const told = typeof output === "string" ? output : JSON.stringify(output);
  const pending = usePending(output == null ? path : null);
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
