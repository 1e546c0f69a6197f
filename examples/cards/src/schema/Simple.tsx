import { useState } from "react";

import { visibleJson } from "../visible";
import { matches, same, Unread } from "./check";
import { Frame, type Shaped } from "./Frame";
import { type JsonSchema, memberOf, patternsOf, textOf } from "./schema";

const INPUTS: Record<string, string> = {
  date: "date",
  "date-time": "datetime-local",
  time: "time",
  email: "email",
  uri: "url",
  password: "password",
};

/** What these elements can show; they hide any other text, which would be sent all the same. */
const SHOWN: Record<string, RegExp> = {
  date: /^\d{4}-\d\d-\d\d$/,
  "date-time": /^$/,
  time: /^\d\d:\d\d(:\d\d)?$/,
};

function inputOf({ format = "", type }: JsonSchema, first: unknown): string {
  const wanted = type === "string" ? memberOf(INPUTS, format) : undefined;
  return wanted && ((first ?? undefined) === undefined || (SHOWN[format]?.test(String(first)) ?? true)) ? wanted : "text";
}

/** One line, several, a number, a choice, or JSON: what a single element of HTML can say. */
export function Simple(props: Shaped) {
  const { value, shape, onChange } = props;
  const { schema, options = [], labels } = shape;
  const [first] = useState(value);
  // One line can't show what has several, and would lose where they end.
  const [tall] = useState(typeof value === "string" && /\n|.{80}/.test(value));
  const kind = shape.kind === "text" && tall ? "long" : shape.kind;
  const input = inputOf(schema, first);
  const [typed, setTyped] = useState(() => shown(kind, value));
  const take = (text: string) => {
    setTyped(text);
    const timed = input === "time" || input === "datetime-local";
    onChange(timed ? momentOf(text, schema) : read(kind, text, first));
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
                  {labels?.[place] ?? textOf(option)}
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
            type={input}
            inputMode={kind !== "number" ? undefined : schema.type === "integer" ? "numeric" : "decimal"}
            autoComplete="off"
            onChange={({ target }) => take(target.value)}
          />
        );
      }}
    </Frame>
  );
}

function exampleOf({ examples }: JsonSchema): string | undefined {
  return Array.isArray(examples) && typeof examples[0] === "string" ? examples[0] : undefined;
}

function shown(kind: string, value: unknown): string {
  if (value instanceof Unread) return value.text;
  if (value === undefined || (value === null && kind !== "json")) return "";
  return kind === "json" ? visibleJson(value, 2) : String(value);
}

/** A time in the way that the schema's pattern wants it, if it has one. */
function momentOf(text: string, schema: JsonSchema): string | undefined {
  if (!text) return undefined;
  const ways = [text, `${text}:00`];
  if (text.includes("T")) {
    const there = new Date(text);
    // Whoever reads it may live elsewhere; no clock goes on for as long as the element's calendar does.
    const told = Number.isNaN(there.getTime()) ? text : there.toISOString();
    ways.unshift(told, told.replace(".000", ""));
  }
  return ways.find((way) => patternsOf(schema).every((pattern) => matches(pattern, way))) ?? ways[0];
}

/** What a text means. Who empties what was filled in wants it empty; else it was never answered. */
function read(kind: string, text: string, first: unknown): unknown {
  if (kind === "text" || kind === "long") return text === "" && first === undefined ? undefined : text;
  if (text.trim() === "") return undefined;
  if (kind === "number") {
    const number = Number(text.trim());
    if (/^-?\d{16,300}$/.test(text.trim()) && BigInt(text) !== BigInt(number))
      return new Unread(text, "has more digits than a number can keep");
    return Number.isFinite(number) ? number : new Unread(text);
  }
  try {
    return JSON.parse(text);
  } catch {
    return new Unread(text);
  }
}
