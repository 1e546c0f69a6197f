import type { Threads } from "../bridge";
import { go } from "../place";
import { ageOf } from "./age";

interface ConversationsProps {
  threads: Threads["threads"];
  /** The one that is open. */
  here: string;
  titleOf: (thread: string) => string;
}

/** The agent's threads, the last touched first, with how many questions wait in each. */
export function Conversations({ threads, here, titleOf }: ConversationsProps) {
  return (
    <nav aria-label="Conversations">
      <h2>Conversations</h2>
      <ul className="threads">
        {threads.map(({ threadId, openInterrupts, status, updatedAt }) => (
          <li key={threadId}>
            <button
              className={threadId === here ? "here" : ""}
              onClick={() => go({ thread: threadId })}
            >
              <span title={threadId}>{titleOf(threadId)}</span>
              <small>{ageOf(updatedAt) ?? "now"}</small>
              {openInterrupts > 0 && <em title="waits for an answer">{openInterrupts}</em>}
              {status === "running" && <em className="running">runs</em>}
            </button>
          </li>
        ))}
      </ul>
    </nav>
  );
}
