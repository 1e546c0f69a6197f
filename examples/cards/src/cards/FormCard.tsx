import { schemaOf } from "../kinds";
import type { CardProps } from "../question";
import { Button, Card } from "./Card";
import { SchemaForm } from "./SchemaForm";

/** A question with a form, made from the schema that the answer must satisfy. */
export function FormCard(props: CardProps) {
  const { ask, check, onAnswer, onCancel } = props;
  return (
    <Card {...props} kind="Question">
      <SchemaForm schema={schemaOf(ask)} check={check} onSubmit={(values) => onAnswer(values, "Answered")}>
        <Button type="submit">Send</Button>
        <Button look="quiet" onClick={onCancel}>
          Cancel
        </Button>
      </SchemaForm>
    </Card>
  );
}
