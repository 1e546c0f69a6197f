// Drives one release of @ag-ui/client from before 1.0 by JSON lines.
//
//     node client.mjs PACKAGE
//
// As ../client.mjs, with what every release has: no subscribers, no option `fetch`. A page sees
// the events of a run as the client has parsed them.

import { serve } from "../lines.mjs";

const client = await import(process.argv[2]);
const { HttpAgent } = client.HttpAgent ? client : client.default;

// Passes on what an observable gives; the oldest clients have no other way to see it.
const seeing = (see) => (source) =>
  new source.constructor((reader) =>
    source.subscribe({
      next(event) {
        see(event);
        reader.next(event);
      },
      error: (error) => reader.error(error),
      complete: () => reader.complete(),
    }),
  );

class SeenAgent extends HttpAgent {
  run(input) {
    return super.run(input).pipe(seeing((event) => this.seen.push(event)));
  }

  // As docs/reconnecting.md has it.
  connect(input) {
    const url = `${this.url}/threads/${encodeURIComponent(input.threadId)}/connect`;
    const agent = new SeenAgent({ url, headers: this.headers });
    agent.seen = this.seen;
    return agent.run(input);
  }
}

const pages = new Map();

const commands = {
  open({ page, url, threadId, headers }) {
    pages.set(page, new SeenAgent({ url, threadId, headers }));
    return {};
  },
  async run({ page, runId, message, resume, forwardedProps, connect }) {
    const agent = pages.get(page);
    agent.seen = [];
    if (message) agent.messages = [...agent.messages, message];
    let rejected = null;
    try {
      const parameters = { runId, ...(resume && { resume }), forwardedProps: forwardedProps ?? {} };
      await agent[connect ? "connectAgent" : "runAgent"](parameters);
    } catch (error) {
      rejected = String(error);
    }
    const { messages, pendingInterrupts, seen } = agent;
    return { rejected, messages, pendingInterrupts: pendingInterrupts ?? null, seen };
  },
  methods: ({ page }) => ({ connects: "connectAgent" in pages.get(page) }),
};

await serve(commands);
