import { useStep } from "../hooks/useStep";
import { mayDecline, rootOf, schemaOf } from "../kinds";
import type { CardProps } from "../question";
import { Button, Card } from "./Card";
import { ReasonForm } from "./ReasonForm";
import { SchemaForm } from "./SchemaForm";
import { Step } from "./Step";
import { Told } from "./Values";

/** A question with a form, made from the schema that the answer must satisfy. */
export function FormCard(props: CardProps) {
  const { ask, check, onAnswer, onCancel } = props;
  const [doing, setDoing, body] = useStep<"answering" | "declining">("answering");
  return (
    <Card {...props} kind="Question">
      <Told ask={ask} />
      <div ref={body}>
        <Step shown={doing === "answering"}>
          <SchemaForm
            schema={schemaOf(ask)}
            root={rootOf(ask)}
            check={check}
            onSubmit={(values) => onAnswer(values, "Answered")}
          >
            <Button type="submit">Send</Button>
            {mayDecline(ask) && (
              <Button look="plain" onClick={() => setDoing("declining")}>
                Decline
              </Button>
            )}
            <Button look="quiet" onClick={onCancel}>
              Cancel
            </Button>
          </SchemaForm>
        </Step>
        <Step shown={doing === "declining"}>
          <ReasonForm
            onSubmit={(said) => onAnswer({ declined: true, ...said }, "Declined")}
            onBack={() => setDoing("answering")}
          >
            Decline
          </ReasonForm>
        </Step>
      </div>
    </Card>
  );
}
