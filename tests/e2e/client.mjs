// Drives one version of @ag-ui/client by JSON lines.
//
//     node client.mjs PACKAGE
//
// Every line on stdin is a command `{id, do, page, …}`; a page is an HttpAgent, as an open tab
// has one. Lines on stdout: `{id, event}` for each event that reaches the application, and
// `{id, result}` once the command is carried out. What the client prints is `{printed}`.

import { serve, tell } from "./lines.mjs";

const { HttpAgent } = await import(process.argv[2]);

const pages = new Map();

// As docs/reconnecting.md has it.
class ReturningAgent extends HttpAgent {
  connect(input) {
    const url = `${this.url}/threads/${encodeURIComponent(input.threadId)}/connect`;
    return new HttpAgent({ url, headers: this.headers, fetch: this.fetch }).run(input);
  }
}

class Page {
  constructor({ url, threadId, messages, state, pendingInterrupts }) {
    this.tap = null;
    this.agent = new ReturningAgent({
      url,
      threadId,
      initialMessages: messages ?? [],
      initialState: state ?? {},
      fetch: (address, init) => this.fetch(address, init),
    });
    this.agent.pendingInterrupts = pendingInterrupts ?? [];
  }

  // Passes the body on and keeps a copy; a reader that cancels still cancels the connection.
  async fetch(address, init) {
    const tap = this.tap;
    tap.request = JSON.parse(init.body);
    const response = await fetch(address, init);
    const text = new TextDecoder();
    const copy = new TransformStream({
      transform(chunk, controller) {
        tap.wire += text.decode(chunk, { stream: true });
        controller.enqueue(chunk);
      },
    });
    const { status, headers } = response;
    return new Response(response.body.pipeThrough(copy), { status, headers });
  }

  view() {
    const { messages, state, pendingInterrupts } = this.agent;
    return { messages, state, pendingInterrupts };
  }

  async run({ id, runId, message, resume, forwardedProps, connect }) {
    const tap = { request: null, wire: "" };
    this.tap = tap;
    if (message) this.agent.addMessage(message);
    const seen = { refusal: null, ending: null, rejected: null };
    try {
      await this.agent[connect ? "connectAgent" : "runAgent"](
        { runId, ...(resume && { resume }), ...(forwardedProps && { forwardedProps }) },
        {
          onEvent: ({ event }) => tell({ id, event }),
          onRunErrorEvent: ({ event: { code, message } }) => {
            seen.refusal = { code, message };
          },
          onRunFinishedEvent: ({ outcome, result }) => {
            seen.ending = { outcome, result };
          },
        },
      );
    } catch (error) {
      seen.rejected = String(error);
    }
    return { ...seen, ...tap, ...this.view() };
  }
}

const commands = {
  open(command) {
    const page = new Page(command);
    pages.set(command.page, page);
    return page.view();
  },
  run: (command) => pages.get(command.page).run(command),
  abort({ page }) {
    pages.get(page).agent.abortRun();
    return {};
  },
  rewrite({ page, messages }) {
    pages.get(page).agent.setMessages(messages);
    return pages.get(page).view();
  },
  close({ page }) {
    pages.delete(page);
    return {};
  },
};

await serve(commands);
