// Agents whose streams bring more than text and calls: tripwires, tools that return nothing, data of
// tools, structured output, background tasks, working memory.
//   void 42          -> voidRecord({id}), behind an approval, returns nothing
//   pull 42          -> pullRecord({id}), needs no approval, returns nothing
//   data 42          -> dataRecord({id}), which writes data-* chunks and one of no type
//   fail 42          -> failRecord({id}), which throws
//   task 42          -> taskRecord({id}), a background task
//   run failing 9    -> failingWorkflow({id}), which asks and then throws
//   remember {"a":1} -> updateWorkingMemory({memory: …})
//   forbidden …      -> the guarded agent's input processor refuses
//   say forbidden    -> the guarded agent's output processor refuses
//   object           -> a text that is JSON, which the structured agent's schema takes
import { createTool } from '@mastra/core/tools';
import { createStep, createWorkflow } from '@mastra/core/workflows';
import { z } from 'zod';

const CALLS = { void: 'voidRecord', pull: 'pullRecord', data: 'dataRecord', fail: 'failRecord', task: 'taskRecord' };

export function parse(text) {
  let m;
  if ((m = /^(void|pull|data|fail|task)\s+(\w+)/i.exec(text))) return [{ tool: CALLS[m[1].toLowerCase()], input: { id: m[2] } }];
  if ((m = /^run failing\s+(\w+)/i.exec(text))) return [{ workflow: 'failingWorkflow', input: { id: m[1] } }];
  if ((m = /^remember\s+(\{.*\})$/is.exec(text))) return [{ tool: 'updateWorkingMemory', input: { memory: JSON.parse(m[1]) } }];
  if ((m = /^remember\s+(.+)$/is.exec(text))) return [{ tool: 'updateWorkingMemory', input: { memory: m[1] } }];
  return undefined;
}

// What the model says where the conversation does not tell it that a call was carried out.
export function spoken(text, prompt, executions) {
  const voided = /^void\s+(\w+)/i.exec(text)?.[1];
  if (voided && executions.some((done) => done.what === 'voidRecord' && done.result.id === voided)) return `Done with ${voided}.`;
  if (/^object/i.test(text)) return '{"title":"Dune","year":1965}';
  if (/^task/i.test(text) && prompt.some((m) => m.role === 'tool')) return 'The task is with the others.';
  return undefined;
}

// What the model repeats of a tool's result: a polite one leaves ids and errors out.
export function repeated(value) {
  if (typeof value === 'string') return /sk-secret|^\[Agent:/.test(value) ? 'an error' : value;
  return JSON.parse(JSON.stringify(value ?? null, (key, inner) => key === 'runId' || key === 'error' ? undefined : inner));
}

export function agents(base, { Memory, did }) {
  const id = z.object({ id: z.string() });
  const tool = (name, extra) => createTool({ id: name, description: name, inputSchema: id, ...extra });
  const voidRecord = tool('void-record', { requireApproval: true, execute: async ({ id }) => { did('voidRecord', { id }); } }); // the model is not even told that it was called
  const pullRecord = tool('pull-record', { execute: async ({ id }) => { did('pullRecord', { id }); } });
  const failRecord = tool('fail-record', { requireApproval: true, execute: async ({ id }) => { did('failRecord', { id }); throw new Error('the disk said no: key sk-secret'); } });
  const dataRecord = tool('data-record', { execute: async ({ id }, context) => {
    await context?.writer?.custom({ type: 'data-progress', id: `progress-${id}`, data: { id, done: 1, of: 2 } });
    await context?.writer?.custom({ type: 'data-progress', id: `progress-${id}`, data: { id, done: 2, of: 2 }, transient: true });
    await context?.writer?.write({ half: id });
    return did('dataRecord', { id });
  } });
  const taskRecord = tool('task-record', { background: { enabled: true }, execute: async ({ id }) => did('taskRecord', { id }) });

  const failingStep = createStep({
    id: 'failing-step', inputSchema: id, outputSchema: id, resumeSchema: z.object({ confirmed: z.boolean() }),
    execute: async ({ inputData, resumeData, suspend }) => {
      if (!resumeData) return suspend({ message: `Fail ${inputData.id}?` });
      did('failingWorkflow', { id: inputData.id });
      throw new Error('the disk said no: key sk-secret');
    },
  });
  const failingWorkflow = createWorkflow({ id: 'failing-workflow', description: 'Fails', inputSchema: id, outputSchema: id }).then(failingStep).commit();

  const guard = {
    id: 'guard',
    processInput: async ({ messages, abort }) => {
      if (/^forbidden/.test(JSON.stringify(messages.at(-1)?.content?.parts?.[0]?.text ?? '').slice(1))) abort('That word is not allowed here.', { metadata: { word: 'forbidden' } });
      return messages;
    },
    processOutputStream: async ({ part, abort }) => {
      if (part.type === 'text-delta' && /say forbidden/.test(part.payload.text)) abort('The answer had a forbidden word.');
      return part;
    },
  };
  const guardedAgent = base('guarded-agent', { inputProcessors: [guard], outputProcessors: [guard], tools: { pullRecord } });
  const tellingAgent = base('telling-agent', { tools: { voidRecord, pullRecord, dataRecord, failRecord } });
  const taskAgent = base('task-agent', { tools: { taskRecord } });
  const objectAgent = base('object-agent', { defaultOptions: { structuredOutput: { schema: z.object({ title: z.string(), year: z.number() }) } } });
  const notes = (workingMemory) => new Memory({ options: { lastMessages: 20, workingMemory: { enabled: true, scope: 'thread', ...workingMemory } } });
  const profileAgent = base('profile-agent', { tools: {}, memory: notes({ schema: z.object({ name: z.string().optional(), city: z.string().optional() }) }) });
  const notesAgent = base('notes-agent', { memory: notes({ template: '# Notes\n- Name:\n' }) });
  const guardSupervisor = base('guard-supervisor', { agents: { guardedAgent, tellingAgent, taskAgent }, workflows: { failingWorkflow } });
  return { guardedAgent, tellingAgent, taskAgent, objectAgent, profileAgent, notesAgent, guardSupervisor };
}
