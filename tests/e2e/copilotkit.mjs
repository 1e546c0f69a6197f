// Drives CopilotKit's core, without React, by JSON lines: see lines.mjs.
//
//     node copilotkit.mjs @copilotkit/core
//
// A page is a CopilotKitCore, as an open tab has one. What its hook `useInterrupt` does, it does
// with the state machine that the hook uses.

import { serve, tell } from "./lines.mjs";

// The core asks a runtime only where there is a window; it needs nothing else of one.
globalThis.window = globalThis;

const { CopilotKitCore, ɵInterruptState } = await import(process.argv[2]);

const requests = [];
const send = globalThis.fetch;
globalThis.fetch = (address, init) => {
  const { method = "GET", body } = init ?? {};
  requests.push({ method, url: String(address), body: body ? JSON.parse(body) : null });
  return send(address, init);
};

const pages = new Map();

// What useFrontendTool registers.
const showPage = {
  name: "show_page",
  description: "Shows a page to the user.",
  handler: async ({ page }) => `the page ${page}`,
};

class Page {
  constructor({ id, url, way, threadId }) {
    this.errors = [];
    this.interrupts = new ɵInterruptState();
    this.core = new CopilotKitCore({ runtimeUrl: url, runtimeTransport: way });
    this.core.addTool(showPage);
    this.core.subscribe({
      onError: ({ error, code }) => this.errors.push({ code, message: error.message }),
    });
    this.name = id;
    this.threadId = threadId;
  }

  async open(agentId) {
    for (let tries = 0; this.core.runtimeConnectionStatus !== "connected"; tries++) {
      if (tries === 2000) throw new Error(`not connected: ${JSON.stringify(this.errors)}`);
      await new Promise((done) => setTimeout(done, 5));
    }
    this.agent = this.core.getAgent(agentId);
    this.agent.threadId = this.threadId;
    this.agent.subscribe({
      onEvent: ({ event }) => tell({ id: this.command, event }),
      onRunErrorEvent: ({ event: { code, message } }) => {
        this.refusal = { code, message };
      },
    });
    return { ...this.view(), agents: Object.keys(this.core.agents), way: this.core.runtimeTransport };
  }

  view() {
    const { messages, state, pendingInterrupts, isRunning } = this.agent;
    const { errors, refusal = null } = this;
    return { messages, state, pendingInterrupts, isRunning, errors, refusal };
  }

  async watch(id, work) {
    this.command = id;
    this.refusal = undefined;
    await work();
    return this.view();
  }

  connect({ id }) {
    return this.watch(id, () => this.core.connectAgent({ agent: this.agent }));
  }

  run({ id, message }) {
    if (message) this.agent.addMessage(message);
    return this.watch(id, () => this.core.runAgent({ agent: this.agent }));
  }

  // What `agent.setState` of the hook useAgent does.
  setState({ state }) {
    this.agent.setState(state);
    return this.view();
  }

  // Answers as useInterrupt does: nothing is sent before every question has its answer.
  answer({ id, answers, runId }) {
    this.interrupts.setStandard(this.agent.pendingInterrupts);
    let action;
    for (const { interruptId, status, payload } of answers) {
      action =
        status === "cancelled"
          ? this.interrupts.cancel(interruptId)
          : this.interrupts.resolve(payload, interruptId);
    }
    if (action.kind !== "resume") throw new Error(`nothing to send: ${action.kind}`);
    for (const { toolCallId, content } of action.toolResults) {
      this.agent.addMessage({ id: crypto.randomUUID(), role: "tool", toolCallId, content });
    }
    const { agent } = this;
    return this.watch(id, () => this.core.runAgent({ agent, resume: action.resume, runId }));
  }
}

await serve({
  open(command) {
    const page = new Page(command);
    pages.set(command.page, page);
    return page.open(command.agent);
  },
  connect: (command) => pages.get(command.page).connect(command),
  run: (command) => pages.get(command.page).run(command),
  answer: (command) => pages.get(command.page).answer(command),
  state: (command) => pages.get(command.page).setState(command),
  stop({ page }) {
    const { core, agent } = pages.get(page);
    core.stopAgent({ agent });
    return {};
  },
  view: ({ page }) => pages.get(page).view(),
  requests: () => requests,
});
