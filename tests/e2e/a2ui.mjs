// A page with AG-UI's A2UI middleware: says a message, clicks, and shows what it has.
//
//     node a2ui.mjs URL SAID CLICK…
//
// Prints one line of JSON: the surface activities as they came, in order, and the messages at the
// end of each run.

import { A2UIMiddleware } from "@ag-ui/a2ui-middleware";
import { HttpAgent } from "@ag-ui/client";

const [url, said, ...clicks] = process.argv.slice(2);
const described =
  "A2UI Component Schema — available components for generating UI surfaces. " +
  "Use these component names and properties when creating A2UI operations.";
const schema = {
  catalogId: "https://shop.example/catalog.json",
  components: { Card: { type: "object", required: ["id", "component"] } },
};

const agent = new HttpAgent({ url, threadId: "page" });
agent.use(new A2UIMiddleware({ injectA2UITool: true }));
const told = [];
const view = [];

async function run(more) {
  await agent.runAgent(
    { context: [{ description: described, value: JSON.stringify(schema) }], ...more },
    {
      onActivitySnapshotEvent: ({ event }) => {
        const { messageId, content, activityType } = event;
        told.push({ messageId, activityType, content });
      },
    },
  );
  view.push(agent.messages);
}

agent.addMessage({ id: "said", role: "user", content: said });
await run({});
for (const click of clicks) {
  await run({ forwardedProps: { a2uiAction: { userAction: JSON.parse(click) } } });
}
console.log(JSON.stringify({ told, view }));
