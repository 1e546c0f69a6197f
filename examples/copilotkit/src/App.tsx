import { useEffect, useState } from "react";

import { type Agents, threadPath, type Threads, useBridge, useSaid } from "./bridge";
import { Conversation } from "./Conversation";
import { Asked } from "./panels/Asked";
import { Conversations } from "./panels/Conversations";
import { go, newThread, usePlace } from "./place";

/** The page: conversations on the left, the chat, and what was asked on the right. */
export function App() {
  const place = usePlace();
  const { server, thread } = place;
  const agents = useBridge<Agents>(server, "/agents")?.agents;
  const agent = place.agent ?? agents?.[0]?.name;
  const path = agent ? `/agents/${encodeURIComponent(agent)}/threads` : null;
  const threads = useBridge<Threads>(server, path && `${path}?limit=20`)?.threads ?? [];
  const pathOf = (id: string) => threadPath(agent ?? "", id);
  const said = useSaid(server, threads.map(({ threadId }) => pathOf(threadId)));
  // Begun anew, the chat connects again and shows what the bridge has.
  const [attempt, setAttempt] = useState(0);

  useEffect(() => {
    if (!place.agent && agent) go({ agent }, "replace");
  }, [place.agent, agent]);

  return (
    <div className="page">
      <aside className="side" aria-label="Agent and conversations">
        <h1>
          agui-bridge <small>with CopilotKit</small>
        </h1>
        <label>
          Agent
          <select
            value={agent ?? ""}
            onChange={(event) => go({ agent: event.target.value, thread: newThread() })}
          >
            {agents?.map(({ name }) => <option key={name}>{name}</option>)}
          </select>
        </label>
        <p className="hint">{agents?.find(({ name }) => name === agent)?.description}</p>
        <button className="plain" onClick={() => go({ thread: newThread() })}>
          New conversation
        </button>
        {/* On a phone there is room for the chat alone: the lists come when they are asked for. */}
        <button className="plain lists" popoverTarget="conversations">
          Conversations
        </button>
        <button className="plain lists" popoverTarget="asked">
          Questions
        </button>
        <div className="panel" id="conversations" popover="auto">
          <Conversations threads={threads} here={thread} titleOf={(id) => said[pathOf(id)] || id} />
        </div>
      </aside>
      <main>
        {agent ? (
          <Conversation
            key={[agent, thread, attempt].join("/")}
            {...place}
            agent={agent}
            onReload={() => setAttempt((count) => count + 1)}
          />
        ) : (
          <p className="empty">No agent answers at {server}. Is the server running?</p>
        )}
      </main>
      <aside className="side right panel" id="asked" popover="auto" aria-label="Questions">
        <Asked
          server={server}
          // The bridge knows a thread once something was said in it.
          thread={
            agent && threads.some((known) => known.threadId === thread)
              ? threadPath(agent, thread)
              : null
          }
        />
      </aside>
    </div>
  );
}
