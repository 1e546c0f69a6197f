// Agents within agents within agents: supervisors of supervisors, and networks of them.
//   to NAME <command>  -> delegates <command> to the sub-agent NAME, at any depth:
//                         "to lead to supervisor agent delete 42" asks three levels below
//   mark 7             -> markRecord({id}), which the lead itself has, behind an approval
//   both to A <command> | to B <command>  -> delegates to two in one step
import { createTool } from '@mastra/core/tools';
import { z } from 'zod';

export function parse(text) {
  let m;
  if ((m = /^both to\s+(.+?)\s*\|\s*to\s+(.+)$/is.exec(text))) return [...parse(`to ${m[1]}`), ...parse(`to ${m[2]}`)];
  if ((m = /^mark\s+(\w+)/i.exec(text))) return [{ tool: 'markRecord', input: { id: m[1] } }];
  if ((m = /^to\s+(\w+)\s+(.+)$/is.exec(text))) return [{ agent: m[1], prompt: m[2].trim() }];
  return undefined;
}

export function agents(base, { supervisor, approvalAgent, suspendAgent, refundWorkflow, did }) {
  const markRecord = createTool({
    id: 'mark-record', description: 'Marks a record', requireApproval: true, inputSchema: z.object({ id: z.string() }),
    execute: async ({ id }) => did('markRecord', { id }),
  });
  const lead = base('lead', { agents: { supervisor, approvalAgent }, tools: { markRecord } });
  const chief = base('chief', { agents: { lead, suspendAgent }, workflows: { refundWorkflow } });
  const leadNetwork = base('lead-network', { agents: { supervisor, lead, approvalAgent } });
  return { lead, chief, leadNetwork };
}
