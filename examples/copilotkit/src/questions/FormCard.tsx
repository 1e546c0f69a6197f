import type { RJSFSchema } from "@rjsf/utils";

import { Card } from "./Card";
import { type QuestionProps, schemaOf } from "./question";
import { SchemaForm } from "./SchemaForm";

const ANYTHING: RJSFSchema = { type: "string", title: "Your answer" };

/** A question with a form, made from the schema that the answer must satisfy. */
export function FormCard({ ask, check, onAnswer, onCancel }: QuestionProps) {
  return (
    <Card kind="Question" title={ask.message}>
      <SchemaForm
        schema={schemaOf(ask) ?? ANYTHING}
        check={check}
        onSubmit={(values) => onAnswer(values, "Answered")}
      >
        <button type="submit">Send</button>
        <button type="button" className="quiet" onClick={onCancel}>
          Cancel
        </button>
      </SchemaForm>
    </Card>
  );
}
