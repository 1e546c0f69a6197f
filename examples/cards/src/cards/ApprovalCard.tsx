import { useEffect, useRef, useState } from "react";

import { kindOf, schemaOf } from "../kinds";
import type { CardProps } from "../question";
import type { JsonSchema } from "../schema/schema";
import { Button, Card } from "./Card";
import { SchemaForm } from "./SchemaForm";
import { Values } from "./Values";

const USUAL = ["approved", "editedArgs", "reason", "respond"];
const REASON: JsonSchema = {
  type: "object",
  properties: { reason: { title: "Reason", description: "The agent reads it.", format: "textarea", type: "string" } },
};
const RESULT: JsonSchema = {
  type: "object",
  required: ["respond"],
  properties: {
    respond: {
      title: "Result",
      description: "The tool does not run; the agent is given this in place of its result.",
      format: "textarea",
      type: "string",
    },
  },
};

type Doing = "reading" | "editing" | "denying" | "responding" | "choosing";

/** May this tool run with these arguments? What else can be said of it is what its schema offers. */
export function ApprovalCard(props: CardProps) {
  const { ask, call, record, check, onAnswer, onCancel } = props;
  const [doing, setDoing] = useState<Doing>("reading");
  const body = useFocusWithin(doing);
  const schema = schemaOf(ask);
  const { editedArgs, respond, ...members } = schema.properties ?? {};
  const about = call ?? record?.toolCall;
  const back = (
    <Button look="plain" onClick={() => setDoing("reading")}>
      Back
    </Button>
  );
  const more = Object.entries(members).filter(([name]) => !USUAL.includes(name));
  return (
    <Card {...props} kind={kindOf(ask) === "approval" ? "Approval" : "Question"}>
      <p className="agc-tool">
        Tool <code>{about?.name ?? ask.toolCallId ?? ask.reason}</code>
      </p>
      <div ref={body}>
        {doing === "editing" && editedArgs ? (
          <SchemaForm
            schema={{ $defs: schema.$defs, ...editedArgs }}
            values={about?.args}
            check={check}
            onSubmit={(args) => onAnswer({ approved: true, editedArgs: args }, "Approved with changes")}
          >
            <Button type="submit">Approve with changes</Button>
            {back}
          </SchemaForm>
        ) : (
          <Values values={about?.args ?? {}} />
        )}
        {doing === "denying" && (
          <SchemaForm
            schema={REASON}
            onSubmit={(said) => onAnswer({ approved: false, ...trimmed(said) }, "Denied")}
          >
            <Button type="submit" look="danger">
              Deny
            </Button>
            {back}
          </SchemaForm>
        )}
        {doing === "responding" && (
          <SchemaForm
            schema={RESULT}
            onSubmit={(said) => onAnswer({ approved: false, ...(said as object) }, "Result given")}
          >
            <Button type="submit">Give the result</Button>
            {back}
          </SchemaForm>
        )}
        {doing === "choosing" && (
          <SchemaForm
            schema={{
              $defs: schema.$defs,
              type: "object",
              properties: Object.fromEntries(more),
              required: schema.required?.filter((name) => !USUAL.includes(name)),
            }}
            check={check}
            onSubmit={(said) => onAnswer({ approved: true, ...(said as object) }, "Approved")}
          >
            <Button type="submit">Approve</Button>
            {back}
          </SchemaForm>
        )}
        {doing === "reading" && (
          <div className="agc-actions">
            <Button onClick={() => onAnswer({ approved: true }, "Approved")}>Approve</Button>
            {more.length > 0 && (
              <Button look="plain" onClick={() => setDoing("choosing")}>
                Approve and…
              </Button>
            )}
            {editedArgs && (
              <Button look="plain" onClick={() => setDoing("editing")}>
                Edit
              </Button>
            )}
            {respond && (
              <Button look="plain" onClick={() => setDoing("responding")}>
                Respond
              </Button>
            )}
            <Button look="plain" onClick={() => setDoing("denying")}>
              Deny
            </Button>
            <Button look="quiet" onClick={onCancel}>
              Cancel
            </Button>
          </div>
        )}
      </div>
    </Card>
  );
}

function trimmed(said: unknown): { reason?: string } {
  const reason = (said as { reason?: string }).reason?.trim();
  return reason ? { reason } : {};
}

/** What was pressed is gone when something else is done: the focus goes to what came in its place. */
function useFocusWithin(doing: Doing) {
  const body = useRef<HTMLDivElement>(null);
  const before = useRef<Doing>(doing);
  useEffect(() => {
    if (before.current === doing) return;
    const names: Record<string, string> = {
      editing: "Edit",
      denying: "Deny",
      responding: "Respond",
      choosing: "Approve and…",
    };
    const left = names[before.current];
    before.current = doing;
    const buttons = [...(body.current?.querySelectorAll("button") ?? [])];
    const target =
      doing === "reading"
        ? buttons.find(({ textContent }) => textContent === left)
        : body.current?.querySelector<HTMLElement>("form :is(input, select, textarea)");
    target?.focus();
  }, [doing]);
  return body;
}
