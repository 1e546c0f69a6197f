import { type ReactNode, useState } from "react";

import { bring, pressed } from "../hooks/pressed";
import { visible } from "../visible";
import { Chosen, type Faults, itemOf, pathOf, same, variantOf } from "./check";
import { Fault, type FieldProps, Frame, idOf, type Shaped, toldOf } from "./Frame";
import {
  Entries,
  fits,
  initial,
  type JsonSchema,
  labelOf,
  memberOf,
  membersOf,
  resolved,
  shapeOf,
  textOf,
} from "./schema";
import { Simple } from "./Simple";

/** A field for any schema, with its label, its help, and what is wrong with it. */
export function Field(props: FieldProps) {
  const shape = shapeOf(props.schema, props.root);
  // An agent's arguments need not be as its tool's schema says: people see them all the same.
  // A text of which not all is seen stands there as JSON, with escapes.
  const [unfit] = useState(!fits(shape.kind, props.value) || hides(props.value));
  const [settled] = useState(same(props.value, shape.schema.const));
  if (unfit) return <Simple {...props} shape={{ ...shape, kind: "json" }} />;
  switch (shape.kind) {
    case "group":
      return <Group {...props} shape={shape} />;
    case "list":
    case "tuple":
      return <List {...props} shape={shape} />;
    case "map":
      return (
        <List
          {...props}
          shape={shape}
          value={Entries.of(props.value)}
          onChange={(list) => props.onChange(list && new Entries(list as Entries["list"]))}
        />
      );
    case "choices":
      return <Choices {...props} shape={shape} />;
    case "variants":
      return <Variants {...props} shape={shape} />;
    case "fixed":
      // What may be left out is not said for anybody; what is something else is not hidden.
      if (!settled)
        return <Simple {...props} shape={{ ...shape, kind: "choice", options: [shape.schema.const] }} />;
      return (
        <p className="agc-field">
          {props.label}: <b>{textOf(shape.schema.const)}</b>
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

/** The members of an object, each with a field; one that may be left out is there once it is added. */
function Group({ shape, ...props }: Shaped) {
  const { schema, nullable } = shape;
  const { value, onChange } = props;
  const id = idOf(props.form, props.path);
  const there = value !== undefined && value !== null;
  const members = (value ?? {}) as Record<string, unknown>;
  const fields = () =>
    Object.entries(schema.properties ?? {}).map(([name, part]) => (
      <Field
        {...props}
        key={name}
        path={pathOf(props.path, name)}
        label={labelOf(name, shapeOf(part, props.root).schema)}
        schema={part}
        value={memberOf(members, name)}
        required={schema.required?.includes(name) ?? false}
        onChange={(value) => onChange({ ...members, [name]: value })}
      />
    ));
  const change = (next: unknown, focus: string) => {
    onChange(next);
    focusSoon(focus);
  };
  if (!props.path) return <>{fields()}</>;
  return (
    <Fields id={id} {...props} shape={shape}>
      {there && fields()}
      {there ? (
        (!props.required || nullable) && (
          <Plain label={`Remove ${props.label}`} onClick={() => change(undefined, `${id}-add`)}>
            Remove
          </Plain>
        )
      ) : (
        <Plain
          id={`${id}-add`}
          label={`Add ${props.label}`}
          onClick={() => change(membersOf(schema, props.root), id)}
        >
          Add
        </Plain>
      )}
    </Fields>
  );
}

/** Several elements that belong together. */
function Fields({ id, children, ...props }: Shaped & { id: string; children: ReactNode }) {
  const { label, path, required, faults, shape } = props;
  const help = shape.schema.description;
  const fault = memberOf(faults, path);
  return (
    <fieldset className="agc-field" id={id} tabIndex={-1} aria-describedby={toldOf(id, help, fault)}>
      <legend>
        {label}
        {!required && <small> (optional)</small>}
      </legend>
      {help && (
        <p className="agc-help" id={`${id}-help`}>
          {visible(help)}
        </p>
      )}
      {children}
      <Fault id={id} text={fault} />
    </fieldset>
  );
}

/** A button that changes what is filled in. */
function Plain(props: { id?: string; label: string; look?: string; onClick: () => void; children: ReactNode }) {
  const { label, look = "plain", onClick, ...rest } = props;
  return <button {...rest} type="button" className={`agc-${look}`} aria-label={label} onClick={pressed(onClick)} />;
}

/** The focus goes there once it is drawn, or to the first field within. */
function focusSoon(id: string) {
  requestAnimationFrame(() => {
    const place = document.getElementById(id);
    bring(place?.querySelector<HTMLElement>("input, select, textarea") ?? place);
  });
}

/** As many as wanted, each of which can be taken away again. */
function List({ shape, ...props }: Shaped) {
  const { places } = shape;
  const given = (props.value ?? []) as unknown[];
  const items = places ? Object.assign(places.map(() => undefined), given) : given;
  const [first] = useState(props.value);
  const id = idOf(props.form, props.path);
  // A field keeps what is typed by its key, which must outlive the removal of one before it.
  const [keys, setKeys] = useState(() => items.map((_, place) => place));
  const change = (next: unknown[], kept: number[]) => {
    setKeys(kept);
    props.onChange(listOf(next, first));
  };
  return (
    <Fields id={id} {...props} shape={shape}>
      {items.map((item, place) => (
        <div className="agc-item" key={places ? place : keys[place]}>
          <Field
            {...props}
            path={pathOf(props.path, place)}
            label={titleOf(itemOf(shape, place), props.root) ?? `${props.label} ${place + 1}`}
            schema={itemOf(shape, place)}
            value={item}
            required
            onChange={(value) => props.onChange(items.with(place, value))}
          />
          {!places && (
            <Plain
              look="quiet"
              label={`Remove ${props.label} ${place + 1}`}
              onClick={() => {
                change(items.toSpliced(place, 1), keys.toSpliced(place, 1));
                focusSoon(`${id}-add`);
              }}
            >
              Remove
            </Plain>
          )}
        </div>
      ))}
      {!places && (
        <Plain
          id={`${id}-add`}
          label={`Add to ${props.label}`}
          onClick={() => {
            change([...items, initial(itemOf(shape, -1), props.root, true, 1)], [...keys, Math.max(-1, ...keys) + 1]);
            focusSoon(idOf(props.form, pathOf(props.path, items.length)));
          }}
        >
          Add
        </Plain>
      )}
    </Fields>
  );
}

/** What a place of a tuple, or a variant, is called. */
const titleOf = (schema: JsonSchema | boolean | undefined, root: JsonSchema) => {
  const { title } = resolved(schema, root);
  return title && visible(title);
};

const hides = (value: unknown) => typeof value === "string" && visible(value) !== value.replace(/\r\n/g, "\n");

/** Who empties what was filled in wants it empty; else nothing was answered. */
const listOf = (items: unknown[], first: unknown) => (items.length || Array.isArray(first) ? items : undefined);

/** Any number of what there is to choose from. */
function Choices({ shape, ...props }: Shaped) {
  const chosen = (props.value ?? []) as unknown[];
  const [first] = useState(props.value);
  const id = idOf(props.form, props.path);
  return (
    <Fields id={id} {...props} shape={shape}>
      {shape.options?.map((option, place) => (
        <div className="agc-tick" key={place}>
          <input
            type="checkbox"
            id={`${id}-${place}`}
            checked={chosen.some((one) => same(one, option))}
            onChange={({ target }) => {
              const others = chosen.filter((one) => !same(one, option));
              props.onChange(listOf(target.checked ? [...others, option] : others, first));
            }}
          />
          <label htmlFor={`${id}-${place}`}>{shape.labels?.[place] ?? textOf(option)}</label>
        </div>
      ))}
    </Fields>
  );
}

/** One of several shapes: which one is a choice of its own. */
function Variants({ shape, ...props }: Shaped) {
  const { variants = [] } = shape;
  const { value } = props;
  const choose = (place: number, value: unknown) =>
    props.onChange(value === undefined ? undefined : new Chosen(place, value));
  const [chosen, setChosen] = useState(() => Math.max(0, variantOf(shape, props.value, props.root)));
  const id = idOf(props.form, props.path);
  return (
    <Fields id={id} {...props} shape={shape} faults={{}}>
      <label htmlFor={`${id}-variant`}>Kind of {props.label.toLowerCase()}</label>
      <select
        id={`${id}-variant`}
        value={chosen}
        onChange={({ target }) => {
          const place = Number(target.value);
          setChosen(place);
          choose(place, initial(variants[place], props.root));
        }}
      >
        {variants.map((_, place) => (
          <option key={place} value={place}>
            {nameOf(variants, place, props.root)}
          </option>
        ))}
      </select>
      <div className="agc-variant">
        <Field
          {...props}
          key={chosen}
          path={pathOf(props.path, "value")}
          faults={moved(props.faults, props.path)}
          schema={variants[chosen]}
          value={value instanceof Chosen ? value.value : value}
          onChange={(value) => choose(chosen, value)}
          required={props.required && !shape.nullable}
        />
      </div>
    </Fields>
  );
}

/** A variant's title, the constant that tells it apart, its type, if no other one has that, or its members. */
function nameOf(variants: JsonSchema[], place: number, root: JsonSchema): string {
  const { type, properties = {}, required = Object.keys(properties) } = variants[place] as JsonSchema;
  const fixed = Object.values(properties).map((part) => resolved(part, root).const);
  const told = titleOf(variants[place], root) ?? fixed.find((value) => typeof value === "string");
  const alike = variants.filter((part) => part.type === type).length;
  if (told !== undefined) return textOf(told);
  if (alike === 1 && type) return String(type);
  const names = required.map((name) => labelOf(name, resolved(properties[name], root)));
  return names.join(", ") || `Kind ${place + 1}`;
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
