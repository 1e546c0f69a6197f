import { type SyntheticEvent, useId, useState } from "react";

import { type Faults, faultsOf, finished } from "../schema/check";
import { initial, type JsonSchema } from "../schema/schema";

/** A field with a fault, or several that have one together. */
const WRONG = "[aria-invalid], fieldset:has(> .agc-fault)";

interface FormOptions {
  schema: JsonSchema;
  /** The document that the schema is a part of, to which its references lead; by default itself. */
  root?: JsonSchema;
  /** What the fields hold at first; by default what the schema says. */
  values?: unknown;
  /** Whether the values are checked before they are handed over. */
  check?: boolean;
  onSubmit: (values: unknown) => void;
}

/** The state of a form: what was filled in, and what is wrong with it. */
export function useForm({ schema, root = schema, values, check = true, onSubmit }: FormOptions) {
  const id = useId();
  const [value, setValue] = useState(() => values ?? initial(schema, root));
  const [faults, setFaults] = useState<Faults>({});
  const submit = (event: SyntheticEvent<HTMLElement>) => {
    event.preventDefault();
    const wrong = check ? faultsOf(schema, value, root) : {};
    setFaults(wrong);
    if (!Object.keys(wrong).length) return onSubmit(finished(schema, value, root));
    const form = event.currentTarget;
    // After they are drawn: the fault is read out with its field.
    requestAnimationFrame(() => form.querySelector<HTMLElement>(WRONG)?.focus());
  };
  const field = { form: id, path: "", schema, root, value, faults, onChange: setValue };
  return { id, value, setValue, faults, submit, field };
}
