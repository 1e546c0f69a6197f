import { useStep } from "../hooks/useStep";
import { isCall, kindOf, rootOf, ruleOf, schemaOf } from "../kinds";
import type { CardProps } from "../question";
import { type JsonSchema, resolved } from "../schema/schema";
import { Button, Card } from "./Card";
import { ReasonForm } from "./ReasonForm";
import { SchemaForm } from "./SchemaForm";
import { Arguments, Told } from "./Values";

const USUAL = ["approved", "editedArgs", "reason", "respond"];
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
  const [doing, setDoing, body] = useStep<Doing>("reading");
  const root = rootOf(ask);
  const schema = schemaOf(ask);
  const { editedArgs, respond, ...members } = schema.properties ?? {};
  const proposed = call ?? record?.toolCall;
  // Who agrees, agrees to what the others have agreed to, not to what was proposed to them.
  const agreed = ruleOf(ask, record)?.editedArgs;
  const about = proposed && agreed ? { ...proposed, args: agreed } : proposed;
  const approved = { approved: true, ...(agreed && { editedArgs: agreed }) };
  const back = (
    <Button look="plain" onClick={() => setDoing("reading")}>
      Back
    </Button>
  );
  const more = Object.entries(members).filter(([name]) => !USUAL.includes(name));
  return (
    <Card {...props} kind={kindOf(ask) === "approval" ? "Approval" : "Question"}>
      {about && (
        <p className="agc-tool">
          Tool <code>{about.name}</code>
        </p>
      )}
      <div ref={body}>
        {agreed && <p className="agc-note">Whoever has agreed so far has changed the arguments.</p>}
        {doing === "editing" && editedArgs ? (
          <SchemaForm
            schema={resolved(editedArgs, root)}
            root={root}
            values={about?.args}
            check={check}
            onSubmit={(args) => onAnswer({ approved: true, editedArgs: args }, "Approved with changes")}
          >
            <Button type="submit">Approve with changes</Button>
            {back}
          </SchemaForm>
        ) : about ? (
          <Arguments values={about.args} />
        ) : isCall(ask) ? (
          <p className="agc-note">Which tool it is, and its arguments, are not known here.</p>
        ) : (
          <Told ask={ask} />
        )}
        {doing === "denying" && (
          <ReasonForm
            onSubmit={(said) => onAnswer({ approved: false, ...said }, "Denied")}
            onBack={() => setDoing("reading")}
          >
            Deny
          </ReasonForm>
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
            root={root}
            schema={{
              type: "object",
              properties: Object.fromEntries(more),
              required: schema.required?.filter((name) => !USUAL.includes(name)),
            }}
            check={check}
            onSubmit={(said) => onAnswer({ ...approved, ...(said as object) }, "Approved")}
          >
            <Button type="submit">Approve</Button>
            {back}
          </SchemaForm>
        )}
        {doing === "reading" && (
          <div className="agc-actions">
            <Button onClick={() => onAnswer(approved, "Approved")}>Approve</Button>
            {more.length > 0 && (
              <Button look="plain" onClick={() => setDoing("choosing")}>
                Approve and…
              </Button>
            )}
            {editedArgs && about && (
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
