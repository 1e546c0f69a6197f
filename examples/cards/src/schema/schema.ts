import { visible, visibleJson } from "../visible";

/** As much of JSON Schema as fields are made from; what is not here is typed as JSON. */
export interface JsonSchema {
  type?: string | string[];
  title?: string;
  description?: string;
  default?: unknown;
  enum?: unknown[];
  const?: unknown;
  format?: string;
  pattern?: string;
  /** Several that must all match, which stood in `allOf`. */
  patterns?: string[];
  minLength?: number;
  maxLength?: number;
  minimum?: number;
  maximum?: number;
  /** A boolean says it of `minimum`, as OpenAPI 3.0 does. */
  exclusiveMinimum?: number | boolean;
  exclusiveMaximum?: number | boolean;
  multipleOf?: number;
  minItems?: number;
  maxItems?: number;
  uniqueItems?: boolean;
  /** Several are those of a tuple, as drafts before 2020-12 write it. */
  items?: JsonSchema | boolean | (JsonSchema | boolean)[];
  prefixItems?: (JsonSchema | boolean)[];
  properties?: Record<string, JsonSchema | boolean>;
  required?: string[];
  additionalProperties?: JsonSchema | boolean;
  anyOf?: (JsonSchema | boolean)[];
  oneOf?: (JsonSchema | boolean)[];
  allOf?: (JsonSchema | boolean)[];
  $ref?: string;
  $defs?: Record<string, JsonSchema>;
  definitions?: Record<string, JsonSchema>;
  [other: string]: unknown;
}

const DEEPEST = 8;

/** The schema with what it refers to, and all that must hold together, in one place. */
export function resolved(schema: JsonSchema | boolean | undefined, root: JsonSchema, depth = 0): JsonSchema {
  if (!schema || typeof schema !== "object") return {};
  let found = sound(schema);
  if (found.$ref && depth < DEEPEST) {
    const { $ref: _, ...rest } = found;
    const target = at(root, found.$ref);
    found = target ? { ...resolved(target, root, depth + 1), ...rest } : rest;
  }
  if (found.allOf && depth < DEEPEST) {
    const { allOf, ...rest } = found;
    const merged = allOf.map((part) => resolved(part, root, depth + 1)).reduce(both, rest);
    found = { ...merged, ...saidOf(rest) };
  }
  return found;
}

const LISTS = ["required", "enum", "anyOf", "oneOf", "allOf", "prefixItems"];
const TEXTS = ["title", "description", "format", "pattern", "$ref"];
const VALUES = ["const", "default"];

/** A schema without what is not as JSON Schema has it: null for what is not there, `required: true`. */
export function sound(schema: JsonSchema): JsonSchema {
  const means = ([name, value]: [string, unknown]) =>
    LISTS.includes(name) ? Array.isArray(value)
    : TEXTS.includes(name) ? typeof value === "string"
    : value !== null || VALUES.includes(name);
  return Object.fromEntries(Object.entries(schema).filter(means));
}

/** What a schema says of itself goes before what its parts say: they may be parts of others, too. */
function saidOf(schema: JsonSchema): JsonSchema {
  const names = ["title", "description", "default"].filter((name) => name in schema);
  return Object.fromEntries(names.map((name) => [name, schema[name]]));
}

/** What a pointer leads to; a reference of another kind leads nowhere, and its part is typed as JSON. */
function at(root: JsonSchema, ref: string): JsonSchema | undefined {
  if (ref !== "#" && !ref.startsWith("#/")) return undefined;
  try {
    let place: unknown = root;
    for (const step of ref.split("/").slice(1)) {
      const key = decodeURIComponent(step).replaceAll("~1", "/").replaceAll("~0", "~");
      place = (place as Record<string, unknown> | undefined)?.[key];
    }
    return typeof place === "object" ? (place as JsonSchema) : undefined;
  } catch {
    return undefined;
  }
}

function both(one: JsonSchema, other: JsonSchema): JsonSchema {
  const merged = { ...one, ...other };
  for (const name of Object.keys(one).filter((name) => name in other && /^m(in|ax)/.test(name)))
    merged[name] = Math[name.startsWith("min") ? "max" : "min"](one[name] as number, other[name] as number);
  const patterns = [...patternsOf(one), ...patternsOf(other)];
  if (patterns.length) merged.patterns = patterns;
  if (one.properties && other.properties)
    merged.properties = { ...one.properties, ...other.properties };
  if (one.required && other.required)
    merged.required = [...new Set([...one.required, ...other.required])];
  return merged;
}

export const patternsOf = ({ pattern, patterns }: JsonSchema): string[] =>
  patterns ?? (pattern === undefined ? [] : [pattern]);

/** The variants that a choice has; of one that is a choice itself, its own: it may lead back to the first. */
function partsOf(several: (JsonSchema | boolean)[], root: JsonSchema, within = [several]): JsonSchema[] {
  return several.flatMap((part) => {
    const { anyOf, oneOf, ...outer } = resolved(part, root);
    const inner = anyOf ?? oneOf;
    if (!inner) return [outer];
    if (within.includes(inner)) return [];
    return partsOf(inner, root, [...within, inner]).map((each) => both(bare(outer), each));
  });
}

/** What a schema asks of each of its variants. */
function bare({ title: _, description: __, default: ___, ...rest }: JsonSchema): JsonSchema {
  return rest;
}

/** A field's kind, which says how it is shown and read. */
export type Kind =
  | "text"
  | "long"
  | "number"
  | "tick"
  | "choice"
  | "choices"
  | "group"
  | "list"
  | "tuple"
  | "map"
  | "variants"
  | "fixed"
  | "json";

export interface Shape {
  kind: Kind;
  schema: JsonSchema;
  /** null is an answer, too: what is left empty is null, or left out. */
  nullable: boolean;
  options?: unknown[];
  /** The words for the options, where they have some. */
  labels?: string[];
  variants?: JsonSchema[];
  /** The schemas of a tuple's places. */
  places?: (JsonSchema | boolean)[];
}

/**
 * Which field a schema asks for.
 *
 * @param inner it is of an item: of its own items nothing is asked, for they may be the list itself.
 */
export function shapeOf(given: JsonSchema | boolean | undefined, root: JsonSchema, inner = false): Shape {
  if (!given || typeof given !== "object") return { kind: "json", schema: {}, nullable: false };
  let schema = resolved(given, root);
  let nullable = false;
  const several = schema.anyOf ?? schema.oneOf;
  let variants: JsonSchema[] | undefined;
  let labels: string[] | undefined;
  if (several) {
    const parts = partsOf(several, root);
    const rest = parts.filter((part) => part.type !== "null" && part.const !== null);
    nullable = rest.length < parts.length;
    const { anyOf: _, oneOf: __, ...outer } = schema;
    if (!rest.length) schema = nullable ? { ...outer, const: null } : outer;
    else if (rest.length === 1) schema = both(rest[0] as JsonSchema, outer);
    else if (rest.every((part) => "const" in part)) {
      labels = rest.map((part) => textOf(part.title ?? part.const));
      schema = { ...outer, enum: rest.map((part) => part.const) };
    } else variants = rest.map((part) => both(bare(outer), part));
  }
  if (schema.type === "null") schema = { ...schema, const: null };
  nullable ||= schema.const === null || (schema.enum?.includes(null) ?? false);
  if (Array.isArray(schema.type)) {
    const types = schema.type.filter((type) => type !== "null");
    nullable ||= types.length < schema.type.length;
    if (types.length === 1) schema = { ...schema, type: types[0] };
    else if (!variants && !schema.enum && !("const" in schema))
      variants = types.map((type) => ({ ...bare(schema), type, title: type }));
  }
  const made = (kind: Kind, more: Partial<Shape> = {}): Shape => ({ kind, schema, nullable, ...more });
  if (variants) return made("variants", { variants });
  if (schema.enum) return made("choice", { options: schema.enum.filter((value) => value !== null), labels });
  if ("const" in schema)
    return nullable && schema.const !== null ? made("choice", { options: [schema.const] }) : made("fixed");
  switch (schema.type) {
    case "string":
      return made(schema.format === "textarea" || (schema.maxLength ?? 0) > 120 ? "long" : "text");
    case "integer":
    case "number":
      return made("number");
    case "boolean":
      // A box without a tick would not tell no from null.
      return nullable ? made("choice", { options: [true, false], labels: ["Yes", "No"] }) : made("tick");
    case "array": {
      const places = schema.prefixItems ?? schema.items;
      if (Array.isArray(places)) return made("tuple", { places });
      const item = schema.uniqueItems && !inner && shapeOf(schema.items as JsonSchema, root, true);
      if (item && item.kind === "choice")
        return made("choices", { options: item.options, labels: item.labels });
      return made(schema.items ? "list" : "json");
    }
    default:
      if (!schema.properties && typeof schema.additionalProperties === "object")
        return { ...made("map"), schema: { ...schema, items: entryOf(schema.additionalProperties) } };
      return made(schema.properties ? "group" : "json");
  }
}

/** A member of an object whose members have names of their own. */
const entryOf = (value: JsonSchema): JsonSchema => ({
  type: "object",
  required: ["name", "value"],
  properties: { name: { type: "string" }, value: { title: "Value", ...value } },
});

/** What somebody fills in of an object whose members have names of their own. */
export class Entries {
  constructor(readonly list: { name?: string; value?: unknown }[]) {}

  static of(value: unknown): Entries["list"] | undefined {
    if (value instanceof Entries) return value.list;
    return value ? Object.entries(value).map(([name, value]) => ({ name, value })) : undefined;
  }
}

/** A member of an object, and not what all objects have, such as `constructor`. */
export const memberOf = <Value,>(of: Record<string, Value>, name: string): Value | undefined =>
  Object.hasOwn(of, name) ? of[name] : undefined;

/** A value as people read it where it is one of several. */
export const textOf = (value: unknown) => (typeof value === "string" ? visible(value) : visibleJson(value));

/** The words for a member, in want of a title: `batchSize` is "Batch size". */
export function labelOf(name: string, schema: JsonSchema): string {
  if (schema.title) return visible(schema.title);
  const words = visible(name).replace(/([a-z0-9])([A-Z])/g, "$1 $2").replace(/[_-]+/g, " ").trim();
  const plain = words.toLowerCase();
  return plain.charAt(0).toUpperCase() + plain.slice(1);
}

/**
 * What a field holds at first. What may be left out is left out, until somebody adds it: a schema
 * that refers to itself would have no end.
 */
export function initial(
  given: JsonSchema | boolean | undefined,
  root: JsonSchema,
  required = true,
  depth = 0,
): unknown {
  const { kind, schema, nullable, variants, places } = shapeOf(given, root);
  if (schema.default !== undefined) return schema.default;
  if (kind === "fixed" && required) return schema.const;
  if (nullable || !required || depth > DEEPEST) return undefined;
  if (kind === "map") return {};
  if (places) return places.map((part) => initial(part, root, true, depth + 1));
  if (kind === "tick") return depth === 0 ? undefined : false;
  if (kind === "list" || kind === "choices") return [];
  if (kind === "variants") return initial(variants?.[0], root, true, depth + 1);
  return kind === "group" ? membersOf(schema, root, depth + 1) : undefined;
}

/** What the members of an object hold at first. */
export function membersOf(schema: JsonSchema, root: JsonSchema, depth = 1): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(schema.properties ?? {})
      .map(([name, part]) => [name, initial(part, root, schema.required?.includes(name), depth)] as const)
      .filter(([, value]) => value !== undefined),
  );
}

/** Whether the field of a kind can show a value; what it can't show is typed as JSON. */
export function fits(kind: Kind, value: unknown): boolean {
  if (value === undefined || value === null) return true;
  if (["list", "choices", "tuple"].includes(kind)) return Array.isArray(value);
  if (kind === "group" || kind === "map") return typeof value === "object" && !Array.isArray(value);
  return !["text", "long", "number"].includes(kind) || typeof value !== "object";
}
