// Workflows that pause in every way that Mastra has. `did` counts a side effect.
import { createStep, createWorkflow } from '@mastra/core/workflows';
import { z } from 'zod';

const anyId = z.object({ id: z.string() });
const anyIds = z.object({ ids: z.array(z.string()) });
const asked = { suspendSchema: z.object({ message: z.string() }), resumeSchema: z.object({ ok: z.boolean() }) };

export function pausingWorkflows({ did, base, agents }) {
  // Asks, then does its work: with the answer, whatever it is.
  const asking = (id, extra = {}) => createStep({
    id, inputSchema: anyId, outputSchema: anyId, ...asked, ...extra,
    execute: async ({ inputData, resumeData, suspend }) => {
      if (!resumeData) return suspend({ message: `${id} ${inputData.id}?` });
      did(id, { id: inputData.id, ok: resumeData.ok });
      return { id: inputData.id };
    },
  });
  const doing = (id) => createStep({
    id, inputSchema: z.any(), outputSchema: anyId,
    execute: async ({ inputData, getInitData }) => { const { id: n } = getInitData(); did(id, { id: n }); return { id: n }; },
  });
  const flow = (id, inputSchema = anyId, outputSchema = z.any()) => createWorkflow({ id, description: id, inputSchema, outputSchema });
  const items = (id) => createStep({
    id, inputSchema: anyIds, outputSchema: z.array(anyId), execute: async ({ inputData }) => inputData.ids.map((n) => ({ id: n })),
  });

  const each = (id, concurrency, step) => flow(id, anyIds).then(items('items')).foreach(step, { concurrency }).commit();
  const eachTwoWorkflow = each('each-two-workflow', 2, asking('each-item'));
  const eachOneWorkflow = each('each-one-workflow', 1, asking('each-item'));
  const someAsking = createStep({ // only items that begin with "a" ask
    id: 'some-item', inputSchema: anyId, outputSchema: anyId, ...asked,
    execute: async ({ inputData, resumeData, suspend }) => {
      if (!resumeData && inputData.id.startsWith('a')) return suspend({ message: `some ${inputData.id}?` });
      did('some-item', { id: inputData.id, ok: resumeData?.ok });
      return inputData;
    },
  });
  const eachSomeWorkflow = each('each-some-workflow', 3, someAsking);

  const inner = flow('inner-workflow').then(asking('inner-step')).commit();
  const middle = flow('middle-workflow').then(inner).commit();
  const nestedTwoWorkflow = flow('nested-two-workflow').then(inner).then(doing('after-nested')).commit();
  const nestedThreeWorkflow = flow('nested-three-workflow').then(middle).then(doing('after-nested')).commit();
  const eachNestedWorkflow = each('each-nested-workflow', 2, inner);
  const nestedEachWorkflow = flow('nested-each-workflow', anyIds).then(each('inner-each', 2, asking('each-item'))).commit();

  const sleepWorkflow = flow('sleep-workflow').sleep(50).then(asking('before-nap'))
    .sleepUntil(async () => new Date(Date.now() + 50)).then(doing('after-nap')).commit();

  const parallelWorkflow = flow('parallel-workflow').parallel([asking('left'), asking('right')]).then(doing('joined')).commit();
  const parallelNestedWorkflow = flow('parallel-nested-workflow').parallel([inner, asking('right')]).then(doing('joined')).commit();
  const innerParallel = flow('inner-parallel').parallel([asking('left'), asking('right')]).commit();
  const nestedParallelWorkflow = flow('nested-parallel-workflow').then(innerParallel).then(doing('after-nested')).commit();
  const branchWorkflow = flow('branch-workflow')
    .branch([[async () => true, asking('first-branch')], [async () => true, asking('second-branch')], [async () => false, asking('never')]])
    .then(doing('joined')).commit();

  const round = createStep({ // asks in every round of a loop
    id: 'round', inputSchema: z.any(), outputSchema: z.object({ id: z.string(), ok: z.boolean() }), ...asked,
    execute: async ({ inputData, resumeData, suspend }) => {
      if (!resumeData) return suspend({ message: `round ${inputData.id}?` });
      did('round', { id: inputData.id, ok: resumeData.ok });
      return { id: inputData.id, ok: resumeData.ok };
    },
  });
  const untilWorkflow = flow('until-workflow').dountil(round, async ({ inputData }) => inputData.ok).then(doing('after-loop')).commit();
  const whileWorkflow = flow('while-workflow').dowhile(round, async ({ inputData }) => !inputData.ok).then(doing('after-loop')).commit();

  const bailing = createStep({
    id: 'bailing', inputSchema: anyId, outputSchema: z.any(), ...asked,
    execute: async ({ inputData, resumeData, suspend, bail }) => {
      if (!resumeData) return suspend({ message: `go on with ${inputData.id}?` });
      return resumeData.ok ? inputData : bail({ stopped: inputData.id });
    },
  });
  const bailWorkflow = flow('bail-workflow').then(bailing).then(doing('after-bail')).commit();

  const twice = createStep({ // asks for a date, then for a confirmation
    id: 'twice', inputSchema: anyId, outputSchema: anyId, suspendSchema: z.object({ message: z.string() }),
    resumeSchema: z.object({ date: z.string().optional(), ok: z.boolean().optional() }),
    execute: async ({ inputData, resumeData, suspend }) => {
      if (!resumeData) return suspend({ message: `when ${inputData.id}?` });
      if (resumeData.ok === undefined) return suspend({ message: `sure ${inputData.id} on ${resumeData.date}?` });
      did('twice', { id: inputData.id, ok: resumeData.ok });
      return inputData;
    },
  });
  const twiceWorkflow = flow('twice-workflow').then(twice).commit();

  const failWorkflow = flow('fail-workflow').then(asking('before-fail')).then(createStep({
    id: 'failing', inputSchema: anyId, outputSchema: anyId, execute: async () => { throw new Error('secret reason'); },
  })).commit();

  const dotted = flow('dotted.flow').then(asking('ask.me')).commit();
  const dottedWorkflow = flow('dotted-workflow').then(asking('ask.first')).then(dotted).commit();

  const guardedAgent = base('guarded-agent', { memory: undefined, inputProcessors: [{ id: 'guard', processInput: ({ abort }) => abort('Not on Sundays.') }] });
  const guardedWorkflow = flow('guarded-workflow', z.object({ prompt: z.string() })).then(createStep(guardedAgent)).commit();

  const writing = createStep({ // says what it does while it does it
    id: 'writing', inputSchema: anyId, outputSchema: anyId,
    execute: async ({ inputData, writer }) => { await writer?.write({ half: inputData.id }); return inputData; },
  });
  const writingWorkflow = flow('writing-workflow').then(writing).commit();

  // An agent as a step: its tool needs an approval that no step can be resumed with.
  const agentStepWorkflow = flow('agent-step-workflow', z.object({ prompt: z.string() })).then(createStep(agents.approvalAgent)).commit();
  const nestedAgentStepWorkflow = flow('nested-agent-step-workflow', z.object({ prompt: z.string() })).then(agentStepWorkflow).commit();
  const suspendAgentStepWorkflow = flow('suspend-agent-step-workflow', z.object({ prompt: z.string() })).then(createStep(agents.suspendAgent)).commit();

  return {
    eachTwoWorkflow, eachOneWorkflow, eachSomeWorkflow, nestedTwoWorkflow, nestedThreeWorkflow, eachNestedWorkflow,
    nestedEachWorkflow, sleepWorkflow, parallelWorkflow, parallelNestedWorkflow, nestedParallelWorkflow, branchWorkflow, untilWorkflow,
    whileWorkflow, bailWorkflow, twiceWorkflow, failWorkflow, agentStepWorkflow, nestedAgentStepWorkflow, suspendAgentStepWorkflow,
    writingWorkflow, dottedWorkflow, guardedWorkflow,
  };
}
