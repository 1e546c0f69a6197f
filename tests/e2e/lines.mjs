// Commands as JSON lines on stdin, and what comes of them as JSON lines on stdout.

import { createInterface } from "node:readline";

export const tell = (line) => process.stdout.write(JSON.stringify(line) + "\n");

for (const level of ["debug", "info", "log", "warn", "error"]) {
  console[level] = (...words) => tell({ printed: `${level}: ${words.map(String).join(" ")}` });
}

// Carries out commands `{id, do, …}` until stdin ends; each is answered by `{id, result}`.
export async function serve(commands) {
  for await (const line of createInterface({ input: process.stdin })) {
    const command = JSON.parse(line);
    // Not awaited: a page may be stopped, and another one may run, while this one runs.
    (async () => commands[command.do](command))().then(
      (result) => tell({ id: command.id, result }),
      (error) => tell({ id: command.id, failed: String(error?.stack ?? error) }),
    );
  }
}
