// An editor: the official client of the Agent Client Protocol. Commands as JSON lines on stdin; what
// the agent tells and asks, and what comes of commands, as JSON lines on stdout.

import { spawn } from "node:child_process";
import { openSync } from "node:fs";
import { Readable, Writable } from "node:stream";

import { client, methods, ndJsonStream } from "@agentclientprotocol/sdk";

import { serve, tell } from "./lines.mjs";

const answers = new Map();
let child, connection, number = 0;

const ask = (kind) => ({ params, signal }) =>
  new Promise((resolve, reject) => {
    const asked = ++number;
    answers.set(asked, resolve);
    signal.addEventListener("abort", () => {
      tell({ withdrawn: asked });
      reject(signal.reason);
    });
    tell({ asked, kind, params });
  });

await serve({
  async start({ command, folder, variables, capabilities }) {
    child = spawn(command[0], command.slice(1), {
      cwd: folder,
      env: { ...process.env, ...variables },
      stdio: ["pipe", "pipe", openSync(`${folder}/stderr`, "a")],
    });
    connection = client({ name: "editor" })
      .onRequest(methods.client.session.requestPermission, ask("permission"))
      .onRequest(methods.client.elicitation.create, ask("form"))
      .onNotification(methods.client.session.update, ({ params }) => tell({ update: params.update }))
      .connect(ndJsonStream(Writable.toWeb(child.stdin), Readable.toWeb(child.stdout)));
    return connection.agent.request(methods.agent.initialize, {
      protocolVersion: 1,
      clientCapabilities: capabilities,
    });
  },
  request: ({ method, params }) => connection.agent.request(method, params),
  notify: ({ method, params }) => connection.agent.notify(method, params),
  async answer({ asked, result }) {
    answers.get(asked)(result);
  },
  end: () =>
    new Promise((resolve) => {
      if (child.exitCode !== null || child.signalCode !== null) return resolve(null);
      child.once("exit", () => resolve(null));
      child.stdin.end();
    }),
  kill: () =>
    new Promise((resolve) => {
      child.once("exit", () => resolve(null));
      child.kill("SIGKILL");
    }),
});
