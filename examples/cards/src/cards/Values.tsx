import { useContext, useLayoutEffect, useRef, useState } from "react";

import { Title } from "./titles";

/** What a call is called with; what is long scrolls, so that the buttons stay near. */
export function Arguments({ values }: { values: Record<string, unknown> }) {
  const place = useRef<HTMLDivElement>(null);
  const [long, setLong] = useState(false);
  const title = useContext(Title);
  useLayoutEffect(() => {
    const { scrollHeight, clientHeight } = place.current as HTMLDivElement;
    setLong(scrollHeight > clientHeight);
  }, [values]);
  // Only what scrolls is a stop of the Tab key.
  const stop = long && { tabIndex: 0, role: "group", "aria-label": `Arguments: ${title}` };
  return (
    <div className={long ? "agc-args agc-long" : "agc-args"} ref={place} {...stop}>
      <Values values={values} />
    </div>
  );
}

/** Names and values, nested ones within. */
export function Values({ values }: { values: Record<string, unknown> }) {
  return (
    <dl className="agc-values">
      {Object.entries(values).map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>
            <Value value={value} />
          </dd>
        </div>
      ))}
    </dl>
  );
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
  return <>{typeof value === "object" || value === "" ? JSON.stringify(value) : String(value)}</>;
}
