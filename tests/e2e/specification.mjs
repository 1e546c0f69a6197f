// Runs one version of @ag-ui/client on streams that somebody serves, by JSON lines.
//
//     node specification.mjs PACKAGE
//
// A command is `{id, do: "read", url, messages, maxProtocolVersion}`; its result is what a test
// looks at: `{refusal, events, warnings, messages, state, request}`.

import { serve } from "./lines.mjs";

const { HttpAgent } = await import(process.argv[2]);

// What an agent does for older servers is chosen while it is made.
const readerFor = (most) =>
  class extends HttpAgent {
    get maxProtocolVersion() {
      return most ?? super.maxProtocolVersion;
    }
  };

async function read({ url, messages, maxProtocolVersion }) {
  const seen = { refusal: null, events: [], warnings: [], request: null };
  const agent = new (readerFor(maxProtocolVersion))({
    url,
    initialMessages: messages ?? [],
    fetch(address, init) {
      seen.request = JSON.parse(init.body);
      return fetch(address, init);
    },
  });
  const { warn, error } = console;
  console.warn = (...words) => seen.warnings.push(words.join(" "));
  console.error = () => {};
  try {
    await agent.runAgent({}, { onEvent: ({ event }) => void seen.events.push(event) });
  } catch (fault) {
    seen.refusal = String(fault?.message ?? fault);
  } finally {
    Object.assign(console, { warn, error });
  }
  return { ...seen, messages: agent.messages, state: agent.state };
}

await serve({ read });
