import type { ReactNode } from "react";

import { useForm } from "../hooks/useForm";
import { Field } from "../schema/Field";
import type { JsonSchema } from "../schema/schema";

interface SchemaFormProps {
  schema: JsonSchema;
  /** The document that the schema is a part of. */
  root?: JsonSchema;
  /** What the fields hold at first. */
  values?: unknown;
  check?: boolean;
  onSubmit: (values: unknown) => void;
  /** The buttons; one of them submits. */
  children: ReactNode;
}

/** A form made from a JSON Schema. */
export function SchemaForm({ children, ...options }: SchemaFormProps) {
  const { submit, field } = useForm(options);
  return (
    <form className="agc-form" noValidate onSubmit={submit}>
      <Field {...field} label={options.schema.title ?? "Your answer"} required />
      <div className="agc-actions">{children}</div>
    </form>
  );
}
