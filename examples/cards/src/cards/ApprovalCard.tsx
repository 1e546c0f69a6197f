import { useSeen } from "../hooks/useSeen";
import { useStep } from "../hooks/useStep";
import { isCall, kindOf, rootOf, ruleOf, schemaOf } from "../kinds";
import { previewLines, previewOf } from "../preview";
import type { CardProps } from "../question";
import { type JsonSchema, resolved } from "../schema/schema";
import { visibleName } from "../visible";
import { Button, Card } from "./Card";
import { Preview } from "./Preview";
import { ReasonForm } from "./ReasonForm";
import { SchemaForm } from "./SchemaForm";
import { Step } from "./Step";
import { useTitleOf } from "./titles";
import { Arguments, isExact, Told } from "./Values";

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
  // What is shown would not be what runs.
  const exact = isExact(about?.args);
  const told = previewOf(ask);
  const would = told && previewLines(told);
  const whole = exact && (!told || (!!would && told.cut === false));
  const title = useTitleOf(ask);
  const [changed, see, seen] = useSeen({
    place: body,
    shown: about && record?.mayAnswer !== false ? JSON.stringify(agreed ?? null) : undefined,
    news: `${title} The arguments have changed.`,
  });
  const approved = { approved: true, ...(agreed && { editedArgs: agreed }) };
  const back = (
    <Button look="plain" onClick={() => setDoing("reading")}>
      Back
    </Button>
  );
  // In the place of Approve: who presses that the moment they change has not read them.
  const reread = (
    <Button key="reread" onClick={see}>
      I have read them
    </Button>
  );
  const edit = () => {
    setDoing("editing");
    see();
  };
  const more = Object.entries(members).filter(([name]) => !USUAL.includes(name));
  return (
    <Card {...props} kind={kindOf(ask) === "approval" ? "Approval" : "Question"}>
      {about && (
        <p className="agc-tool">
          Tool <code>{visibleName(about.name)}</code>
        </p>
      )}
      <div ref={body}>
        {changed ? (
          <p className="agc-note">
            The arguments have changed while this was open.
            {doing === "editing" && " These are the earlier ones."}
          </p>
        ) : (
          agreed && <p className="agc-note">Whoever has agreed so far has changed the arguments.</p>
        )}
        {editedArgs && (
          <Step shown={doing === "editing"} key={seen}>
            <SchemaForm
              schema={resolved(editedArgs, root)}
              root={root}
              values={about?.args}
              check={check}
              deliberate
              onSubmit={(args) => onAnswer({ approved: true, editedArgs: args }, "Approved with changes")}
            >
              <Button type="submit">Approve with changes</Button>
              {changed && (
                <Button look="plain" onClick={see}>
                  Take the new ones
                </Button>
              )}
              {back}
            </SchemaForm>
          </Step>
        )}
        {doing === "editing" ? null : about ? (
          <Arguments values={about.args} />
        ) : isCall(ask) ? (
          <p className="agc-note">Which tool it is, and its arguments, are not known here.</p>
        ) : (
          <Told ask={ask} />
        )}
        {told && doing !== "editing" && (
          <>
            <p className="agc-soft">What it would do</p>
            {would ? <Preview lines={would} /> : <Arguments values={told} label="What it would do" />}
          </>
        )}
        {told && (doing === "editing" || agreed) && (
          <p className="agc-note">
            The preview is of the call as it was proposed. Nobody has previewed it with other arguments.
          </p>
        )}
        {told && !would && <p className="agc-note">What it would do is not shown here. Approve it in the inbox.</p>}
        {told?.cut === true && (
          <p className="agc-note">The preview is cut: nobody can approve what is not shown whole.</p>
        )}
        {!exact && (
          <p className="agc-note">
            A number has more digits than a browser can read: what would run is not shown here. Approve it in the inbox.
          </p>
        )}
        <Step shown={doing === "denying"}>
          <ReasonForm
            onSubmit={(said) => onAnswer({ approved: false, ...said }, "Denied")}
            onBack={() => setDoing("reading")}
          >
            Deny
          </ReasonForm>
        </Step>
        <Step shown={doing === "responding"}>
          <SchemaForm
            schema={RESULT}
            onSubmit={(said) => onAnswer({ approved: false, ...(said as object) }, "Result given")}
          >
            <Button type="submit">Give the result</Button>
            {back}
          </SchemaForm>
        </Step>
        <Step shown={doing === "choosing"}>
          <SchemaForm
            root={root}
            schema={{
              type: "object",
              properties: Object.fromEntries(more),
              required: schema.required?.filter((name) => !USUAL.includes(name)),
            }}
            check={check}
            deliberate
            onSubmit={(said) => onAnswer({ ...approved, ...(said as object) }, "Approved")}
          >
            {changed ? reread : whole && <Button type="submit">Approve</Button>}
            {back}
          </SchemaForm>
        </Step>
        {doing === "reading" && (
          <div className="agc-actions">
            {changed ? reread : whole && <Button onClick={() => onAnswer(approved, "Approved")}>Approve</Button>}
            {more.length > 0 && whole && (
              <Button look="plain" onClick={() => setDoing("choosing")}>
                Approve and…
              </Button>
            )}
            {editedArgs && about && (
              <Button look="plain" onClick={edit}>
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
