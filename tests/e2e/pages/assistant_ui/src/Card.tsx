// One question: a field for each property of its schema, sent unchecked.

import { type AgUiInterrupt, useAgUiSubmitInterruptResponses } from "@assistant-ui/react-ag-ui";
import type { FormEvent } from "react";

type Refused = { code: string; message: string };

export function Card({ interrupt }: { interrupt: AgUiInterrupt }) {
  const submit = useAgUiSubmitInterruptResponses();
  const fields = Object.keys((interrupt.responseSchema?.properties ?? {}) as object);
  const ours = interrupt.metadata?.agui_bridge as { refused?: Refused } | undefined;

  function send(event: FormEvent<HTMLFormElement>) {
    event.preventDefault();
    const filled = [...new FormData(event.currentTarget)].filter(([, value]) => value !== "");
    const payload = Object.fromEntries(filled.map(([name, value]) => [name, read(String(value))]));
    // What goes wrong is shown by the page.
    submit([{ interruptId: interrupt.id, status: "resolved", payload }]).catch(() => {});
  }

  return (
    <article>
      <p>{interrupt.message}</p>
      {ours?.refused && <strong>{ours.refused.code}</strong>}
      <form onSubmit={send}>
        {fields.map((name) => (
          <label key={name}>
            {name} <input name={name} />
          </label>
        ))}
        <button>Answer</button>
      </form>
    </article>
  );
}

function read(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
