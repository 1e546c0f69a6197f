import { ours } from "./kinds";
import type { Interrupt } from "./question";
import { visible, visibleJson } from "./visible";

/** What a line of a preview says, its sign, and the rest of it; every character is seen. */
export type PreviewLine = [kind: string, sign: string, text: string];

/** What a call would do, as the bridge tells it: `agui_bridge/protocol/previews.py`. */
export const previewOf = (ask: Interrupt) => ours(ask)?.preview;

/** A preview's lines; nothing of one that a later version tells. `agui_bridge/text/shown.py` does the same. */
export function previewLines(told: Record<string, unknown>): PreviewLine[] | undefined {
  const { type, paths, diff, command, folder, cut } = told;
  const lines: PreviewLine[] = [];
  if (type === "command" && typeof command === "string") {
    lines.push(["path", "Folder: ", word(String(folder))]);
    command.split("\n").forEach((line, at) => lines.push(["command", at ? "> " : "$ ", seen(line)]));
  } else if (type === "diff" && typeof diff === "string" && Array.isArray(paths)) {
    for (const path of paths) lines.push(["path", "File: ", word(String(path))]);
    let [left, right] = [0, 0];
    for (const line of diff ? diff.replace(/\n$/, "").split("\n") : []) {
      const place = left || right ? null : /^@@ -\d+(?:,(\d+))? \+\d+(?:,(\d+))? @@/.exec(line);
      if (place) [left, right] = [+(place[1] ?? 1), +(place[2] ?? 1)];
      const kind = place || line.startsWith("\\ ") || !(left || right) ? "quiet" : KINDS[line.slice(0, 1)];
      if (kind === "removed" || kind === "same") left--;
      if (kind === "added" || kind === "same") right--;
      lines.push(kind === "quiet" ? [kind, "", seen(line)] : [kind ?? "", line.slice(0, 1), seen(line.slice(1))]);
    }
    if (!diff && !cut) lines.push(["quiet", "", "Nothing would change."]);
  } else return undefined;
  return lines;
}

const KINDS: Record<string, string> = { "-": "removed", "+": "added", " ": "same", "": "same" };

/** A tab is an arrow, and blanks at the end are marked. */
const seen = (line: string) =>
  visible(line)
    .replace(/→/g, "\\u2192")
    .replace(/[ \t]+$/, (blanks) => [...blanks].map((it) => (it === " " ? "\\u0020" : "\\u0009")).join(""))
    .replace(/\t/g, "→   ");

/** A name, quoted where its blanks would not be seen; these are marked then. */
const word = (name: string) =>
  name && !name.startsWith('"') && name === name.trim().split(/\s+/).join(" ")
    ? visible(name)
    : visibleJson(name).replace(/(?<=[ "]) | (?=[ "])/g, "\\u0020");
