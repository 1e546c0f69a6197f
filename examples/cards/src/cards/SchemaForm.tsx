import type { KeyboardEvent, ReactNode } from "react";

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
  /** Enter in a field submits nothing: only the button does, for what can't be taken back. */
  deliberate?: boolean;
  onSubmit: (values: unknown) => void;
  /** The buttons; one of them submits. */
  children: ReactNode;
}

function noEnter(event: KeyboardEvent): void {
  if (event.key === "Enter" && event.target instanceof HTMLInputElement) event.preventDefault();
}

/** A form made from a JSON Schema. */
export function SchemaForm({ deliberate, children, ...options }: SchemaFormProps) {
  const { submit, field } = useForm(options);
  return (
    <form className="agc-form" noValidate onSubmit={submit} onKeyDown={deliberate ? noEnter : undefined}>
      <Field {...field} label={options.schema.title ?? "Your answer"} required />
      <div className="agc-actions">{children}</div>
    </form>
  );
}
