import { Card } from "./Card";
import type { QuestionProps } from "./question";

/** Yes or no. */
export function ConfirmationCard({ ask, onAnswer, onCancel }: QuestionProps) {
  return (
    <Card kind="Confirmation" title={ask.message}>
      <div className="actions">
        <button onClick={() => onAnswer({ confirm: true }, "Yes")}>Yes</button>
        <button className="plain" onClick={() => onAnswer({ confirm: false }, "No")}>
          No
        </button>
        <button className="quiet" onClick={onCancel}>
          Cancel
        </button>
      </div>
    </Card>
  );
}
