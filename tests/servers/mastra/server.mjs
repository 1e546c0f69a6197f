// A real Mastra server for human-in-the-loop tests: offline, no API key, scripted model.
//   npm install && npm start
// env: PORT=4100  HOST=127.0.0.1  MASTRA_DB=file:./mastra-hitl.db | :memory: | none  TRACE_MODEL=1
//      EXTRA_RESUME_NETWORK=1 adds POST /x/agents/:id/resume-network (Mastra has no such route)
import { serve } from '@hono/node-server';
import { Mastra } from '@mastra/core/mastra';
import { Agent } from '@mastra/core/agent';
import { createTool } from '@mastra/core/tools';
import { createStep, createWorkflow } from '@mastra/core/workflows';
import { MastraServer } from '@mastra/hono';
import { LibSQLStore } from '@mastra/libsql';
import { Memory } from '@mastra/memory';
import { Hono } from 'hono';
import { pathToFileURL } from 'node:url';
import { z } from 'zod';
import * as background from './background.mjs';
import * as depth from './depth.mjs';
import * as durable from './durable.mjs';
import * as outputs from './outputs.mjs';
import { pausingWorkflows } from './workflows.mjs';

process.env.MASTRA_TELEMETRY_DISABLED ??= '1'; // read lazily by @mastra/core

// ---------------------------------------------------------------- scripted model
// AI SDK LanguageModelV2 shape. No network, no randomness, no clock.
// The user's text is a tiny command language:
//   Delete the old records -> confirmationTool({action})          (suspends: "Please confirm: ...")
//   delete 42            -> deleteRecord({id:"42"})                     (requireApproval tool)
//   delete 1 and 2       -> two parallel deleteRecord calls in one step
//   refund 10            -> issueRefund({amount:10})                    (tool that suspends)
//   refund 1 and 2       -> two parallel issueRefund calls
//   both 42 10           -> deleteRecord + issueRefund in one step      (approval + suspension)
//   ask a and b          -> two askUser calls (suspends, no suspendSchema: both pause at once)
//   lookup 7             -> lookupRecord({id:"7"})                      (no human needed)
//   mixed 7 42           -> lookupRecord + deleteRecord in one step
//   book Paris           -> bookTrip({city}) (suspends twice: date, then confirm)
//   agent <command>      -> delegate to the sub-agent that owns the tool
//   workflow 10          -> run refundWorkflow({amount:10})             (workflow step that suspends)
//   flow eachTwoWorkflow {"ids":["1"]} -> run that workflow of workflows.mjs with that input (flow-agent)
//   use paint {"a":1}    -> paint({a:1}), a tool of the application's if the request brought one
//   all A; B             -> the calls of both commands in one step
//   recall               -> recallRequest(): what the request said of the application (requestContext)
//   recall everything    -> the same, with every key of the request's
//   recall with approval -> recallApproved(), the same tool behind an approval
//   slow 7               -> slowRecord({id:"7"}), which runs until POST /x/release/7, then noteRecord({id:"7"})
//   drip 7               -> words of text, one every 20 ms, until the model call is aborted
//   in turn A; B; C      -> see durable.mjs
//   later ..., defer ... -> see background.mjs
//   to NAME ...          -> see depth.mjs; void 42, data 42, remember ... -> see outputs.mjs
//   what was read        -> plain text: what the model has read of the user
//   boom                 -> the model throws
//   anything else        -> plain text "Echo: ..."
const HASH = (s) => { let h = 5381; for (const c of s) h = ((h * 33) ^ c.charCodeAt(0)) >>> 0; return h.toString(36); };
const textOf = (m) => typeof m.content === 'string' ? m.content
  : (m.content ?? []).filter((p) => p.type === 'text').map((p) => p.text).join('\n');

function parse(cmd) {
  const t = cmd.trim();
  let m;
  for (const family of [background, depth, outputs]) { const calls = family.parse(t); if (calls) return calls; }
  if ((m = /^agent\s+(.+)$/is.exec(t))) {
    const inner = m[1].trim();
    return [{ agent: /^refund|^book|^ask/i.test(inner) ? 'suspendAgent' : 'approvalAgent', prompt: inner }];
  }
  if (/^delete the old records/i.test(t)) return [{ tool: 'confirmationTool', input: { action: 'delete old records' } }];
  if ((m = /^agents\s+(.+?)\s*;\s*(.+)$/is.exec(t))) return [...parse('agent ' + m[1]), ...parse('agent ' + m[2])];
  if ((m = /^workflow\s+(\d+)/i.exec(t))) return [{ workflow: 'refundWorkflow', input: { amount: Number(m[1]) } }];
  if ((m = /^flow\s+(\w+)\s+(\{.*\})/i.exec(t))) return [{ workflow: m[1], input: JSON.parse(m[2]) }];
  if ((m = /^delete\s+(\w+)\s+and\s+(\w+)/i.exec(t))) return [{ tool: 'deleteRecord', input: { id: m[1] } }, { tool: 'deleteRecord', input: { id: m[2] } }];
  if ((m = /^delete\s+(\w+)/i.exec(t))) return [{ tool: 'deleteRecord', input: { id: m[1] } }];
  if ((m = /^refund\s+(\d+)\s+and\s+(\d+)/i.exec(t))) return [{ tool: 'issueRefund', input: { amount: Number(m[1]) } }, { tool: 'issueRefund', input: { amount: Number(m[2]) } }];
  if ((m = /^refund\s+(\d+)/i.exec(t))) return [{ tool: 'issueRefund', input: { amount: Number(m[1]) } }];
  if ((m = /^both\s+(\w+)\s+(\d+)/i.exec(t))) return [{ tool: 'deleteRecord', input: { id: m[1] } }, { tool: 'issueRefund', input: { amount: Number(m[2]) } }];
  if ((m = /^mixed\s+(\w+)\s+(\w+)/i.exec(t))) return [{ tool: 'lookupRecord', input: { id: m[1] } }, { tool: 'deleteRecord', input: { id: m[2] } }];
  if ((m = /^ask\s+(\w+)\s+and\s+(\w+)/i.exec(t))) return [{ tool: 'askUser', input: { topic: m[1] } }, { tool: 'askUser', input: { topic: m[2] } }];
  if ((m = /^ask\s+(\w+)/i.exec(t))) return [{ tool: 'askUser', input: { topic: m[1] } }];
  if ((m = /^lookup\s+(\w+)/i.exec(t))) return [{ tool: 'lookupRecord', input: { id: m[1] } }];
  if ((m = /^all\s+(.+?)\s*;\s*(.+)$/is.exec(t))) return [...parse(m[1]), ...parse(m[2])];
  if ((m = /^use\s+(\w+)\s+(\{.*\})/i.exec(t))) return [{ tool: m[1], input: JSON.parse(m[2]) }];
  if ((m = /^recall( everything| with approval)?/i.exec(t))) return [{ tool: m[1]?.endsWith('approval') ? 'recallApproved' : 'recallRequest', input: { all: !!m[1]?.endsWith('thing') } }];
  if ((m = /^slow\s+(\w+)/i.exec(t))) return [{ tool: 'slowRecord', input: { id: m[1] } }];
  if ((m = /^book\s+(\w+)/i.exec(t))) return [{ tool: 'bookTrip', input: { city: m[1] } }];
  return [];
}

// Turns a human reply into resumeData for the tool schemas used in this server.
function resumeDataFrom(reply, schemaText) {
  if (/"?approved"?/.test(schemaText)) return { approved: /^(y|ok|approve|confirm)/i.test(reply) };
  if (/"?date"?/.test(schemaText)) return { date: reply.trim() };
  return { confirmed: /^(y|ok|approve|confirm)/i.test(reply) };
}

// A step of a command as a call of the model.
const asCall = (s) => s.agent ? { toolName: `agent-${s.agent}`, input: { prompt: s.prompt } }
  : s.workflow ? { toolName: `workflow-${s.workflow}`, input: { inputData: s.input } }
  : { toolName: s.tool, input: s.input };

function decide(prompt) {
  const all = prompt.map(textOf).join('\n\n');
  const last = prompt[prompt.length - 1];
  const lastUser = [...prompt].reverse().find((m) => m.role === 'user');
  const reply = lastUser ? textOf(lastUser) : '';

  // 1. Mastra agent-network internals (structured output prompts)
  if (/Please select the most appropriate primitive/.test(all)) {
    const task = (/The user has given you the following task:\s*\n\s*([\s\S]*?)\n\s*\n/.exec(all)?.[1] ?? '').trim();
    const [s] = parse(task);
    const pick = !s ? { primitiveId: 'none', primitiveType: 'none', prompt: '' }
      : s.agent ? { primitiveId: s.agent, primitiveType: 'agent', prompt: s.prompt }
      : s.workflow ? { primitiveId: s.workflow, primitiveType: 'workflow', prompt: JSON.stringify(s.input) }
      : { primitiveId: s.tool, primitiveType: 'tool', prompt: JSON.stringify(s.input) };
    return { text: JSON.stringify({ ...pick, selectionReason: s ? 'scripted choice' : `Echo: ${task}` }) };
  }
  if (/You need to evaluate if the task is complete/.test(all))
    return { text: JSON.stringify({ isComplete: true, completionReason: 'scripted: complete', finalResult: /"?confirmed\\*"?:\s*true,\\*"action/.test(all) ? 'Records deleted successfully' : 'Network finished.' }) };
  if (/used to resume a suspended tool call/.test(all)) {
    const schema = /matches this schema: ([\s\S]*?)\.\n/.exec(all)?.[1] ?? '';
    return { text: JSON.stringify({ resumeData: JSON.stringify(resumeDataFrom(reply, schema)) }) };
  }

  const turn = durable.inTurn(reply, prompt, parse);
  if (turn?.text) return turn;
  if (turn) return { calls: turn.calls.map(asCall) };

  const spoken = outputs.spoken(reply, prompt, executions);
  if (spoken) return { text: spoken };

  // Mastra says which background tasks have come to something -> say so
  const told = background.told(prompt);
  if (told) return { text: told };

  // 2. Tool results just came back -> summarise
  if (last?.role === 'tool') {
    if (/"confirmed":true,"action"/.test(JSON.stringify(last.content))) return { text: 'Records deleted successfully' };
    const out = last.content.filter((p) => p.type === 'tool-result')
      .map((p) => `${p.toolName} => ${JSON.stringify(outputs.repeated(p.output?.value ?? p.output))}`);
    const slow = last.content.find((p) => p.toolName === 'slowRecord');
    const next = background.next(last);
    if (next) return { calls: next };
    if (slow) return { calls: [{ toolName: 'noteRecord', input: { id: (slow.output?.value ?? slow.output).id } }] };
    return { text: `Result: ${out.join('; ')}` };
  }

  // 3. autoResumeSuspendedTools on agent.stream(): a system suffix lists the suspended tools
  const auto = /Analyse the suspended tools: (\[[\s\S]*?\]), using the messages available/.exec(all);
  if (auto && parse(reply).length === 0) {
    const [s] = JSON.parse(auto[1]);
    return { calls: [{ toolName: s.toolName, input: { ...s.args, resumeData: resumeDataFrom(reply, s.resumeSchema ?? ''), suspendedToolCallId: s.toolCallId, suspendedToolRunId: s.runId ?? '' } }] };
  }

  if (/^what was read/i.test(reply)) return { text: `Read: ${prompt.filter((m) => m.role === 'user').map(textOf).join(' | ')}` };
  const drip = /^drip\s+(\w+)/i.exec(reply);
  if (drip) return { drip: drip[1] };
  if (/^boom/i.test(reply)) throw new Error('scripted model failure');
  const calls = parse(reply).map(asCall);
  return calls.length ? { calls } : { text: `Echo: ${reply}` };
}

const USAGE = { inputTokens: 10, outputTokens: 5, totalTokens: 15 };

// Words without end: what was said by the time that the call was aborted is an execution.
function dripping(id, signal, parts) {
  let words = 0, timer;
  return new ReadableStream({
    start(c) {
      for (const p of [...parts, { type: 'text-start', id: 't0' }]) c.enqueue(p);
      const end = (aborted) => { clearInterval(timer); did('drip', { id, aborted }); };
      timer = setInterval(() => c.enqueue({ type: 'text-delta', id: 't0', delta: `w${++words} ` }), 20);
      signal?.addEventListener('abort', () => { end(true); c.error(signal.reason ?? new Error('aborted')); }, { once: true });
    },
  });
}

class ScriptedModel {
  specificationVersion = 'v2';
  provider = 'scripted';
  supportedUrls = {};
  constructor(modelId = 'scripted-1') { this.modelId = modelId; }
  #run({ prompt, tools }) {
    if (process.env.TRACE_MODEL) console.error('[model]', JSON.stringify({ prompt, tools: tools?.map((t) => t.name) }));
    const d = decide(prompt);
    const n = prompt.length;
    return { text: d.text, drip: d.drip, calls: (d.calls ?? []).map((c, i) => ({ ...c, toolCallId: `call_${c.toolName}_${HASH(JSON.stringify(c.input) + ':' + n + ':' + i)}` })), id: `resp_${HASH(JSON.stringify(prompt.map(textOf)))}` };
  }
  async doGenerate(options) {
    const r = this.#run(options);
    return {
      content: r.calls.length ? r.calls.map((c) => ({ type: 'tool-call', toolCallId: c.toolCallId, toolName: c.toolName, input: JSON.stringify(c.input) })) : [{ type: 'text', text: r.text }],
      finishReason: r.calls.length ? 'tool-calls' : 'stop', usage: USAGE, warnings: [],
    };
  }
  async doStream(options) {
    const r = this.#run(options);
    const parts = [{ type: 'stream-start', warnings: [] }, { type: 'response-metadata', id: r.id, modelId: this.modelId, timestamp: new Date(0) }];
    if (r.calls.length) for (const c of r.calls) {
      const input = JSON.stringify(c.input);
      parts.push({ type: 'tool-input-start', id: c.toolCallId, toolName: c.toolName }, { type: 'tool-input-delta', id: c.toolCallId, delta: input }, { type: 'tool-input-end', id: c.toolCallId },
        { type: 'tool-call', toolCallId: c.toolCallId, toolName: c.toolName, input });
    } else if (r.drip) return { stream: dripping(r.drip, options.abortSignal, parts) };
    else parts.push({ type: 'text-start', id: 't0' }, { type: 'text-delta', id: 't0', delta: r.text }, { type: 'text-end', id: 't0' });
    parts.push({ type: 'finish', finishReason: r.calls.length ? 'tool-calls' : 'stop', usage: USAGE });
    return { stream: new ReadableStream({ start(c) { for (const p of parts) c.enqueue(p); c.close(); } }) };
  }
}

// ---------------------------------------------------------------- tools, workflow, agents
// Every real side effect is appended here, so a test can see a tool run twice (GET /x/executions).
export const executions = [];
const did = (what, result) => { executions.push({ what, result }); return result; };
const told = (signal, what, id) => signal?.addEventListener('abort', () => did(`${what} told to stop`, { id }), { once: true });
const sent = (context) => Object.fromEntries([...context.entries()].filter(([key]) => !/^mastra/i.test(key)));
const waiting = new Map(); // by id: what a release calls
const free = new Set(); // released before they were waited for
const released = (id) => new Promise((go) => { if (free.delete(id)) go(); else waiting.set(id, go); setTimeout(go, 30_000).unref(); });
const release = (id) => { if (waiting.has(id)) waiting.get(id)(); else free.add(id); };

export function buildMastra({ dbUrl = 'file:./mastra-hitl.db' } = {}) {
  const storage = dbUrl === 'none' ? undefined : new LibSQLStore({ id: 'hitl', url: dbUrl });
  const model = new ScriptedModel();
  const memory = () => new Memory({ options: { lastMessages: 20 } });

  const lookupRecord = createTool({
    id: 'lookup-record', description: 'Reads a record',
    inputSchema: z.object({ id: z.string() }), outputSchema: z.object({ id: z.string(), title: z.string() }),
    execute: async ({ id }) => ({ id, title: `Record ${id}` }),
  });
  const deleteRecord = createTool({
    id: 'delete-record', description: 'Deletes a record', requireApproval: true,
    inputSchema: z.object({ id: z.string() }), outputSchema: z.object({ deleted: z.boolean(), id: z.string() }),
    execute: async ({ id }) => did('deleteRecord', { deleted: true, id }),
  });
  const issueRefund = createTool({
    id: 'issue-refund', description: 'Refunds an amount after a human confirms',
    inputSchema: z.object({ amount: z.number() }), outputSchema: z.object({ refunded: z.boolean(), amount: z.number() }),
    suspendSchema: z.object({ message: z.string(), amount: z.number() }), resumeSchema: z.object({ confirmed: z.boolean() }),
    execute: async ({ amount }, context) => {
      const { resumeData, suspend } = context?.agent ?? {};
      if (resumeData === undefined) return suspend?.({ message: `Refund ${amount}?`, amount });
      return did('issueRefund', { refunded: resumeData.confirmed === true, amount });
    },
  });
  const confirmationTool = createTool({ // the tool of Mastra's documentation on network approval
    id: 'confirmation-tool', description: 'Requests user confirmation before proceeding',
    inputSchema: z.object({ action: z.string() }), outputSchema: z.object({ confirmed: z.boolean(), action: z.string() }),
    suspendSchema: z.object({ message: z.string(), action: z.string() }), resumeSchema: z.object({ confirmed: z.boolean() }),
    execute: async ({ action }, context) => {
      const { resumeData, suspend } = context?.agent ?? {};
      if (!resumeData?.confirmed) return suspend?.({ message: `Please confirm: ${action}`, action });
      return did('confirmationTool', { confirmed: true, action });
    },
  });
  const bookTrip = createTool({ // pauses twice: first for a date, then for a confirmation
    id: 'book-trip', description: 'Books a trip',
    inputSchema: z.object({ city: z.string() }), outputSchema: z.object({ booked: z.boolean(), city: z.string() }),
    suspendSchema: z.object({ ask: z.string(), date: z.string().optional() }),
    resumeSchema: z.object({ date: z.string().optional(), confirmed: z.boolean().optional() }),
    execute: async ({ city }, context) => {
      const { resumeData, suspend } = context?.agent ?? {};
      if (resumeData?.confirmed === undefined && !resumeData?.date) return suspend?.({ ask: 'date' });
      if (resumeData?.confirmed === undefined) return suspend?.({ ask: 'confirm', date: resumeData.date });
      return did('bookTrip', { booked: resumeData.confirmed, city });
    },
  });

  const askUser = createTool({ // no suspendSchema: several calls pause in one step when no other tool of the agent needs approval or has one
    id: 'ask-user', description: 'Asks the user something', inputSchema: z.object({ topic: z.string() }), resumeSchema: z.object({ answer: z.string() }),
    execute: async ({ topic }, context) => {
      const { resumeData, suspend } = context?.agent ?? {};
      if (!resumeData) return suspend?.({ question: `What about ${topic}?` });
      return did('askUser', { topic, answer: resumeData.answer });
    },
  });

  const noteRecord = createTool({
    id: 'note-record', description: 'Notes a record', inputSchema: z.object({ id: z.string() }),
    execute: async ({ id }) => did('noteRecord', { id }),
  });
  const slowRecord = createTool({ // runs until it is released, whatever is aborted
    id: 'slow-record', description: 'Works on a record for long', inputSchema: z.object({ id: z.string() }),
    execute: async ({ id }, context) => { did('slowRecord began', { id }); told(context?.abortSignal, 'slowRecord', id); await released(id); return did('slowRecord', { id }); },
  });
  const recall = { // what the request said: under the bridge's key, or under all that were sent
    description: 'Tells what the request said of the application', inputSchema: z.object({ all: z.boolean() }),
    execute: async ({ all }, context) => ({ said: all ? sent(context.requestContext) : context.requestContext?.get('ag-ui') ?? null }),
  };
  const recallRequest = createTool({ id: 'recall-request', ...recall });
  const recallApproved = createTool({ id: 'recall-approved', requireApproval: true, ...recall });

  const confirmStep = createStep({
    id: 'confirm-refund', inputSchema: z.object({ amount: z.number() }), outputSchema: z.object({ refunded: z.boolean(), amount: z.number() }),
    suspendSchema: z.object({ message: z.string(), amount: z.number() }), resumeSchema: z.object({ confirmed: z.boolean() }),
    execute: async ({ inputData, resumeData, suspend }) => {
      if (!resumeData) return suspend({ message: `Refund ${inputData.amount}?`, amount: inputData.amount });
      return did('refundWorkflow', { refunded: resumeData.confirmed, amount: inputData.amount });
    },
  });
  const refundWorkflow = createWorkflow({
    id: 'refund-workflow', description: 'Refund with a human confirmation step',
    inputSchema: z.object({ amount: z.number() }), outputSchema: z.object({ refunded: z.boolean(), amount: z.number() }),
  }).then(confirmStep).commit();

  const anyId = z.object({ id: z.string() });
  const slowStep = createStep({
    id: 'slow-step', inputSchema: anyId, outputSchema: anyId,
    execute: async ({ inputData: { id }, abortSignal }) => { did('slowStep began', { id }); told(abortSignal, 'slowStep', id); await released(id); return did('slowStep', { id }); },
  });
  const noteStep = createStep({
    id: 'note-step', inputSchema: anyId, outputSchema: anyId.extend({ said: z.any() }),
    execute: async ({ inputData: { id }, requestContext }) => did('noteStep', { id, said: requestContext?.get('ag-ui') }),
  });
  const slowWorkflow = createWorkflow({ id: 'slow-workflow', description: 'Works for long', inputSchema: anyId, outputSchema: anyId.extend({ said: z.any() }) })
    .then(slowStep).then(noteStep).commit();

  const base = (id, extra) => new Agent({ id, name: id, description: `${id} (scripted)`, instructions: `You are ${id}.`, model, memory: memory(), ...extra });
  const approvalAgent = base('approval-agent', { tools: { deleteRecord, lookupRecord } });
  const suspendAgent = base('suspend-agent', { tools: { issueRefund, bookTrip, askUser } });
  const askAgent = base('ask-agent', { tools: { askUser } }); // the only agent here whose calls can pause in parallel
  const mixedAgent = base('mixed-agent', { tools: { deleteRecord, issueRefund, lookupRecord, bookTrip, askUser } });
  const recordsAgent = base('records-agent', { tools: { confirmationTool } });
  const noMemoryAgent = base('no-memory-agent', { memory: undefined, tools: { deleteRecord, issueRefund } });
  const autoAgent = base('auto-agent', { tools: { deleteRecord, issueRefund }, defaultOptions: { autoResumeSuspendedTools: true } });
  const workAgent = base('work-agent', { tools: { slowRecord, noteRecord, recallRequest, recallApproved, deleteRecord } });
  const supervisor = base('supervisor', { agents: { approvalAgent, suspendAgent }, workflows: { refundWorkflow } });
  const routing = { agents: { approvalAgent, suspendAgent }, workflows: { refundWorkflow }, tools: { deleteRecord, issueRefund, lookupRecord, askUser, confirmationTool, slowRecord, recallRequest } };
  const routingAgent = base('routing-agent', routing);
  const autoRoutingAgent = base('auto-routing-agent', { ...routing, defaultNetworkOptions: { autoResumeSuspendedTools: true } });

  const behind = background.agents(base, { approvalAgent, suspendAgent, supervisor, deleteRecord, did, released });
  const deep = depth.agents(base, { supervisor, approvalAgent, suspendAgent, refundWorkflow, did });
  const telling = outputs.agents(base, { Memory, did });
  const lasting = durable.agents(base, { deleteRecord, issueRefund, lookupRecord, bookTrip, askUser, slowRecord, noteRecord }, { approvalAgent, suspendAgent });
  const flows = pausingWorkflows({ did, base, agents: { approvalAgent, suspendAgent } });
  const flowAgent = base('flow-agent', { workflows: flows });

  return new Mastra({
    agents: { ...behind, ...deep, ...telling, ...lasting, flowAgent, approvalAgent, suspendAgent, askAgent, mixedAgent, recordsAgent, noMemoryAgent, workAgent, autoAgent, supervisor, routingAgent, autoRoutingAgent },
    workflows: { refundWorkflow, slowWorkflow, ...flows, ...durable.workflows(did) },
    ...(storage ? { storage, backgroundTasks: { enabled: true } } : {}), logger: false,
  });
}

// ---------------------------------------------------------------- server
async function main() {
  const port = Number(process.env.PORT ?? 4100);
  const hostname = process.env.HOST ?? '127.0.0.1';
  const mastra = buildMastra({ dbUrl: process.env.MASTRA_DB ?? 'file:./mastra-hitl.db' });
  await mastra.startEventEngine?.();
  const app = new Hono();
  app.get('/healthz', (c) => c.json({ ok: true }));
  app.get('/x/executions', (c) => c.json(executions));
  app.post('/x/tasks/:id/resume', async (c) => c.json({ task: (await mastra.backgroundTaskManager.resume(c.req.param('id'), (await c.req.json()).resumeData)).id }));
  app.post('/x/release/:id', (c) => { release(c.req.param('id')); return c.json({ ok: true }); });
  if (process.env.EXTRA_RESUME_NETWORK) app.post('/x/agents/:id/resume-network', async (c) => {
    const { resumeData, ...options } = await c.req.json();
    const stream = await mastra.getAgentById(c.req.param('id')).resumeNetwork(resumeData, options);
    const enc = new TextEncoder();
    return new Response(new ReadableStream({ async start(ctl) {
      for await (const chunk of stream) ctl.enqueue(enc.encode(`data: ${JSON.stringify(chunk)}\n\n`));
      ctl.enqueue(enc.encode('data: [DONE]\n\n'));
      ctl.close();
    } }), { headers: { 'content-type': 'text/event-stream' } });
  });
  await new MastraServer({ app, mastra }).init(); // routes under /api
  const server = serve({ fetch: app.fetch, port, hostname }, () => console.log(`listening http://${hostname}:${port}`));
  for (const s of ['SIGINT', 'SIGTERM']) process.on(s, () => { server.close(); process.exit(0); });
}
if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) await main();
