// What agents ask that no page foresees: long, deep, circular, or not as their own schema says.

import type { Interrupt, QuestionRecord } from "../src";

export interface Case {
  interrupts: Interrupt[];
  records?: QuestionRecord[];
  /** What is known once the page hears the event `meanwhile`. */
  meanwhile?: QuestionRecord[];
  /** What is asked in addition, then. */
  more?: Interrupt[];
}

/** A question with a response schema. */
export const asked = (responseSchema: Interrupt["responseSchema"], message = "What shall it be?"): Case => ({
  interrupts: [{ id: "one", reason: "input_required", message, responseSchema }],
});

/** An approval of a call with these arguments, which may be edited as the schema says. */
export const called = (args: Record<string, unknown>, editedArgs: object, more: Partial<Interrupt> = {}): Case => ({
  interrupts: [
    {
      id: "one",
      reason: "tool_call",
      toolCallId: "call-1",
      message: "Run it?",
      responseSchema: {
        type: "object",
        required: ["approved"],
        properties: { approved: { type: "boolean" }, reason: { type: "string" }, editedArgs },
      },
      ...more,
    },
  ],
  records: [{ id: "one", status: "open", toolCall: { name: "run", args }, mayAnswer: true }],
});

const TEXT = { type: "string" };
const CODE = "def f(x):\n    if x:\n        return 1\n    return 2\n";
const deep = (levels: number): Record<string, unknown> =>
  levels ? { [`level_${levels}`]: deep(levels - 1), note: "as deep as this" } : { end: "reached" };

const twins = called({ path: "/srv/a" }, { type: "object", properties: { path: TEXT } });
const [twin] = twins.interrupts as [Interrupt];
const [record] = twins.records as [QuestionRecord];

const RULE = { approvers: ["bob", "cleo"], quorum: 2, votes: 0, votedBy: [] };
const revisable: Interrupt = {
  ...twin,
  responseSchema: {
    type: "object",
    required: ["approved"],
    properties: {
      approved: { type: "boolean" },
      remember: { enum: ["thread", "actor"] },
      editedArgs: { type: "object", properties: { path: TEXT } },
    },
  },
};

/** What writers in other languages make of all that there is nothing of. */
const NULLS = {
  interrupts: [
    { ...twin, metadata: null, expiresAt: null },
    { ...twin, id: "two", message: null, responseSchema: null, metadata: { agui_bridge: { refused: null, approval: null } } },
    { id: "three", reason: "input_required", message: { ask: "a name" }, responseSchema: null, toolCallId: null },
  ],
  records: [
    {
      ...record,
      toolCall: { name: "run", args: null },
      approval: { approvers: null, quorum: null, selfApproval: null, askedBy: null, votes: null, votedBy: null, eachOf: null },
    },
    { ...record, id: "two", toolCall: null, approval: null, mayAnswer: null, why: null, answer: null, history: null },
  ],
};

export const HARD: Record<string, Case> = {
  circle: asked({
    $defs: {
      Node: {
        type: "object",
        required: ["value"],
        properties: {
          value: TEXT,
          next: { anyOf: [{ $ref: "#/$defs/Node" }, { type: "null" }], default: null },
          parent: { $ref: "#/$defs/Node" },
          children: { type: "array", items: { $ref: "#/$defs/Node" } },
        },
      },
    },
    $ref: "#/$defs/Node",
  }),
  lists: asked({
    type: "object",
    properties: { tree: { $ref: "#/$defs/Tree" } },
    $defs: { Tree: { type: "array", items: { $ref: "#/$defs/Tree" } } },
  }),
  broken: asked({
    type: "object",
    required: ["percent"],
    properties: {
      percent: { $ref: "#/%zz" },
      anchor: { $ref: "#somewhere" },
      any: true,
      either: { anyOf: [true, { type: "string" }] },
      nothing: { enum: [] },
      odd: { type: "string", format: "x-colour", pattern: "(unclosed" },
    },
  }),
  optional: asked({
    type: "object",
    required: ["title"],
    properties: {
      title: TEXT,
      owner: { type: "object", required: ["name"], properties: { name: TEXT, mail: TEXT } },
      files: { type: "array", minItems: 1, items: TEXT },
      empty: { type: "array", items: TEXT },
      when: { type: "string", format: "date-time" },
    },
  }),
  choices: asked({
    type: "object",
    required: ["size", "level"],
    properties: {
      size: { oneOf: [{ const: "s", title: "Small" }, { const: "l", title: "Large" }] },
      level: { enum: [1, null, "two", { three: 3 }] },
      some: { type: "array", uniqueItems: true, items: { enum: [{ a: 1 }, { a: 2 }] } },
      either: {
        anyOf: [
          { type: "object", title: "By name", required: ["name"], properties: { name: TEXT, nick: { type: ["string", "null"] } } },
          { type: "object", title: "By number", required: ["id"], properties: { id: { type: "integer" } } },
        ],
      },
    },
  }),
  declinable: asked({
    anyOf: [
      { type: "object", required: ["name"], properties: { name: { $ref: "#/anyOf/0/$defs/Name" } }, $defs: { Name: TEXT } },
      { type: "object", required: ["declined"], properties: { declined: { const: true }, reason: TEXT } },
    ],
  }),
  unsure: asked(
    {
      anyOf: [
        { type: "boolean" },
        { type: "object", required: ["declined"], properties: { declined: { const: true }, reason: TEXT } },
      ],
    },
    "Is it yours?",
  ),
  code: called(
    { path: "f.py", content: CODE, at: "2026-11-01T10:00:00+01:00", day: "tomorrow" },
    {
      type: "object",
      properties: {
        path: TEXT,
        content: TEXT,
        at: { type: "string", format: "time" },
        day: { type: "string", format: "date" },
      },
    },
  ),
  long: called(
    { text: "All work and no play. ".repeat(3000), word: "x".repeat(4000), ids: Array.from({ length: 400 }, (_, at) => at) },
    { type: "object", properties: { text: TEXT, word: TEXT, ids: { type: "array", items: { type: "integer" } } } },
    { message: `Run ${"a very long question ".repeat(30)}?` },
  ),
  deep: called(deep(7), { type: "object" }),
  unfit: called(
    { to: "ann@example.com", tags: "red", who: "Ann", count: "three" },
    {
      type: "object",
      properties: {
        to: { type: "array", items: TEXT },
        tags: { type: "array", uniqueItems: true, items: { enum: ["red", "blue"] } },
        who: { type: "object", properties: { name: TEXT } },
        count: { type: "integer" },
      },
    },
  ),
  nested: called(
    { who: { name: "Ann" } },
    {
      type: "object",
      required: ["who"],
      properties: { who: { $ref: "#/properties/editedArgs/$defs/Person" } },
      $defs: { Person: { type: "object", required: ["name"], properties: { name: TEXT } } },
    },
  ),
  twins: {
    interrupts: [twin, { ...twin, id: "two", toolCallId: "call-2" }],
    records: [record, { ...record, id: "two" }],
  },
  overtaken: {
    ...twins,
    meanwhile: [
      {
        ...record,
        status: "resolved",
        answer: { status: "resolved", payload: { approved: false } },
        history: [{ status: "answered", at: "2026-11-01T12:01:00Z", actor: "bob" }],
      },
    ],
  },
  shared: {
    ...twins,
    interrupts: [twin, { ...twin, id: "two", toolCallId: "call-2" }],
    records: [record, { ...record, id: "two" }],
    meanwhile: [
      {
        ...record,
        status: "answered",
        answer: { status: "resolved", payload: { approved: true } },
        history: [{ status: "answered", at: "2026-11-01T12:01:00Z", actor: "bob" }],
      },
      { ...record, id: "two" },
    ],
  },
  agreed: {
    interrupts: twins.interrupts,
    records: [
      {
        ...record,
        approval: {
          approvers: ["role:dba", "bob"],
          quorum: 2,
          eachOf: [["bob"], ["role:dba"]],
          votes: 1,
          votedBy: ["bob"],
          editedArgs: { path: "/srv/b" },
        },
      },
    ],
  },
  unknown: { interrupts: twins.interrupts },
  revised: {
    interrupts: [revisable],
    records: [{ ...record, approval: RULE }],
    meanwhile: [{ ...record, approval: { ...RULE, votes: 1, votedBy: ["bob"], editedArgs: { path: "/srv/b" } } }],
  },
  lost: {
    interrupts: twins.interrupts,
    records: [
      {
        ...record,
        status: "indeterminate",
        answer: { status: "resolved", payload: { approved: true } },
        history: [
          { status: "answered", at: "2026-11-01T12:01:00Z", actor: "bob" },
          { status: "indeterminate", at: "2026-11-01T12:02:00Z", actor: "bridge" },
        ],
      },
    ],
  },
  named: {
    interrupts: [
      { ...twin, reason: "constructor" },
      { id: "two", reason: "toString", message: "What shall it be?" },
    ],
    records: [record],
  },
  failing: {
    interrupts: [
      { ...twin, reason: "failing" },
      { ...twin, id: "two" },
    ],
    records: [record, { ...record, id: "two" }],
  },
  nulls: NULLS as unknown as Case,
  arabic: {
    interrupts: [
      {
        ...twin,
        message: "ما اسمك؟",
        responseSchema: {
          type: "object",
          properties: { name: { type: "string", title: "الاسم الكامل:", description: "اكتب اسمك كما في الجواز (مطلوب)." } },
        },
      },
      { ...twin, id: "two" },
    ],
    records: [{ ...record, id: "two", approval: { ...RULE, votes: 1, votedBy: ["bob"] } }],
  },
  growing: {
    ...twins,
    interrupts: [twin, { ...twin, id: "two", toolCallId: "call-2" }],
    meanwhile: [record],
    more: [{ ...twin, id: "three", message: "Stop it?" }],
  },
  together: {
    interrupts: ["one", "two"].map((id) => ({
      ...twin,
      id,
      expiresAt: new Date(Date.now() + 110_000).toISOString(),
    })),
    records: [record, { ...record, id: "two" }],
  },
  patient: {
    interrupts: [{ ...twin, expiresAt: new Date(Date.now() + 50.5 * 3_600_000).toISOString() }],
    records: [record],
  },
  strange: {
    interrupts: [
      {
        ...twin,
        message: "שלום: <b>הרץ</b>? <script>alert(1)</script>\n运行这个命令吗？" + "很".repeat(80),
        expiresAt: "whenever",
      },
    ],
    records: [
      {
        ...record,
        toolCall: {
          name: `a_tool_with_a_name_${"that_has_no_end_".repeat(12)}`,
          args: { "<img src=x>": "<script>alert(1)</script>", שם: "שלום עולם", 名: "世界".repeat(60), none: null, "": [] },
        },
      },
    ],
  },
  unseen: {
    interrupts: [{ ...twin, message: "Run\u200b it\u202e?" }],
    records: [
      {
        ...record,
        toolCall: {
          name: "p\u0430y",
          args: { "to\u3164": "report.txt\u{E0101}", host: "ex\u0430mple.com", plain: "👩🏽‍🚀 می‌خواهم", deep: { a: ["\ud800"] } },
        },
      },
    ],
  },
  hurried: {
    interrupts: [{ ...twin, expiresAt: new Date(Date.now() + 4_000).toISOString() }],
    records: [record],
  },
};
