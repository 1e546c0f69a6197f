import type { Approval, Interrupt, QuestionRecord } from "./question";
import { type JsonSchema, resolved, sound, textOf } from "./schema/schema";
import { visible } from "./visible";

export type AskKind = "approval" | "confirmation" | "form";

/** The document that all schemas of a question are parts of; a text where the agent has said none. */
export const rootOf = (ask: Interrupt): JsonSchema =>
  sound((ask.responseSchema as JsonSchema | undefined) ?? { type: "string" });

/** The schema of the answer, without the decline that may stand beside it. */
export function schemaOf(ask: Interrupt): JsonSchema {
  const root = rootOf(ask);
  return resolved(mayDecline(ask) ? root.anyOf?.[0] : root, root);
}

/** Whether a person may say that they would not answer. */
export function mayDecline(ask: Interrupt): boolean {
  const { anyOf = [] } = rootOf(ask);
  const beside = resolved(anyOf[1], rootOf(ask));
  const declined = resolved(beside.properties?.declined, rootOf(ask));
  return anyOf.length === 2 && beside.required?.join() === "declined" && declined.const === true;
}

/** What kind of answer a question wants: its schema says so, whatever its reason. */
export function kindOf(ask: Interrupt): AskKind {
  const schema = schemaOf(ask);
  const members = schema.properties ?? {};
  if (isFlag(members.approved)) return "approval";
  if (ask.reason === "tool_call" && !ask.responseSchema) return "approval";
  if (isChoice(schema)) return "confirmation";
  const names = Object.keys(members);
  if (names.length === 1 && isChoice(resolved(members[names[0] as string], {}))) return "confirmation";
  return ask.reason === "confirmation" && !ask.responseSchema ? "confirmation" : "form";
}

/** A boolean that may be either. */
const isChoice = ({ type, ...rest }: JsonSchema) => type === "boolean" && !("const" in rest || rest.enum);
const isFlag = (schema: JsonSchema | boolean | undefined) => resolved(schema, {}).type === "boolean";

/** What is sent for a yes or a no. */
export function confirmed(ask: Interrupt, yes: boolean): unknown {
  const schema = schemaOf(ask);
  if (schema.type === "boolean") return yes;
  return { [Object.keys(schema.properties ?? {})[0] ?? "confirm"]: yes };
}

interface Ours {
  refused?: { code: string; message: string };
  approval?: Approval;
  preview?: Record<string, unknown>;
}

/** What the bridge says of a question. */
export const ours = (ask: Interrupt) => ask.metadata?.agui_bridge as Ours | undefined;

/** Why the last answer was not taken, where the bridge says so in the question (`refusals: ask`). */
export function refusalOf(ask: Interrupt): Ours["refused"] {
  return ours(ask)?.refused;
}

/** Whether a tool call waits for it; what else is to be approved has a reason of its own. */
export const isCall = (ask: Interrupt) => !!ask.toolCallId || ask.reason === "tool_call";

/** The question itself: with a refusal its message says that first. */
export function titleOf(ask: Interrupt): string {
  const refused = refusalOf(ask);
  const said = textOf(ask.message ?? "");
  const before = refused && visible(`${refused.code}: ${refused.message}`);
  const title = before && said.startsWith(before) ? said.slice(before.length).trim() : said;
  if (title) return title;
  if (kindOf(ask) !== "approval") return "Your answer is needed";
  return isCall(ask) ? "May this tool run?" : "Your approval is needed";
}

/**
 * What the agent tells of a question besides its message, where it is about no tool call: what is to be
 * changed, for example. What the bridge and a client add for themselves is not for people.
 */
export function toldOf(ask: Interrupt): Record<string, unknown> | undefined {
  if (isCall(ask)) return undefined;
  const told = Object.entries(ask.metadata ?? {}).filter(([name]) => name !== "agui_bridge" && !name.includes(":"));
  return told.length ? Object.fromEntries(told) : undefined;
}

/** Who may answer, as far as it is known. */
export const ruleOf = (ask: Interrupt, record?: QuestionRecord): Approval | undefined =>
  record?.approval ?? ours(ask)?.approval;

const namesOf = (names: string[]) => names.map((name) => name.replace(/^role:/, "any ")).join(", ");

const present = (rule: Approval): Approval =>
  Object.fromEntries(Object.entries(rule).filter(([, value]) => value !== null));

/** Who may answer, in a sentence; nothing where anybody may. */
export function approversOf(ask: Interrupt, record?: QuestionRecord): string | undefined {
  const rule = ruleOf(ask, record);
  if (!rule) return undefined;
  // What there is nothing of may be null.
  const { approvers = [], quorum = 1, votes = 0, votedBy = [], eachOf = [], selfApproval, askedBy } = present(rule);
  const who = namesOf(approvers) || "anybody";
  const parts = [quorum > 1 ? `${quorum} of these must agree: ${who}.` : `May answer: ${who}.`];
  if (eachOf.length) parts.push(`One of each: ${eachOf.map(namesOf).join("; ")}.`);
  if (selfApproval === false) parts.push(`Not ${askedBy ?? "whoever asked"}.`);
  if (votes) parts.push(`${votes} of ${quorum} so far: ${votedBy.join(", ")}.`);
  return visible(parts.join(" "));
}

/** What was decided by somebody else, in a sentence; nothing while it is open. */
export function decidedOf(record: QuestionRecord | undefined): string | undefined {
  if (!record || record.status === "open") return undefined;
  if (record.status === "expired") return "The time to answer is over.";
  const last = record.history?.findLast(({ status }) => status !== "open" && status !== "claimed");
  const first = record.history?.find(({ status }) => status === "answered" || status === "cancelled") ?? last;
  const payload = record.answer?.payload as Record<string, unknown> | null | undefined;
  let what = "Answered";
  if (record.status === "cancelled" || record.answer?.status === "cancelled") what = "Cancelled";
  else if (payload?.approved === true) what = "Approved";
  else if (payload?.approved === false) what = "Denied";
  if (record.status === "indeterminate") return `${what}; whether it was carried out is not known.`;
  return `${what}${first ? ` by ${visible(first.actor)}` : ""} elsewhere.`;
}
