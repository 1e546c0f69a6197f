interface ToolLineProps {
  name: string;
  status: "inProgress" | "executing" | "complete";
  result: string | undefined;
}

/** A tool call in the conversation: its name, and what came of it. */
export function ToolLine({ name, status, result }: ToolLineProps) {
  return (
    <div className="tool-line">
      <code>{name}</code>
      <span>{status === "complete" ? result : "waiting"}</span>
    </div>
  );
}
