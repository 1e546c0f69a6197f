import { useState } from "react";

import { Card } from "./Card";
import { Fields } from "./Fields";
import { Refusal } from "./Refusal";
import { type QuestionProps, schemaOf } from "./question";
import { SchemaForm } from "./SchemaForm";

/** May this tool run with these arguments? They can be edited where the agent offers it. */
export function ApprovalCard({ ask, call, check, onAnswer, onCancel }: QuestionProps) {
  const [doing, setDoing] = useState<"reading" | "editing" | "denying">("reading");
  const edited = schemaOf(ask, "editedArgs");
  const back = () => setDoing("reading");
  return (
    <Card kind="Approval" title={ask.message}>
      <p className="tool">
        Tool <code>{call?.name ?? ask.toolCallId}</code>
      </p>
      {doing === "editing" && edited ? (
        <SchemaForm
          schema={edited}
          values={call?.args}
          check={check}
          onSubmit={(editedArgs) => onAnswer({ approved: true, editedArgs }, "Approved with changes")}
        >
          <button type="submit">Approve with changes</button>
          <button type="button" className="plain" onClick={back}>
            Back
          </button>
        </SchemaForm>
      ) : (
        <Fields values={call?.args ?? {}} />
      )}
      {doing === "denying" && (
        <Refusal
          onBack={back}
          onDeny={(reason) => onAnswer({ approved: false, ...(reason && { reason }) }, "Denied")}
        />
      )}
      {doing === "reading" && (
        <div className="actions">
          <button onClick={() => onAnswer({ approved: true }, "Approved")}>Approve</button>
          {edited && (
            <button className="plain" onClick={() => setDoing("editing")}>
              Edit
            </button>
          )}
          <button className="plain" onClick={() => setDoing("denying")}>
            Deny
          </button>
          <button className="quiet" onClick={onCancel}>
            Cancel
          </button>
        </div>
      )}
    </Card>
  );
}
