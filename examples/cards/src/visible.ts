/** Texts of which every character can be seen: `agui_bridge/text/visible.py` in a browser, by its own table of Unicode. */

const MARKS = "[\\p{Mn}\\p{Me}]";
const PICTURE = "\\p{ExtPict}(?:\\uFE0F|[\\u{1F3FB}-\\u{1F3FF}])?";
const FLAG = "\\u{1F3F4}(?:gbeng|gbsct|gbwls)\\u{E007F}".replace(/(?<=[:|])\w+/g, (part) =>
  String.fromCodePoint(...[...part].map((letter) => 0xe0000 + letter.charCodeAt(0))),
);
const JOINING =
  "[\\u0620-\\u065F\\u066E-\\u06D3\\u06D5-\\u06EF\\u06FA-\\u06FF\\u0710-\\u07BF\\u07CA-\\u07F5\\u0840-\\u085B\\u0860-\\u0DF3\\u1000-\\u109F\\u1780-\\u17B3\\u17B6-\\u17D3\\u1820-\\u18AA\\uA840-\\uABFF\\uFB50-\\uFDFF\\uFE70-\\uFEFC]";
const FLOOD = new RegExp(`(?<=${MARKS}{6})${MARKS}`, "gu");
const UNSEEN = new RegExp(
  `${FLAG}|[0-9#*]\\uFE0F\\u20E3|\\p{ExtPict}\\uFE0E|${PICTURE}(?:\\u200D${PICTURE})*|(?<=${JOINING})[\\u200C\\u200D](?=${JOINING})|([\\0-\\x08\\v-\\x1F\\x7F-\\x9F\\u2028-\\u202E\\u2800\\uFFF9-\\uFFFB\\p{Cs}\\p{DI}])`,
  "gu",
);
const HOST = /(?<=\/\/|@)[\p{L}\p{N}_.-]+|(?<![\p{L}\p{N}_-])[\p{L}\p{N}_-]+(?:\.[\p{L}\p{N}_-]+)+/gu;
const WORD = /[\p{L}\p{N}]+/gu;
const LATIN = /[A-Za-z\u00C0-\u024F\u1E00-\u1EFF]/;
const FOREIGN =
  /[\u0370-\u10FF\u1200-\u1CFF\u1F00-\u1FFF\u2C00-\u2C5F\u2C80-\u2DDF\uA4D0-\uA6FF\uA800-\uAB2F\uAB70-\uABFF\uFB13-\uFDFF\uFE70-\uFEFC\u{10280}-\u{118FF}]/u;
const ASCII = /^[\0-\x7F]*$/;
const NUMBERED = /\\(?=u(?:[\dA-F]{4}|\{[\dA-F]{1,6}\}))/gi;

type Mark = (character: string) => string;

const number: Mark = (character) => {
  const code = (character.codePointAt(0) as number).toString(16);
  return code.length > 4 ? `\\u{${code}}` : `\\u${code.padStart(4, "0")}`;
};
const escape: Mark = (character) => character.replace(/[^]/g, number);

const unlike = (mark: Mark) => (word: string) =>
  word.replace(/[^\0-\x7F]/gu, (letter) =>
    (LATIN.test(word) && FOREIGN.test(letter)) || ASCII.test(letter.normalize("NFKC")) ? mark(letter) : letter,
  );

/** Done once more where a letter beside it was marked. */
const hidden = (mark: Mark) => (found: string, unseen?: string) => (unseen ? mark(found) : found);

/** What shows nothing, or looks like something else, stands there by its number; once, for a mark's own backslash is marked, too. */
export function visible(text: string, mark = number): string {
  return (mark === number ? text.replace(NUMBERED, mark) : text)
    .replace(/\r\n/g, "\n")
    .replace(FLOOD, mark)
    .replace(UNSEEN, hidden(mark))
    .replace(HOST, (host) => host.replace(WORD, unlike(mark)))
    .replace(UNSEEN, hidden(mark));
}

/** The name of a tool, in which a letter that looks like another one is marked, too. */
export const visibleName = (name: string) => visible(name).replace(WORD, unlike(number)).replace(UNSEEN, hidden(number));

/** A value as JSON; what is not seen is an escape of JSON. */
export const visibleJson = (value: unknown, indent?: number) => visible(JSON.stringify(value, null, indent) ?? "", escape);
