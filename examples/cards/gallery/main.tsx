// Every state of every card:  ?case=approval  and without it a list of them.
//
//     ?schema=…   in place of a case: a question with that response schema
//     #args=…     in place of a case: a call with these arguments
//     &later=500  it is asked that many milliseconds after a message; &fail=1  the first answer fails,
//                 of several that are sent at once &fail=2 the second one
//     &refuse=2   the first two answers are refused, and it is asked again
//     &check=off  forms send what was typed as it is
//     &beside=…   another case, in cards of its own below
//     &each=1     each answer is handed over at once, and its question is gone

import { useEffect, useState } from "react";
import { createRoot } from "react-dom/client";

import { type Answer, type Interrupt, Questions } from "../src";
import { CASES } from "./cases";
import { called, asked as form } from "./hard";

const address = new URLSearchParams(location.search);
const schema = address.get("schema");
const args = new URLSearchParams(location.hash.slice(1)).get("args");
const own = args !== null ? called(JSON.parse(args), {}) : schema === null ? undefined : form(JSON.parse(schema));

/** A card of one's own that can't be drawn. */
const OWN = {
  failing: () => {
    throw new Error("There is no such table.");
  },
};

const beside = CASES[address.get("beside") ?? ""];

function Gallery() {
  const name = address.get("case") ?? "";
  const found = CASES[name] ?? own;
  const [asks, setAsks] = useState(found?.interrupts ?? []);
  const [sent, setSent] = useState<Answer[][]>([]);
  const [asked, setAsked] = useState(!address.has("later"));
  const [records, setRecords] = useState(found?.records);
  useEffect(() => {
    const meanwhile = () => {
      setRecords(found?.meanwhile);
      setAsks((before) => [...before, ...(found?.more ?? [])]);
    };
    addEventListener("meanwhile", meanwhile);
    return () => removeEventListener("meanwhile", meanwhile);
  }, [found]);
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
    if (Number(address.get("fail")) === sent.length + 1) return offline();
    if (sent.length < Number(address.get("refuse"))) setAsks(asks.map(refused));
    else if (!address.has("each")) setAsks([]);
    return Promise.resolve();
  };
  return (
    <main>
      <h1>{name || "A schema of your own"}</h1>
      <label htmlFor="message">Message</label>
      <input
        id="message"
        onKeyDown={({ key, currentTarget }) => {
          if (key !== "Enter") return;
          currentTarget.value = "";
          setTimeout(() => setAsked(true), Number(address.get("later")));
        }}
      />
      <Questions
        interrupts={asked ? asks : []}
        records={records}
        each={address.has("each")}
        check={address.get("check") !== "off"}
        cards={OWN}
        send={send}
      />
      {beside && <Questions {...beside} send={send} label="Also waiting for you" />}
      <p>Sent:</p>
      <pre data-testid="sent">{JSON.stringify(sent)}</pre>
    </main>
  );
}

/** As slow as a request that nobody answers. */
const offline = () =>
  new Promise((_, fail) => setTimeout(() => fail(new Error("The server can't be reached. Try again.")), 300));

/** The question again, as a bridge states it that was told `refusals: ask`. */
function refused(ask: Interrupt): Interrupt {
  const told = { code: "INVALID_RESUME_PAYLOAD", message: "that is not what was meant." };
  return { ...ask, metadata: { agui_bridge: { refused: told } } };
}

createRoot(document.getElementById("root")!).render(<Gallery />);
