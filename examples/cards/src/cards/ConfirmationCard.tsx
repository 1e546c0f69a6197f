import { useStep } from "../hooks/useStep";
import { confirmed, mayDecline } from "../kinds";
import type { CardProps } from "../question";
import { Button, Card } from "./Card";
import { ReasonForm } from "./ReasonForm";
import { Step } from "./Step";
import { Told } from "./Values";

/** Yes or no. */
export function ConfirmationCard(props: CardProps) {
  const { ask, onAnswer, onCancel } = props;
  const [doing, setDoing, body] = useStep<"answering" | "declining">("answering");
  return (
    <Card {...props} kind="Confirmation">
      <Told ask={ask} />
      <div ref={body}>
        <Step shown={doing === "declining"}>
          <ReasonForm
            onSubmit={(said) => onAnswer({ declined: true, ...said }, "Declined")}
            onBack={() => setDoing("answering")}
          >
            Decline
          </ReasonForm>
        </Step>
        {doing === "answering" && (
          <div className="agc-actions">
            <Button onClick={() => onAnswer(confirmed(ask, true), "Yes")}>Yes</Button>
            <Button look="plain" onClick={() => onAnswer(confirmed(ask, false), "No")}>
              No
            </Button>
            {mayDecline(ask) && (
              <Button look="plain" onClick={() => setDoing("declining")}>
                Decline
              </Button>
            )}
            <Button look="quiet" onClick={onCancel}>
              Cancel
            </Button>
          </div>
        )}
      </div>
    </Card>
  );
}
