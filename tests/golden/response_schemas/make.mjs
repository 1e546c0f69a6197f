// Writes what zod 3, zod 4 and valibot emit as JSON Schema for the expressions below: see README.md.
import { readFileSync, writeFileSync } from "node:fs";
import { toJsonSchema } from "@valibot/to-json-schema";
import * as valibot from "valibot";
import { z as zod3 } from "zod-3";
import * as zod4 from "zod-4";
import * as earlyZod4 from "zod-4.1";
import { zodToJsonSchema } from "zod-to-json-schema";

// Each: an expression, evaluated as it stands; a right answer; and a wrong one where its schema has a
// rule that can be checked.
const ZOD = [
  ["z.string().email()", "ann@example.com", "..ann@example.com"],
  ["z.string().url()", "https://example.com/a?b=c", "no url"],
  ["z.string().uuid()", "1b4e28ba-2fa1-41d2-883f-0016d3cca427", "1b4e28ba-2fa1"],
  ["z.string().datetime()", "2026-02-28T12:30:00Z", "2026-02-30T12:30:00Z"],
  ["z.string().datetime({ offset: true })", "2026-02-28T12:30:00+02:00", "yesterday"],
  ["z.string().datetime({ local: true })", "2026-02-28T12:30:00", "2026-13-28T12:30:00"],
  ["z.string().date()", "2024-02-29", "2023-02-29"],
  ["z.string().time()", "12:30:00", "25:30:00"],
  ["z.string().duration()", "P1DT2H", "1 day"],
  ["z.string().cuid()", "cjld2cjxh0000qzrmn831i7rn", "d"],
  ["z.string().nanoid()", "V1StGXR8_Z5jdHi6B-myT", "short"],
  ["z.string().base64()", "aGVsbG8="],
  ["z.string().regex(/^(?=.*[A-Z])(?=.*\\d).{8,}$/)", "Passw0rdX", "password"],
  ["z.string().regex(/^(?!admin$)[a-z]+$/)", "ann", "admin"],
  ["z.string().regex(/^[\\u4e00-\\u9fa5]+$/)", "\u786e\u8ba4", "abc"],
  ["z.string().regex(/(\\w)\\1/)", "aa", "!!"],
  ["z.string().regex(/a(?=b)/)", "ab", "xyz"],
  ["z.string().min(3).max(5).startsWith('a').endsWith('c')", "abc", "abcd"],
  ["z.number().int().min(1).max(10)", 3, 11],
  ["z.enum(['red', 'green'])", "red", "blue"],
  ["z.literal('yes')", "yes", "no"],
  ["z.object({ email: z.string().email(), site: z.string().url().optional() })",
    { email: "ann@example.com" }, { email: "ann", site: "https://example.com" }],
  ["z.object({ when: z.string().datetime(), id: z.string().uuid().nullable() }).strict()",
    { when: "2026-02-28T12:30:00Z", id: null }, { when: "soon", id: null }],
  ["z.array(z.string().email()).min(1)", ["a@example.com"], ["a@example.com", "b"]],
  ["z.record(z.string(), z.string().email())", { a: "a@example.com" }, { a: "a" }],
  ["z.tuple([z.string().email(), z.number()])", ["a@example.com", 1], ["a", 1]],
  ["z.union([z.string().email(), z.number()])", "a@example.com", true],
  ["z.discriminatedUnion('kind', [z.object({ kind: z.literal('mail'), to: z.string().email() })," +
    " z.object({ kind: z.literal('none') })])",
    { kind: "mail", to: "a@example.com" }, { kind: "mail", to: "a" }],
  ["z.object({ a: z.string().email(), b: z.string().email() })",
    { a: "a@example.com", b: "b@example.com" }, { a: "a@example.com", b: "b" }],
  ["z.intersection(z.object({ a: z.string().email() }), z.object({ b: z.number() }))",
    { a: "a@example.com", b: 1 }, { a: "a", b: 1 }],
];
const TREE = [{ name: "a", children: [{ name: "b", children: [] }] },
  { name: "a", children: [{ name: 1, children: [] }] }];
const SUM = [{ left: { left: 1, right: 2 }, right: 3 }, { left: { left: "x", right: 2 }, right: 3 }];

const ZOD_3 = [
  ...ZOD,
  ["z.string().ip()", "10.0.0.1", "10.0.0.256"],
  ["z.string().ip({ version: 'v6' })", "::1", ":::1"],
  ["z.string().cidr({ version: 'v4' })", "10.0.0.0/8", "10.0.0.0/40"],
  ["z.string().emoji()", "\u{1f600}"],
  ["z.string().jwt()", "eyJhbGciOiJIUzI1NiJ9.eyJhIjoxfQ.c2ln", "x"],
  ["z.string().ulid()", "01ARZ3NDEKTSV4RRFFQ69G5FAV", "01"],
  ["z.string().regex(/^abc$/i)", "abc", "abd"],
  ["(() => { const tree = z.object({ name: z.string(), children: z.lazy(() => tree.array()) });" +
    " return tree; })()", ...TREE],
  ["(() => { const sum = z.object({ left: z.union([z.number(), z.lazy(() => sum)])," +
    " right: z.union([z.number(), z.lazy(() => sum)]) }); return sum; })()", ...SUM],
];
const ZOD_4 = [
  ...ZOD,
  ["z.email()", "ann@example.com", "ann@example"],
  ["z.email({ pattern: z.regexes.html5Email })", "ann@example.com", "@example.com"],
  ["z.email({ pattern: z.regexes.rfc5322Email })", "ann@example.com", "a@@example.com"],
  ["z.email({ pattern: z.regexes.unicodeEmail })", "ann@example.com", "a b@example.com"],
  ["z.url()", "https://example.com", "example"],
  ["z.httpUrl()", "https://example.com", "example"],
  ["z.uuid()", "1b4e28ba-2fa1-41d2-883f-0016d3cca427", "1b4e28ba-2fa1-01d2-083f-0016d3cca427"],
  ["z.uuidv4()", "1b4e28ba-2fa1-41d2-883f-0016d3cca427", "1b4e28ba-2fa1-11d2-883f-0016d3cca427"],
  ["z.guid()", "1b4e28ba-2fa1-01d2-083f-0016d3cca427", "x"],
  ["z.iso.date()", "2024-02-29", "2023-02-29"],
  ["z.iso.time()", "12:30", "12.30"],
  ["z.iso.time({ precision: 0 })", "12:30:00", "12:30"],
  ["z.iso.datetime()", "2026-02-28T12:30:00Z", "2026-02-28T12:30:00+02:00"],
  ["z.iso.datetime({ offset: true, local: true, precision: 3 })", "2026-02-28T12:30:00.123",
    "2026-02-28T12:30:00"],
  ["z.iso.duration()", "P1Y2M3DT4H", "P"],
  ["z.ipv4()", "192.168.0.1", "192.168.0.300"],
  ["z.ipv6()", "2001:db8::1", "2001:db8::1::2"],
  ["z.cidrv4()", "10.0.0.0/8", "10.0.0.0/40"],
  ["z.cidrv6()", "2001::/32", "2001::/200"],
  ["z.mac()", "00:1A:2B:3C:4D:5E", "00:1A"],
  ["z.e164()", "+4915112345678", "0151"],
  ["z.hostname()", "example.com", "-example.com"],
  ["z.emoji()", "\u{1f600}"],
  ["z.base64url()", "aGVsbG8", "a*"],
  ["z.jwt()", "eyJhbGciOiJIUzI1NiJ9.eyJhIjoxfQ.c2ln"],
  ["z.ulid()", "01ARZ3NDEKTSV4RRFFQ69G5FAV", "01"],
  ["z.xid()", "9m4e2mr0ui3e8a215n4g", "x"],
  ["z.ksuid()", "0ujtsYcgvSTl8PAuAdqWYSMnLOv", "x"],
  ["z.templateLiteral(['id-', z.number()])", "id-7", "id"],
  ["(() => { const tree = z.object({ name: z.string(), get children() { return z.array(tree); } });" +
    " return tree; })()", ...TREE],
  ["(() => { const tree = z.object({ name: z.string(), get children() { return z.array(tree); } });" +
    " return z.object({ tree, to: z.email() }); })()",
    { tree: TREE[0], to: "a@example.com" }, { tree: TREE[1], to: "a@example.com" }],
  ["(() => { const json = z.lazy(() => z.union([z.string(), z.number(), z.array(json)," +
    " z.record(z.string(), json)])); return json; })()", { a: [1, ["x"]] }, { a: [1, [true]] }],
  ["(() => { const A = z.object({ n: z.number(), get b() { return B.optional(); } });" +
    " const B = z.object({ mail: z.email(), get a() { return A.optional(); } }); return A; })()",
    { n: 1, b: { mail: "a@example.com", a: { n: 2 } } }, { n: 1, b: { mail: "a@example.com", a: {} } }],
  ["z.json()", { a: [null, 1] }],
];
const EARLY_ZOD_4 = ["z.string()", "z.email()", "z.uuid()", "z.iso.", "z.ipv", "z.cidr", "z.hostname()", "(()"];
const VALIBOT = [
  ["v.pipe(v.string(), v.email())", "ann@example.com", "ann@"],
  ["v.pipe(v.string(), v.url())", "https://example.com", "example"],
  ["v.pipe(v.string(), v.uuid())", "1b4e28ba-2fa1-41d2-883f-0016d3cca427", "x"],
  ["v.pipe(v.string(), v.isoDate())", "2024-02-29", "2024-02-31"],
  ["v.pipe(v.string(), v.isoDateTime())", "2026-02-28T12:30", "2026-02-28"],
  ["v.pipe(v.string(), v.isoTimestamp())", "2026-02-28T12:30:00Z", "soon"],
  ["v.pipe(v.string(), v.isoTime())", "12:30", "12"],
  ["v.pipe(v.string(), v.ipv4())", "10.0.0.1", "10.0.0"],
  ["v.pipe(v.string(), v.ipv6())", "::1", "::g"],
  ["v.pipe(v.string(), v.nanoid())", "V1StGXR8_Z5jdHi6B-myT", "a b"],
  ["v.pipe(v.string(), v.bic())", "DEUTDEFF500", "x"],
  ["v.pipe(v.string(), v.decimal())", "1.5", "x"],
  ["v.pipe(v.string(), v.base64())", "aGVsbG8="],
  ["v.pipe(v.string(), v.emoji())", "\u{1f600}"],
  ["v.pipe(v.string(), v.regex(/^(?=.*\\d)(?!.*\\s).+$/))", "a1", "a 1"],
  ["v.pipe(v.string(), v.minLength(3), v.maxLength(5))", "abcd", "ab"],
  ["v.object({ email: v.pipe(v.string(), v.email()), age: v.pipe(v.number(), v.integer()) })",
    { email: "a@example.com", age: 3 }, { email: "a@example.com", age: 3.5 }],
  ["v.strictObject({ a: v.optional(v.string()) })", { a: "x" }, { b: 1 }],
  ["v.variant('kind', [v.object({ kind: v.literal('a'), to: v.pipe(v.string(), v.email()) })," +
    " v.object({ kind: v.literal('b') })])", { kind: "a", to: "a@example.com" }, { kind: "a", to: "a" }],
  ["v.picklist(['a', 'b'])", "a", "c"],
  ["(() => { const tree = v.object({ name: v.string(), children: v.lazy(() => v.array(tree)) });" +
    " return tree; })()", ...TREE],
];

const version = (name) =>
  JSON.parse(readFileSync(new URL(`node_modules/${name}/package.json`, import.meta.url))).version;
const evaluated = (name, value, expression) => new Function(name, `return ${expression};`)(value);

const zod3Version = `zod ${version("zod-3")}, zod-to-json-schema ${version("zod-to-json-schema")}`;
const zodPatterns = { emailStrategy: "pattern:zod", applyRegexFlags: true, target: "jsonSchema2019-09" };
const EMITTERS = [
  [zod3Version, ZOD_3, (source) => zodToJsonSchema(evaluated("z", zod3, source))],
  [`${zod3Version}, as patterns`, ZOD_3,
    (source) => zodToJsonSchema(evaluated("z", zod3, source), zodPatterns)],
  [`zod ${version("zod-4")}`, ZOD_4, (source) => zod4.toJSONSchema(evaluated("z", zod4, source))],
  [`zod ${version("zod-4")}, draft 7`, ZOD_4,
    (source) => zod4.toJSONSchema(evaluated("z", zod4, source), { target: "draft-7" })],
  [`zod ${version("zod-4.1")}`,
    ZOD_4.filter(([source]) => EARLY_ZOD_4.some((begin) => source.startsWith(begin))),
    (source) => earlyZod4.toJSONSchema(evaluated("z", earlyZod4, source))],
  [`valibot ${version("valibot")}, @valibot/to-json-schema ${version("@valibot/to-json-schema")}`,
    VALIBOT, (source) => toJsonSchema(evaluated("v", valibot, source), { errorMode: "ignore" })],
];

const kept = [];
const known = new Set();
for (const [library, sources, emit] of EMITTERS) {
  for (const [source, right, wrong] of sources) {
    const schema = emit(source);
    const { $schema, ...rules } = schema;
    const text = JSON.stringify([source, rules]);
    if (known.has(text)) continue; // the same but for its draft
    known.add(text);
    kept.push({ library, source, schema, right, wrong });
  }
}
writeFileSync(
  new URL("javascript.json", import.meta.url),
  `[\n${kept.map((one) => JSON.stringify(one)).join(",\n")}\n]\n`,
);
console.log(`${kept.length} schemas`);
