import { confirmed } from "../kinds";
import type { CardProps } from "../question";
import { Button, Card } from "./Card";

/** Yes or no. */
export function ConfirmationCard(props: CardProps) {
  const { ask, onAnswer, onCancel } = props;
  return (
    <Card {...props} kind="Confirmation">
      <div className="agc-actions">
        <Button onClick={() => onAnswer(confirmed(ask, true), "Yes")}>Yes</Button>
        <Button look="plain" onClick={() => onAnswer(confirmed(ask, false), "No")}>
          No
        </Button>
        <Button look="quiet" onClick={onCancel}>
          Cancel
        </Button>
      </div>
    </Card>
  );
}
