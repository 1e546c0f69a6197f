import type { JsonSchema } from "../schema/schema";
import { Button } from "./Card";
import { SchemaForm } from "./SchemaForm";

const REASON: JsonSchema = {
  type: "object",
  properties: { reason: { title: "Reason", description: "The agent reads it.", format: "textarea", type: "string" } },
};

interface ReasonFormProps {
  /** The button's word. */
  children: string;
  /** The reason, if there is one. */
  onSubmit: (said: { reason?: string }) => void;
  onBack: () => void;
}

/** Why not: whoever says no may say why. */
export function ReasonForm({ children, onSubmit, onBack }: ReasonFormProps) {
  const take = (said: unknown) => {
    const reason = (said as { reason?: string }).reason?.trim();
    onSubmit(reason ? { reason } : {});
  };
  return (
    <SchemaForm schema={REASON} onSubmit={take}>
      <Button type="submit" look="danger">
        {children}
      </Button>
      <Button look="plain" onClick={onBack}>
        Back
      </Button>
    </SchemaForm>
  );
}
