// Runs SuperAgent's documented client, as it is, in a page of which there is only what it uses.
//
//     node superagent.mjs BASE_URL
//
// Every line on stdin is a call `{agent, session, message, input}`; `input` is what a person fills
// in. One line on stdout for each: what the person saw, and the bodies of the responses.

import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";

const base = process.argv[2];
const source = readFileSync(new URL("superagent_client.js", import.meta.url), "utf8");

for await (const line of createInterface({ input: process.stdin })) {
  const { agent, session, message, input } = JSON.parse(line);
  const seen = { text: "", dialogs: [] };
  const bodies = [];
  const page = {
    // A page's addresses are relative to where it comes from.
    fetch: async (address, init) => {
      const response = await fetch(new URL(address, base), init);
      bodies.push(response.clone().text());
      return response;
    },
    appendToUI: (delta) => (seen.text += delta),
    showConfirmDialog: async (reason, fields) => {
      seen.dialogs.push({ reason, fields });
      return input;
    },
  };
  const names = Object.keys(page);
  const load = new Function(...names, `${source}; return chatWithInterrupt;`);
  await load(...names.map((name) => page[name]))(agent, session, message);
  process.stdout.write(JSON.stringify({ ...seen, bodies: await Promise.all(bodies) }) + "\n");
}
