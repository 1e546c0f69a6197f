import { type ReactNode, useState } from "react";

import { type Faults, pathOf, Unread, variantOf } from "./check";
import { initial, type JsonSchema, labelOf, type Shape, shapeOf } from "./schema";

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

export const idOf = (form: string, path: string) => `${form}-${path || "answer"}`;

/** A field for any schema, with its label, its help, and what is wrong with it. */
export function Field(props: FieldProps) {
  const shape = shapeOf(props.schema, props.root);
  switch (shape.kind) {
    case "group":
      return <Group {...props} shape={shape} />;
    case "list":
      return <List {...props} shape={shape} />;
    case "choices":
      return <Choices {...props} shape={shape} />;
    case "variants":
      return <Variants {...props} shape={shape} />;
    case "fixed":
      return (
        <p className="agc-field">
          {props.label}: <b>{String(shape.schema.const)}</b>
        </p>
      );
    case "tick":
      return (
        <Frame {...props} shape={shape} tick>
          {(aria) => (
            <input
              {...aria}
              type="checkbox"
              checked={props.value === true}
              onChange={({ target }) => props.onChange(target.checked)}
            />
          )}
        </Frame>
      );
    default:
      return <Simple {...props} shape={shape} />;
  }
}

type Shaped = FieldProps & { shape: Shape };

interface Aria {
  id: string;
  "aria-invalid"?: true;
  "aria-describedby"?: string;
  "aria-required"?: true;
}

function Frame(props: Shaped & { tick?: boolean; children: (aria: Aria) => ReactNode }) {
  const { form, path, label, required, faults, shape, tick, children } = props;
  const id = idOf(form, path);
  const fault = faults[path];
  const help = path ? shape.schema.description : undefined;
  const told = [help && `${id}-help`, fault && `${id}-fault`].filter(Boolean).join(" ");
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
          {help}
        </p>
      )}
      {!tick && input}
      <Fault id={id} text={fault} />
    </div>
  );
}

function Fault({ id, text }: { id: string; text?: string }) {
  return text ? (
    <p className="agc-fault" id={`${id}-fault`}>
      {text}
    </p>
  ) : null;
}

const INPUTS: Record<string, string> = {
  date: "date",
  time: "time",
  email: "email",
  uri: "url",
  password: "password",
};

/** One line, several, a number, a choice, or JSON: what a single element of HTML can say. */
function Simple(props: Shaped) {
  const { value, shape, onChange } = props;
  const { kind, schema, options = [] } = shape;
  const [first] = useState(value);
  const [typed, setTyped] = useState(() => shown(kind, value));
  const take = (text: string) => {
    setTyped(text);
    onChange(read(kind, text, first));
  };
  return (
    <Frame {...props}>
      {(aria) => {
        if (kind === "choice")
          return (
            <select
              {...aria}
              value={options.findIndex((option) => same(option, value))}
              onChange={({ target }) => onChange(options[Number(target.value)])}
            >
              <option value={-1}>{props.required ? "Choose" : "–"}</option>
              {options.map((option, place) => (
                <option key={place} value={place}>
                  {typeof option === "string" ? option : JSON.stringify(option)}
                </option>
              ))}
            </select>
          );
        const given = { ...aria, value: typed, placeholder: exampleOf(schema) };
        return kind === "long" || kind === "json" ? (
          <textarea
            {...given}
            rows={3}
            spellCheck={kind === "long"}
            className={kind === "json" ? "agc-code" : undefined}
            onChange={({ target }) => take(target.value)}
          />
        ) : (
          <input
            {...given}
            type={kind === "number" ? "text" : (INPUTS[schema.format ?? ""] ?? "text")}
            inputMode={kind !== "number" ? undefined : schema.type === "integer" ? "numeric" : "decimal"}
            autoComplete="off"
            onChange={({ target }) => take(target.value)}
          />
        );
      }}
    </Frame>
  );
}

const same = (one: unknown, other: unknown) => JSON.stringify(one) === JSON.stringify(other);

function exampleOf({ examples }: JsonSchema): string | undefined {
  return Array.isArray(examples) && typeof examples[0] === "string" ? examples[0] : undefined;
}

function shown(kind: string, value: unknown): string {
  if (value instanceof Unread) return value.text;
  if (value === undefined || (value === null && kind !== "json")) return "";
  return kind === "json" ? JSON.stringify(value, null, 2) : String(value);
}

/** What a text means. Who empties what was filled in wants it empty; else it was never answered. */
function read(kind: string, text: string, first: unknown): unknown {
  if (kind === "text" || kind === "long") return text === "" && first === undefined ? undefined : text;
  if (text.trim() === "") return undefined;
  if (kind === "number") {
    const number = Number(text.trim());
    return Number.isFinite(number) ? number : new Unread(text);
  }
  try {
    return JSON.parse(text);
  } catch {
    return new Unread(text);
  }
}

/** The members of an object, each with a field. */
function Group({ shape, ...props }: Shaped) {
  const { schema } = shape;
  const members = (props.value ?? {}) as Record<string, unknown>;
  const fields = Object.entries(schema.properties ?? {}).map(([name, part]) => (
    <Field
      {...props}
      key={name}
      path={pathOf(props.path, name)}
      label={labelOf(name, shapeOf(part, props.root).schema)}
      schema={part}
      value={members[name]}
      required={schema.required?.includes(name) ?? false}
      onChange={(value) => props.onChange({ ...members, [name]: value })}
    />
  ));
  const id = idOf(props.form, props.path);
  if (!props.path) return <>{fields}</>;
  return (
    <fieldset className="agc-field" id={id} tabIndex={-1}>
      <legend>{props.label}</legend>
      {schema.description && <p className="agc-help">{schema.description}</p>}
      {fields}
      <Fault id={id} text={props.faults[props.path]} />
    </fieldset>
  );
}

/** As many as wanted, each of which can be taken away again. */
function List({ shape, ...props }: Shaped) {
  const items = (props.value ?? []) as unknown[];
  const id = idOf(props.form, props.path);
  // A field keeps what is typed by its key, which must outlive the removal of one before it.
  const [keys, setKeys] = useState(() => items.map((_, place) => place));
  const change = (next: unknown[], kept: number[]) => {
    setKeys(kept);
    props.onChange(next);
  };
  const focus = (element: string) => requestAnimationFrame(() => document.getElementById(element)?.focus());
  return (
    <fieldset className="agc-field" id={id} tabIndex={-1}>
      <legend>{props.label}</legend>
      {shape.schema.description && <p className="agc-help">{shape.schema.description}</p>}
      {items.map((item, place) => (
        <div className="agc-item" key={keys[place]}>
          <Field
            {...props}
            path={pathOf(props.path, place)}
            label={`${props.label} ${place + 1}`}
            schema={shape.schema.items}
            value={item}
            required
            onChange={(value) => props.onChange(items.with(place, value))}
          />
          <button
            type="button"
            className="agc-quiet"
            aria-label={`Remove ${props.label} ${place + 1}`}
            onClick={() => {
              change(items.toSpliced(place, 1), keys.toSpliced(place, 1));
              focus(`${id}-add`);
            }}
          >
            Remove
          </button>
        </div>
      ))}
      <button
        type="button"
        className="agc-plain"
        id={`${id}-add`}
        aria-label={`Add to ${props.label}`}
        onClick={() => {
          change([...items, initial(shape.schema.items, props.root)], [...keys, Math.max(-1, ...keys) + 1]);
          focus(idOf(props.form, pathOf(props.path, items.length)));
        }}
      >
        Add
      </button>
      <Fault id={id} text={props.faults[props.path]} />
    </fieldset>
  );
}

/** Any number of what there is to choose from. */
function Choices({ shape, ...props }: Shaped) {
  const chosen = (props.value ?? []) as unknown[];
  const id = idOf(props.form, props.path);
  return (
    <fieldset className="agc-field" id={id} tabIndex={-1}>
      <legend>{props.label}</legend>
      {shape.options?.map((option, place) => (
        <div className="agc-tick" key={place}>
          <input
            type="checkbox"
            id={`${id}-${place}`}
            checked={chosen.some((one) => same(one, option))}
            onChange={({ target }) =>
              props.onChange(
                target.checked ? [...chosen, option] : chosen.filter((one) => !same(one, option)),
              )
            }
          />
          <label htmlFor={`${id}-${place}`}>{String(option)}</label>
        </div>
      ))}
      <Fault id={id} text={props.faults[props.path]} />
    </fieldset>
  );
}

/** One of several shapes: which one is a choice of its own. */
function Variants({ shape, ...props }: Shaped) {
  const { variants = [] } = shape;
  const [chosen, setChosen] = useState(() => Math.max(0, variantOf(shape, props.value, props.root)));
  const id = idOf(props.form, props.path);
  return (
    <fieldset className="agc-field" id={id} tabIndex={-1}>
      <legend>{props.label}</legend>
      <label htmlFor={`${id}-variant`}>Kind of {props.label.toLowerCase()}</label>
      <select
        id={`${id}-variant`}
        value={chosen}
        onChange={({ target }) => {
          setChosen(Number(target.value));
          props.onChange(initial(variants[Number(target.value)], props.root));
        }}
      >
        {variants.map((part, place) => (
          <option key={place} value={place}>
            {part.title ?? String(part.type ?? `Kind ${place + 1}`)}
          </option>
        ))}
      </select>
      <Field
        {...props}
        key={chosen}
        path={pathOf(props.path, "value")}
        faults={moved(props.faults, props.path)}
        schema={variants[chosen]}
        required
      />
    </fieldset>
  );
}

/** The field of a variant has a place of its own, and its faults those of the variant. */
function moved(faults: Faults, path: string): Faults {
  const within = (at: string) => at === path || at.startsWith(path ? `${path}.` : "");
  return Object.fromEntries(
    Object.entries(faults).map(([at, text]) => [
      within(at) ? pathOf(pathOf(path, "value"), at.slice(path.length).replace(/^\./, "")).replace(/\.$/, "") : at,
      text,
    ]),
  );
}
