import { type AskedOf, type Asks, useBridge } from "../bridge";
import { go } from "../place";
import { ageOf } from "./age";

interface AskedProps {
  server: string;
  /** The path of the open conversation, if the bridge has it. */
  thread: string | null;
}

/** What waits for an answer anywhere, and what was asked and answered in this conversation. */
export function Asked({ server, thread }: AskedProps) {
  const open = useBridge<Asks>(server, "/interrupts?status=open");
  const here = useBridge<Asks>(server, thread && `${thread}/interrupts`);
  const closed = here?.interrupts.filter(({ status }) => status !== "open") ?? [];
  return (
    <>
      <section aria-label="Pending">
        <h2>Waiting for an answer</h2>
        {open?.interrupts.length ? (
          <ul className="asked">
            {open.interrupts.map((ask) => (
              <li key={ask.id}>
                <button onClick={() => go({ agent: ask.agent, thread: ask.threadId })}>
                  <Title {...ask} />
                  <small>
                    {ask.agent}, {sinceOf(ask)}
                  </small>
                </button>
              </li>
            ))}
          </ul>
        ) : (
          <p className="hint">Nothing.</p>
        )}
      </section>
      <section aria-label="History">
        <h2>History of this conversation</h2>
        {closed.length ? (
          <ul className="asked">
            {closed.map((ask) => (
              <li key={ask.id}>
                <Title {...ask} />
                <ol>
                  {ask.history.map(({ status, at, actor }, place) => (
                    <li key={place}>
                      <time dateTime={at}>{new Date(at).toLocaleTimeString()}</time>{" "}
                      {status === "resolved" ? verdictOf(ask) : status} <small>{actor}</small>
                    </li>
                  ))}
                </ol>
              </li>
            ))}
          </ul>
        ) : (
          <p className="hint">Nothing has been asked and answered yet.</p>
        )}
      </section>
    </>
  );
}

function Title({ message, reason, toolCall }: AskedOf) {
  return (
    <span className="title">
      {message ?? reason}{" "}
      {toolCall && <code title={JSON.stringify(toolCall.args)}>{toolCall.name}</code>}
    </span>
  );
}

/** How long it has waited. */
function sinceOf({ history }: AskedOf): string {
  const age = ageOf(history[0]?.at);
  return age ? `for ${age}` : "just now";
}

/** What a resolved question was resolved to, where the usual members say it. */
function verdictOf({ answer }: AskedOf): string {
  const payload = answer?.payload as Record<string, unknown> | null | undefined;
  if (payload?.approved === true) return payload.editedArgs ? "approved with changes" : "approved";
  if (payload?.approved === false) {
    return payload.reason ? `denied: ${String(payload.reason)}` : "denied";
  }
  if (typeof payload?.confirm === "boolean") return payload.confirm ? "yes" : "no";
  return "answered";
}
