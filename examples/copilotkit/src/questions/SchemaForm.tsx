import Form from "@rjsf/core";
import type { RJSFSchema } from "@rjsf/utils";
import validator from "@rjsf/validator-ajv8";
import type { ReactNode } from "react";

interface SchemaFormProps {
  schema: RJSFSchema;
  /** What the fields hold at first. */
  values?: unknown;
  /** Whether it checks before it hands over; the bridge does in any case. */
  check: boolean;
  onSubmit: (values: unknown) => void;
  /** The buttons; one of them submits. */
  children: ReactNode;
}

/** A form made from a JSON Schema. */
export function SchemaForm({ schema, values, check, onSubmit, children }: SchemaFormProps) {
  return (
    <Form
      schema={schema}
      formData={values}
      validator={validator}
      // The card's own words stand above it.
      uiSchema={{ "ui:title": "", "ui:description": "" }}
      noValidate={!check}
      noHtml5Validate
      showErrorList={false}
      focusOnFirstError
      // The fields say what is wrong; by default the console does, too.
      onError={() => {}}
      onSubmit={({ formData }) => onSubmit(formData)}
    >
      <div className="actions">{children}</div>
    </Form>
  );
}
