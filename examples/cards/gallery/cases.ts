import type { Interrupt, QuestionRecord } from "../src";
import { type Case, HARD } from "./hard";

const EMAIL = {
  type: "object",
  required: ["to", "body"],
  properties: {
    to: { type: "string", format: "email" },
    body: { type: "string", maxLength: 500 },
    urgent: { type: "boolean", default: false },
  },
};
const APPROVED = { approved: { type: "boolean" }, reason: { type: "string" } };
const args = { to: "ann@example.com", body: "The report is ready.", urgent: false };
const call = { name: "send_email", args };

const approval = (more: Partial<Interrupt> = {}, members: object = {}): Interrupt => ({
  id: "one",
  reason: "tool_call",
  toolCallId: "call-1",
  message: "Send an email to ann@example.com?",
  responseSchema: {
    type: "object",
    required: ["approved"],
    properties: { ...APPROVED, editedArgs: EMAIL, ...members },
  },
  ...more,
});

const record = (more: Partial<QuestionRecord> = {}): QuestionRecord => ({
  id: "one",
  status: "open",
  toolCall: call,
  mayAnswer: true,
  ...more,
});

const asked = (responseSchema: Interrupt["responseSchema"], more: Partial<Interrupt> = {}): Interrupt => ({
  id: "one",
  reason: "input_required",
  message: "Which quarter shall the report cover?",
  responseSchema,
  ...more,
});

const QUARTER = {
  type: "object",
  required: ["quarter", "year"],
  properties: { quarter: { enum: ["Q1", "Q2", "Q3", "Q4"] }, year: { type: "integer", minimum: 2000 } },
};

/** A field of every kind, as Pydantic, Zod and people write schemas. */
const EVERYTHING = {
  type: "object",
  required: ["title", "quarter", "year", "urgent", "owner", "mode"],
  $defs: {
    Person: {
      type: "object",
      required: ["name"],
      properties: { name: { type: "string" }, mail: { type: "string", format: "email" } },
    },
  },
  properties: {
    title: { type: "string", description: "As it stands on the first page.", minLength: 3 },
    quarter: { enum: ["Q1", "Q2", "Q3", "Q4"] },
    year: { type: "integer", minimum: 2000 },
    share: { type: ["number", "null"], maximum: 1, multipleOf: 0.25 },
    urgent: { type: "boolean" },
    due: { type: "string", format: "date" },
    owner: { $ref: "#/$defs/Person" },
    readers: { type: "array", items: { type: "string" }, default: ["board@example.com"] },
    parts: { type: "array", uniqueItems: true, items: { enum: ["sales", "costs", "people"] } },
    mode: { const: "draft" },
    limit: { anyOf: [{ type: "integer" }, { type: "string", title: "words" }] },
    note: { anyOf: [{ type: "string", maxLength: 500 }, { type: "null" }], default: null },
    extra: {},
  },
};

const RULE = { approvers: ["role:dba", "bob"], quorum: 2, selfApproval: false, askedBy: "ann" };

const DIFF = `--- a/src/mail.py
+++ b/src/mail.py
@@ -1,3 +1,3 @@
 def send(to):
-\treturn post(to)
+\treturn post(to, retries=3)  # a comment that is far longer than the screen of a phone, so that the box scrolls
 \t# <b>\u202e
`;
const previewed = (preview: object, schema?: Interrupt["responseSchema"]): Case => ({
  interrupts: [approval({ metadata: { agui_bridge: { preview } }, ...(schema && { responseSchema: schema }) })],
  records: [record()],
});

export const CASES: Record<string, Case> = {
  ...HARD,
  approval: { interrupts: [approval()], records: [record()] },
  preview: previewed({ type: "diff", paths: ["src/mail.py"], diff: DIFF, cut: false }),
  command: previewed({ type: "command", command: "rm -rf build \\\n  dist ", folder: "/srv/app", cut: false }),
  cut: previewed(
    { type: "command", command: "rm -rf", folder: "/srv", cut: true },
    { type: "object", required: ["approved"], properties: { ...APPROVED, approved: { type: "boolean", const: false } } },
  ),
  later: previewed({ type: "picture", cut: false }),
  respond: {
    interrupts: [approval({}, { respond: { type: "string" } })],
    records: [record()],
  },
  remember: {
    interrupts: [approval({}, { remember: { enum: ["thread", "actor"] } })],
    records: [record()],
  },
  flag: {
    interrupts: [approval({}, { always: { type: "boolean" } })],
    records: [record()],
  },
  confirmation: {
    interrupts: [
      asked(
        { type: "object", required: ["confirm"], properties: { confirm: { type: "boolean" } } },
        { reason: "confirmation", message: "Send the newsletter to all 4,200 readers?" },
      ),
    ],
  },
  told: {
    interrupts: [
      asked(
        { type: "object", required: ["approved"], properties: APPROVED },
        {
          reason: "database_modification",
          message: "Delete the users who have not logged in since 2023?",
          metadata: {
            query: "DELETE FROM users\nWHERE last_login < '2023-01-01'",
            affectedRows: 42,
            "tanstack:interruptBinding": { v: 1 },
            agui_bridge: { approval: null },
          },
        },
      ),
      asked(QUARTER, { id: "two", metadata: { workflow: { step: "report", tries: 2 } } }),
      asked({ type: "boolean" }, { id: "three", message: "Send it now?", metadata: { to: "4,200 readers" } }),
    ],
  },
  boolean: { interrupts: [asked({ type: "boolean" }, { message: "Is Ann here?" })] },
  text: { interrupts: [asked({ type: "string" }, { message: "What shall I call it?" })] },
  form: { interrupts: [asked(QUARTER)] },
  everything: { interrupts: [asked(EVERYTHING, { message: "What shall the report cover?" })] },
  several: {
    interrupts: [
      approval(),
      approval({ id: "two", toolCallId: "call-2", message: "Send an email to bob@example.com?" }),
      asked(QUARTER, { id: "three" }),
    ],
    records: [record(), record({ id: "two", toolCall: { name: "send_email", args: { ...args, to: "bob@example.com" } } })],
  },
  expiring: {
    interrupts: [approval({ expiresAt: new Date(Date.now() + 65_000).toISOString() })],
    records: [record()],
  },
  brief: {
    interrupts: [approval({ expiresAt: new Date(Date.now() + 2_000).toISOString() })],
    records: [record()],
  },
  expired: { interrupts: [approval({ expiresAt: "2026-01-01T00:00:00Z" })], records: [record()] },
  rule: {
    interrupts: [approval()],
    records: [record({ approval: { ...RULE, votes: 1, votedBy: ["bob"] } })],
  },
  forbidden: {
    interrupts: [approval()],
    records: [
      record({
        approval: { ...RULE, votes: 0, votedBy: [] },
        mayAnswer: false,
        why: { code: "SELF_APPROVAL", message: "You have asked for this: somebody else must answer." },
      }),
    ],
  },
  decided: {
    interrupts: [approval()],
    records: [
      record({
        status: "resolved",
        answer: { status: "resolved", payload: { approved: true } },
        history: [
          { status: "open", at: "2026-11-01T12:00:00Z", actor: "agent" },
          { status: "answered", at: "2026-11-01T12:01:00Z", actor: "bob" },
          { status: "resolved", at: "2026-11-01T12:01:01Z", actor: "agent" },
        ],
      }),
    ],
  },
  refused: {
    interrupts: [
      asked(QUARTER, {
        message: "INVALID_RESUME_PAYLOAD: year: is missing. Which quarter shall the report cover?",
        metadata: { agui_bridge: { refused: { code: "INVALID_RESUME_PAYLOAD", message: "year: is missing." } } },
      }),
    ],
  },
};
