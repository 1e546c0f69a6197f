import { Entries, fits, type JsonSchema, labelOf, memberOf, patternsOf, resolved, type Shape, shapeOf, textOf } from "./schema";

/** Whether two values of JSON are one. */
export const same = (one: unknown, other: unknown) => JSON.stringify(one) === JSON.stringify(other);

/** What somebody has typed that can't be read as what the field wants. */
export class Unread {
  constructor(
    readonly text: string,
    readonly fault?: string,
  ) {}
}

/** A value of the variant that somebody has chosen, which others may look like. */
export class Chosen {
  constructor(
    readonly place: number,
    readonly value: unknown,
  ) {}
}

/** What is wrong, by the path of the field: `readers.0`. */
export type Faults = Record<string, string>;

/** A name may have dots of its own. */
export const pathOf = (path: string, name: string | number) =>
  `${path && `${path}.`}${String(name).replaceAll(".", "\\.")}`;

/**
 * What is wrong with an answer, in words for whoever gives it. It covers what fields can say: the
 * bridge judges the whole schema.
 */
export function faultsOf(
  given: JsonSchema | boolean | undefined,
  value: unknown,
  root: JsonSchema,
  path = "",
  label = "The answer",
): Faults {
  const shape = shapeOf(given, root);
  if (value instanceof Unread) {
    const wanted = shape.kind === "number" ? "a number" : "JSON, such as {\"name\": 1} or \"text\"";
    return { [path]: `${label} ${value.fault ?? `must be ${wanted}`}.` };
  }
  if (value instanceof Chosen) return faultsOf(shape.variants?.[value.place], value.value, root, path, label);
  if (value === undefined)
    return path || shape.kind === "group" || shape.nullable ? {} : { "": `${label} is missing.` };
  if (value === null) return shape.nullable ? {} : missing(shape, path, label);
  const { kind, schema } = shape;
  const entries = kind === "map" && fits(kind, value) ? Entries.of(value) : undefined;
  const wrong = lacking(shape, entries ?? value);
  if (wrong) return { [path]: `${label} ${wrong}.` };
  const faults: Faults = {};
  if (kind === "variants") {
    const part = shape.variants?.[variantOf(shape, value, root)];
    return part ? faultsOf(part, value, root, path, label) : {};
  }
  if (kind === "group") {
    for (const [name, part] of Object.entries(schema.properties ?? {})) {
      const at = pathOf(path, name);
      const member = memberOf(value as Record<string, unknown>, name);
      const said = labelOf(name, resolved(part, root));
      if (member === undefined && schema.required?.includes(name)) {
        if (!shapeOf(part, root).nullable) faults[at] = `${said} is missing.`;
      } else Object.assign(faults, faultsOf(part, member, root, at, said));
    }
  }
  if (kind === "list" || kind === "tuple" || entries)
    (entries ?? (value as unknown[])).forEach((item, place) => {
      const at = pathOf(path, place);
      const part = itemOf(shape, place);
      if (item !== undefined) Object.assign(faults, faultsOf(part, item, root, at, "This one"));
      else if (!shapeOf(part, root).nullable) faults[at] = "This one is missing.";
    });
  return faults;
}

/** The schema of an item of a list or a tuple. */
export const itemOf = ({ places, schema }: Shape, place: number) =>
  places ? places[place] : (schema.items as JsonSchema | boolean | undefined);

/** Which variant a value is of: one that it satisfies, else one of its type; -1 is none. */
export function variantOf(shape: Shape, value: unknown, root: JsonSchema): number {
  if (value instanceof Chosen) return value.place;
  const type = Array.isArray(value) ? "array" : typeof value;
  const types = (part: JsonSchema) => {
    const { kind, schema } = shapeOf(part, root);
    return kind === "number" ? "number" : (schema.type ?? (kind === "group" || kind === "map" ? "object" : undefined));
  };
  const alike = (shape.variants ?? []).filter((part) => types(part) === type);
  const fits = alike.find((part) => !Object.keys(faultsOf(part, value, root)).length) ?? alike[0];
  return fits ? shape.variants!.indexOf(fits) : -1;
}

function missing(shape: Shape, path: string, label: string): Faults {
  return shape.kind === "json" ? {} : { [path]: `${label} is missing.` };
}

const FORMATS: Record<string, [RegExp, string]> = {
  email: [/^(?!\.|.*\.\.)[^\s@]+@[^\s@]+$/, "an e-mail address"],
  uri: [/^[a-z][a-z0-9+.-]*:(?!\/\/$)\S+$/i, "an address with its scheme, such as https://example.com"],
  uuid: [/^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/i, "a UUID"],
  ipv4: [/^((25[0-5]|2[0-4]\d|1?\d?\d)(\.(?=\d)|$)){4}$/, "an IPv4 address"],
  ipv6: [/^(?!.*:::)[\da-f.:]*:[\da-f.:]*$/i, "an IPv6 address"],
  duration: [/^[+-]?P[\d.,YMWDTHS]+$/, "a duration, such as P1DT2H"],
};

function lacking({ kind, schema, options }: Shape, value: unknown): string | undefined {
  const { minimum, maximum, exclusiveMinimum, exclusiveMaximum, minItems, maxItems } = schema;
  if (kind === "fixed" && !same(value, schema.const)) return `must be ${textOf(schema.const)}`;
  if (typeof value === "string" && (kind === "text" || kind === "long")) {
    const { length } = [...value];
    if (length < (schema.minLength ?? 0)) return `needs ${schema.minLength} characters or more`;
    if (length > (schema.maxLength ?? Infinity)) return `may have ${schema.maxLength} characters at most`;
    const pattern = patternsOf(schema).find((each) => !matches(each, value));
    if (pattern !== undefined) return `must match ${pattern}`;
    const format = memberOf(FORMATS, schema.format ?? "");
    if (format && !format[0].test(value)) return `must be ${format[1]}`;
  } else if (kind === "text" || kind === "long") return "must be a text";
  if (kind === "number") {
    if (typeof value !== "number") return "must be a number";
    if (schema.type === "integer" && !Number.isInteger(value)) return "must be a whole number";
    if (value < (minimum ?? -Infinity)) return `must be ${minimum} or more`;
    if (value > (maximum ?? Infinity)) return `must be ${maximum} or less`;
    const above = exclusiveMinimum === true ? minimum : exclusiveMinimum;
    const below = exclusiveMaximum === true ? maximum : exclusiveMaximum;
    if (typeof above === "number" && value <= above) return `must be more than ${above}`;
    if (typeof below === "number" && value >= below) return `must be less than ${below}`;
    if (schema.multipleOf && !isMultiple(value, schema.multipleOf)) return `must be a multiple of ${schema.multipleOf}`;
  }
  if (kind === "tick" && typeof value !== "boolean") return "must be yes or no";
  if (kind === "choice" && !options?.some((option) => same(option, value))) return "is none of the choices";
  if (kind === "list" || kind === "choices" || kind === "tuple") {
    if (!Array.isArray(value)) return "must be a list";
    if (value.length < (minItems ?? 0)) return `needs ${minItems} or more`;
    if (value.length > (maxItems ?? Infinity)) return `may have ${maxItems} at most`;
    if (schema.uniqueItems && twice(value)) return "has the same twice";
  }
  if (kind === "map" && Array.isArray(value) && twice(value.map(({ name }) => name)))
    return "has the same name twice";
  if (kind === "group" && (typeof value !== "object" || Array.isArray(value)))
    return "must have members";
  return undefined;
}

const twice = (values: unknown[]) =>
  values.some((value, place) => value !== undefined && values.findIndex((other) => same(other, value)) < place);

/** Lenient where doubles are inexact, as 0.3 / 0.1 is: the bridge judges. */
function isMultiple(value: number, step: number): boolean {
  const quotient = value / step;
  return Math.abs(quotient - Math.round(quotient)) <= Number.EPSILON * Math.max(1, Math.abs(quotient)) * 4;
}

export function matches(pattern: string, value: string): boolean {
  for (const flags of ["u", ""])
    try {
      return new RegExp(pattern, flags).test(value);
    } catch {
      // Escapes that mean nothing are allowed without the flag alone.
    }
  // Not a pattern of this language: the bridge judges.
  return true;
}

/** The answer as it is sent: what was left empty is left out, or null where something must stand. */
export function finished(given: JsonSchema | boolean | undefined, value: unknown, root: JsonSchema): unknown {
  const shape = shapeOf(given, root);
  const { kind, schema, nullable, variants } = shape;
  if (value instanceof Chosen) return finished(variants?.[value.place], value.value, root);
  if (value === undefined) return nullable ? null : undefined;
  // Sent unchecked, it is what was typed: the bridge says what is wrong with it.
  if (value instanceof Unread) return value.text;
  if (value === null || typeof value !== "object") return value;
  if ((kind === "list" || kind === "tuple") && Array.isArray(value))
    return value.map((item, place) => finished(itemOf(shape, place), item, root));
  if (kind === "map" && fits(kind, value)) {
    const list = finished({ type: "array", items: schema.items }, Entries.of(value), root) as Entries["list"];
    return Object.fromEntries(list.map(({ name = "", value }) => [name, value]));
  }
  if (kind === "variants") {
    const part = variants?.[variantOf(shape, value, root)];
    return part ? finished(part, value, root) : value;
  }
  if (kind !== "group" || Array.isArray(value)) return value;
  return Object.fromEntries(
    Object.entries(value)
      .map(([name, member]) => [name, finished(schema.properties?.[name], member, root)] as const)
      .concat(
        (schema.required ?? [])
          .filter((name) => !Object.hasOwn(value, name) && shapeOf(schema.properties?.[name], root).nullable)
          .map((name) => [name, null] as const),
      )
      .filter(([name, member]) =>
        member === null
          ? (value as Record<string, unknown>)[name] === null || schema.required?.includes(name)
          : member !== undefined,
      ),
  );
}
