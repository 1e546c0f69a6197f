import { usePending } from "@agui-bridge/react-cards";
import { type ToolCallMessagePartProps, useAuiState } from "@assistant-ui/react";
import { useAgUiInterrupts } from "@assistant-ui/react-ag-ui";
import { createContext, useContext } from "react";

import { Inline, InlineApproval, isAsked } from "./Inline";
import { Views } from "./views";

/** Where the bridge tells what it waits for. */
export const Place = createContext({ url: "", thread: "" });

/** A tool call: its name, what came of it or its view, and what it waits for. */
export function ToolLine(props: ToolCallMessagePartProps) {
  const { toolName, result } = props;
  const inline = useContext(Inline);
  const asked = useAgUiInterrupts().length > 0;
  const running = useAuiState(({ thread }) => thread.isRunning);
  const View = useAuiState(({ tools }) => tools.mcpApp?.render);
  const view = useContext(Views)[props.toolCallId];
  if (View && (view || props.mcp))
    return (
      <>
        <p className="tool">
          <code>{toolName}</code>
        </p>
        <View {...props} {...view} />
      </>
    );
  if (inline && isAsked(props)) return <InlineApproval {...props} />;
  return (
    <p className="tool">
      <code>{toolName}</code>{" "}
      {result !== undefined ? textOf(result) : running || asked ? "waiting" : <WithoutResult {...props} />}
    </p>
  );
}

/** A call that has no result although nothing runs: it waits for a page that has the tool, or its result was lost. */
function WithoutResult({ toolName, toolCallId, addResult }: ToolCallMessagePartProps) {
  const pending = usePending(useContext(Place));
  if (!pending) return "waiting";
  if (!pending.includes(toolCallId))
    return (
      <>
        has no result here. What came of it is not known. <button onClick={() => location.reload()}>Reload</button>
      </>
    );
  const skip = () => addResult("This page has no such tool; the call was not carried out.");
  return (
    <>
      waits, and this page has no such tool. <button onClick={skip}>Skip {toolName}</button>
    </>
  );
}

const textOf = (value: unknown) => (typeof value === "string" ? value : JSON.stringify(value));
