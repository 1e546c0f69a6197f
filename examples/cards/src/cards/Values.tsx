import { type ReactNode, useContext, useLayoutEffect, useRef, useState } from "react";

import { toldOf } from "../kinds";
import type { Interrupt } from "../question";
import { visible, visibleJson } from "../visible";
import { Title } from "./titles";

interface ArgumentsProps {
  values: Record<string, unknown>;
  /** What they are, for whoever can't see them. */
  label?: string;
}

/** What a call is called with, or what else a question is about; what is long scrolls, so that the buttons stay near. */
export function Arguments({ values, label = "Arguments" }: ArgumentsProps) {
  const place = useRef<HTMLDivElement>(null);
  const [long, setLong] = useState(false);
  const title = useContext(Title);
  useLayoutEffect(() => {
    const { scrollHeight, clientHeight } = place.current as HTMLDivElement;
    setLong(scrollHeight > clientHeight);
  }, [values]);
  // Only what scrolls is a stop of the Tab key.
  const stop = long && { tabIndex: 0, role: "group", "aria-label": `${label}: ${title}` };
  return (
    <div className={long ? "agc-args agc-long" : "agc-args"} ref={place} {...stop}>
      <Values values={values} />
    </div>
  );
}

/** What the agent tells besides its question, if it tells anything. */
export function Told({ ask }: { ask: Interrupt }) {
  const told = toldOf(ask);
  return told ? <Arguments values={told} label="Details" /> : null;
}

/** Names and values, nested ones within. */
export function Values({ values }: { values: Record<string, unknown> }) {
  return (
    <dl className="agc-values">
      {Object.entries(values ?? {}).map(([name, value]) => (
        <div key={name}>
          <dt>{breakable(isPlainName(name) ? visible(name) : visibleJson(name))}</dt>
          <dd>
            <Value value={value} />
          </dd>
        </div>
      ))}
    </dl>
  );
}

/** A name that is broken between its words, if it is too long: `affected|Rows`. */
function breakable(name: string): ReactNode[] {
  const words = name.split(/(?<=[a-z0-9])(?=[A-Z])|(?<=[_.\-/])/);
  return words.flatMap((word, place) => (place ? [<wbr key={place} />, word] : [word]));
}

function Value({ value }: { value: unknown }) {
  if (Array.isArray(value) && value.length)
    return (
      <ul>
        {value.map((item, place) => (
          <li key={place}>
            <Value value={item} />
          </li>
        ))}
      </ul>
    );
  if (value !== null && typeof value === "object" && Object.keys(value).length)
    return <Values values={value as Record<string, unknown>} />;
  if (value === null) return <>–</>;
  return <>{typeof value === "string" && !misleads(value) ? visible(value) : visibleJson(value)}</>;
}

/** Whether all of a name's spaces are seen, so that it need not be quoted. */
const isPlainName = (name: string) =>
  name !== "" && !name.startsWith('"') && name === name.trim().split(/\s+/).join(" ");

/** Whether a text that is shown as it is would be read as another value, or not be seen whole: it is quoted. */
function misleads(text: string): boolean {
  if (!text.trim() || text === "–" || text.includes("\r")) return true;
  if (text !== text.trim() && !text.includes("\n")) return true;
  try {
    const read = JSON.parse(text);
    // What holds something is drawn otherwise than as JSON.
    return read === null || typeof read !== "object" || Object.keys(read).length === 0;
  } catch {
    return false;
  }
}

/** Whether a browser has read every number as it was written: of more than 53 bits it has dropped digits. */
export function isExact(value: unknown): boolean {
  if (typeof value === "number") return !Number.isInteger(value) || Number.isSafeInteger(value);
  return value === null || typeof value !== "object" || Object.values(value).every(isExact);
}
