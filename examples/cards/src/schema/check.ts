import { type JsonSchema, labelOf, resolved, type Shape, shapeOf } from "./schema";

/** Whether two values of JSON are one. */
export const same = (one: unknown, other: unknown) => JSON.stringify(one) === JSON.stringify(other);

/** What somebody has typed that can't be read as what the field wants. */
export class Unread {
  constructor(readonly text: string) {}
}

/** What is wrong, by the path of the field: `readers.0`. */
export type Faults = Record<string, string>;

export const pathOf = (path: string, name: string | number) => (path ? `${path}.${name}` : `${name}`);

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
    return { [path]: `${label} must be ${wanted}.` };
  }
  if (value === undefined) return path || shape.kind === "group" ? {} : { "": `${label} is missing.` };
  if (value === null) return shape.nullable ? {} : missing(shape, path, label);
  const wrong = lacking(shape, value);
  if (wrong) return { [path]: `${label} ${wrong}.` };
  const faults: Faults = {};
  const { kind, schema } = shape;
  if (kind === "variants") {
    const part = shape.variants?.[variantOf(shape, value, root)];
    return part ? faultsOf(part, value, root, path, label) : {};
  }
  if (kind === "group") {
    const members = value as Record<string, unknown>;
    for (const [name, part] of Object.entries(schema.properties ?? {})) {
      const at = pathOf(path, name);
      const said = labelOf(name, resolved(part, root));
      if (members[name] === undefined && schema.required?.includes(name)) {
        if (!shapeOf(part, root).nullable) faults[at] = `${said} is missing.`;
      } else Object.assign(faults, faultsOf(part, members[name], root, at, said));
    }
  }
  if (kind === "list")
    (value as unknown[]).forEach((item, place) => {
      const at = pathOf(path, place);
      if (item === undefined) faults[at] = "This one is missing.";
      else Object.assign(faults, faultsOf(schema.items, item, root, at, "This one"));
    });
  return faults;
}

/** Which variant a value is of: one that it satisfies, else one of its type; -1 is none. */
export function variantOf(shape: Shape, value: unknown, root: JsonSchema): number {
  const type = Array.isArray(value) ? "array" : typeof value;
  const types = (part: JsonSchema) => {
    const { kind, schema } = shapeOf(part, root);
    return kind === "number" ? "number" : (schema.type ?? (kind === "group" ? "object" : undefined));
  };
  const alike = (shape.variants ?? []).filter((part) => types(part) === type);
  const fits = alike.find((part) => !Object.keys(faultsOf(part, value, root)).length) ?? alike[0];
  return fits ? shape.variants!.indexOf(fits) : -1;
}

function missing(shape: Shape, path: string, label: string): Faults {
  return shape.kind === "json" ? {} : { [path]: `${label} is missing.` };
}

const FORMATS: Record<string, [RegExp, string]> = {
  email: [/^[^\s@]+@[^\s@]+$/, "an e-mail address"],
  uri: [/^[a-z][a-z0-9+.-]*:\S+$/i, "an address with its scheme, such as https://example.com"],
};

function lacking({ kind, schema, options }: Shape, value: unknown): string | undefined {
  const { minimum, maximum, exclusiveMinimum, exclusiveMaximum, minItems, maxItems } = schema;
  if (typeof value === "string" && (kind === "text" || kind === "long")) {
    const { length } = [...value];
    if (length < (schema.minLength ?? 0)) return `needs ${schema.minLength} characters or more`;
    if (length > (schema.maxLength ?? Infinity)) return `may have ${schema.maxLength} characters at most`;
    if (schema.pattern && !matches(schema.pattern, value)) return `must match ${schema.pattern}`;
    const format = FORMATS[schema.format ?? ""];
    if (format && !format[0].test(value)) return `must be ${format[1]}`;
  } else if (kind === "text" || kind === "long") return "must be a text";
  if (kind === "number") {
    if (typeof value !== "number") return "must be a number";
    if (schema.type === "integer" && !Number.isInteger(value)) return "must be a whole number";
    if (value < (minimum ?? -Infinity)) return `must be ${minimum} or more`;
    if (value > (maximum ?? Infinity)) return `must be ${maximum} or less`;
    if (value <= (exclusiveMinimum ?? -Infinity)) return `must be more than ${exclusiveMinimum}`;
    if (value >= (exclusiveMaximum ?? Infinity)) return `must be less than ${exclusiveMaximum}`;
    if (schema.multipleOf && !isMultiple(value, schema.multipleOf)) return `must be a multiple of ${schema.multipleOf}`;
  }
  if (kind === "tick" && typeof value !== "boolean") return "must be yes or no";
  if (kind === "choice" && !options?.some((option) => same(option, value))) return "is none of the choices";
  if (kind === "list" || kind === "choices") {
    if (!Array.isArray(value)) return "must be a list";
    if (value.length < (minItems ?? 0)) return `needs ${minItems} or more`;
    if (value.length > (maxItems ?? Infinity)) return `may have ${maxItems} at most`;
  }
  if (kind === "group" && (typeof value !== "object" || Array.isArray(value)))
    return "must have members";
  return undefined;
}

/** Lenient where doubles are inexact, as 0.3 / 0.1 is: the bridge judges. */
function isMultiple(value: number, step: number): boolean {
  const quotient = value / step;
  return Math.abs(quotient - Math.round(quotient)) <= Number.EPSILON * Math.max(1, Math.abs(quotient)) * 4;
}

function matches(pattern: string, value: string): boolean {
  try {
    return new RegExp(pattern, "u").test(value);
  } catch {
    // Not a pattern of this language: the bridge judges.
    return true;
  }
}

/** The answer as it is sent: what was left empty is left out, or null where something must stand. */
export function finished(given: JsonSchema | boolean | undefined, value: unknown, root: JsonSchema): unknown {
  const { kind, schema, nullable, variants } = shapeOf(given, root);
  if (value === undefined) return nullable ? null : undefined;
  // Sent unchecked, it is what was typed: the bridge says what is wrong with it.
  if (value instanceof Unread) return value.text;
  if (value === null || typeof value !== "object") return value;
  if (kind === "list" && Array.isArray(value)) return value.map((item) => finished(schema.items, item, root));
  if (kind === "variants") {
    const part = variants?.[variantOf({ kind, schema, nullable, variants }, value, root)];
    return part ? finished(part, value, root) : value;
  }
  if (kind !== "group" || Array.isArray(value)) return value;
  return Object.fromEntries(
    Object.entries(value)
      .map(([name, member]) => [name, finished(schema.properties?.[name], member, root)] as const)
      .concat(
        (schema.required ?? [])
          .filter((name) => !(name in value) && shapeOf(schema.properties?.[name], root).nullable)
          .map((name) => [name, null] as const),
      )
      .filter(([name, member]) =>
        member === null
          ? (value as Record<string, unknown>)[name] === null || schema.required?.includes(name)
          : member !== undefined,
      ),
  );
}
