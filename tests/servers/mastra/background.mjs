// Sub-agents and tools that go on in the background: what they ask comes while the stream is open, or after it.
//   to approvalAgent delete 42   -> of the background supervisor: asks within its task
//   to laterAgent later 7 delete 42 -> waits for POST /x/release/7, then calls deleteRecord({id:"42"})
//   defer 42             -> deferRecord({id}), a background tool that suspends
import { createTool } from '@mastra/core/tools';
import { z } from 'zod';

export function parse(text) {
  let m;
  if ((m = /^later\s+(\w+)\s+delete\s+(\w+)/i.exec(text))) return [{ tool: 'laterRecord', input: { id: m[1], next: m[2] } }];
  if ((m = /^defer\s+(\w+)/i.exec(text))) return [{ tool: 'deferRecord', input: { id: m[1] } }];
  return undefined;
}

// What the model does once a background tool, or one that waits, has returned.
export function next(last) {
  const later = last?.content?.find?.((p) => p.toolName === 'laterRecord');
  return later ? [{ toolName: 'deleteRecord', input: { id: (later.output?.value ?? later.output).next } }] : undefined;
}

// What the model says where Mastra goes on by itself, since a task has come to something.
export function told(prompt) {
  const said = prompt.filter((m) => m.role === 'system').map((m) => m.content).join(' ');
  if (!/These tool calls ran as background tasks/.test(said)) return undefined;
  return /are suspended:/.test(said) ? 'A task waits for somebody.' : 'A task has come to its end.';
}

export function agents(base, { approvalAgent, suspendAgent, supervisor, deleteRecord, did, released }) {
  const laterRecord = createTool({
    id: 'later-record', description: 'Waits', inputSchema: z.object({ id: z.string(), next: z.string() }),
    execute: async ({ id, next }) => { did('laterRecord began', { id }); await released(id); return { id, next }; },
  });
  const deferRecord = createTool({
    id: 'defer-record', description: 'Asks in the background', inputSchema: z.object({ id: z.string() }), background: { enabled: true },
    suspendSchema: z.object({ message: z.string() }), resumeSchema: z.object({ confirmed: z.boolean() }),
    execute: async ({ id }, context) => {
      const { resumeData, suspend } = context?.agent ?? {};
      if (resumeData === undefined) return suspend?.({ message: `Go on with ${id}?` });
      return did('deferRecord', { id, confirmed: resumeData.confirmed });
    },
  });
  const laterAgent = base('later-agent', { tools: { laterRecord, deleteRecord } });
  const enabled = { enabled: true };
  const backgroundSupervisor = base('background-supervisor', {
    agents: { approvalAgent, suspendAgent, laterAgent, supervisor }, tools: { deferRecord },
    backgroundTasks: { tools: { approvalAgent: enabled, suspendAgent: enabled, laterAgent: enabled, supervisor: enabled } },
  });
  return { laterAgent, backgroundSupervisor };
}
