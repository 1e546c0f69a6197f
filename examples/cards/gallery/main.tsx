// Every state of every card:  ?case=approval  and without it a list of them.
//
//     &later=500  it is asked that many milliseconds after a message; &fail=1  the first answer fails

import { useState } from "react";
import { createRoot } from "react-dom/client";

import { type Answer, Questions } from "../src";
import { CASES } from "./cases";

const address = new URLSearchParams(location.search);

function Gallery() {
  const name = address.get("case") ?? "";
  const found = CASES[name];
  const [asks, setAsks] = useState(found?.interrupts ?? []);
  const [sent, setSent] = useState<Answer[][]>([]);
  const [asked, setAsked] = useState(!address.has("later"));
  if (!found)
    return (
      <main>
        <h1>Cards</h1>
        <ul>
          {Object.keys(CASES).map((each) => (
            <li key={each}>
              <a href={`?case=${each}`}>{each}</a>
            </li>
          ))}
        </ul>
      </main>
    );
  const send = (answers: Answer[]) => {
    setSent((before) => [...before, answers]);
    if (address.has("fail") && sent.length === 0)
      return Promise.reject(new Error("The server can't be reached. Try again."));
    setAsks([]);
    return Promise.resolve();
  };
  return (
    <main>
      <h1>{name}</h1>
      <label htmlFor="message">Message</label>
      <input
        id="message"
        onKeyDown={({ key, currentTarget }) => {
          if (key !== "Enter") return;
          currentTarget.value = "";
          setTimeout(() => setAsked(true), Number(address.get("later")));
        }}
      />
      <Questions interrupts={asked ? asks : []} records={found.records} send={send} />
      <p>Sent:</p>
      <pre data-testid="sent">{JSON.stringify(sent)}</pre>
    </main>
  );
}

createRoot(document.getElementById("root")!).render(<Gallery />);
