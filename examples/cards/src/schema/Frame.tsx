import type { ReactNode } from "react";

import type { Faults } from "./check";
import { visible } from "../visible";
import { type JsonSchema, memberOf, type Shape } from "./schema";

export interface FieldProps {
  /** Of the whole form; ids of elements begin with it. */
  form: string;
  path: string;
  label: string;
  schema: JsonSchema | boolean | undefined;
  root: JsonSchema;
  value: unknown;
  required?: boolean;
  faults: Faults;
  onChange: (value: unknown) => void;
}

/** A name with a space in it would be two for `aria-describedby`. */
export const idOf = (form: string, path: string) => `${form}-${encodeURIComponent(path) || "answer"}`;

export type Shaped = FieldProps & { shape: Shape };

export interface Aria {
  id: string;
  "aria-invalid"?: true;
  "aria-describedby"?: string;
  "aria-required"?: true;
}

/** The ids of what is said of a field. */
export const toldOf = (id: string, help?: string, fault?: string): string | undefined =>
  [help && `${id}-help`, fault && `${id}-fault`].filter(Boolean).join(" ") || undefined;

/** An input with its label, its help, and what is wrong with it. */
export function Frame(props: Shaped & { tick?: boolean; children: (aria: Aria) => ReactNode }) {
  const { form, path, label, required, faults, shape, tick, children } = props;
  const id = idOf(form, path);
  const fault = memberOf(faults, path);
  const help = shape.schema.description;
  const told = toldOf(id, help, fault);
  const input = children({
    id,
    ...(fault && { "aria-invalid": true }),
    ...(told && { "aria-describedby": told }),
    ...(required && !tick && { "aria-required": true }),
  });
  return (
    <div className={tick ? "agc-field agc-tick" : "agc-field"}>
      {tick && input}
      <label htmlFor={id}>
        {label}
        {!required && !tick && path && <small> (optional)</small>}
      </label>
      {help && (
        <p className="agc-help" id={`${id}-help`}>
          {visible(help)}
        </p>
      )}
      {!tick && input}
      <Fault id={id} text={fault} />
    </div>
  );
}

export function Fault({ id, text }: { id: string; text?: string }) {
  return text ? (
    <p className="agc-fault" id={`${id}-fault`}>
      {visible(text)}
    </p>
  ) : null;
}
