import { useContext } from "react";

import { type PreviewLine } from "../preview";
import { Title } from "./titles";

/** What a call would do: a diff, or a command with its folder. A long line scrolls within the box. */
export function Preview({ lines }: { lines: PreviewLine[] }) {
  const title = useContext(Title);
  return (
    <div className="agc-preview" tabIndex={0} role="group" aria-label={`What it would do: ${title}`}>
      <code dir="ltr">
        {lines.map(([kind, sign, text], place) => (
          <span key={place} className={`agc-${kind}`}>
            {sign}
            <bdi>{text}</bdi>
            {"\n"}
          </span>
        ))}
      </code>
    </div>
  );
}
