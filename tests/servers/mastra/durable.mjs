// Agents whose runs Mastra keeps beside their streams: durable and evented ones. Their streams stay open when a call waits.
//   in turn A; B; C -> the calls of A, then those of B, then those of C, one model step each, then text
//   in turn A; say X -> the calls of A, then X
import { createDurableAgent, createEventedAgent } from '@mastra/core/agent/durable';
import { createStep, createWorkflow } from '@mastra/core/workflows/evented';
import { z } from 'zod';

// What comes next of an `in turn`: the calls of the step that is due, or the last words.
export function inTurn(text, prompt, parse) {
  const m = /^in turn\s+(.+)$/is.exec(text);
  if (!m) return undefined;
  const steps = m[1].split(';').map((step) => step.trim());
  const asked = prompt.map((p) => p.role).lastIndexOf('user');
  const done = prompt.slice(asked).filter((p) => p.role === 'assistant' && p.content.some?.((part) => part.type === 'tool-call')).length;
  if (done >= steps.length) return { text: 'All is done.' };
  return steps[done].startsWith('say ') ? { text: steps[done].slice(4) } : { calls: parse(steps[done]) };
}

export function agents(base, { askUser, slowRecord, ...tools }, agents) {
  return {
    durableAgent: createDurableAgent({ agent: base('durable-agent', { tools: { askUser, slowRecord, ...tools } }) }),
    eventedAgent: createEventedAgent({ agent: base('evented-agent', { tools: { askUser, slowRecord, ...tools } }) }),
    durableAsker: createDurableAgent({ agent: base('durable-asker', { tools: { askUser, slowRecord } }) }), // its calls pause in parallel
    stoppingAgent: base('stopping-agent', { tools, defaultOptions: { stopWhen: ({ steps }) => steps.at(-1)?.toolCalls.some((call) => (call.payload ?? call).toolName === 'lookupRecord') ?? false } }),
    durableSupervisor: createDurableAgent({ agent: base('durable-supervisor', { agents }) }),
  };
}

// Evented workflows: one that asks once, one whose items wait together.
export function workflows(did) {
  const id = z.object({ id: z.string() });
  const asking = (name) => createStep({
    id: name, inputSchema: id, outputSchema: id, suspendSchema: z.object({ message: z.string() }), resumeSchema: z.object({ ok: z.boolean() }),
    execute: async ({ inputData, resumeData, suspend }) => {
      if (!resumeData) return suspend({ message: `${name} ${inputData.id}?` });
      did(name, { id: inputData.id, ok: resumeData.ok });
      return { id: inputData.id };
    },
  });
  const items = createStep({ id: 'items', inputSchema: z.object({ ids: z.array(z.string()) }), outputSchema: z.array(id), execute: async ({ inputData }) => inputData.ids.map((n) => ({ id: n })) });
  return {
    eventedWorkflow: createWorkflow({ id: 'eventedWorkflow', inputSchema: id, outputSchema: id }).then(asking('evented-step')).commit(),
    eventedEachWorkflow: createWorkflow({ id: 'eventedEachWorkflow', inputSchema: z.object({ ids: z.array(z.string()) }), outputSchema: z.any() }).then(items).foreach(asking('evented-item'), { concurrency: 2 }).commit(),
  };
}
