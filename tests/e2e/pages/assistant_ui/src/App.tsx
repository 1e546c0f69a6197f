// A page made with assistant-ui on one thread of one agent, as its users write them.
//
//     ?url=ADDRESS OF THE AGENT&thread=ID&refusals=ask

import { HttpAgent } from "@ag-ui/client";
import {
  AssistantRuntimeProvider,
  ComposerPrimitive,
  MessagePrimitive,
  ThreadPrimitive,
} from "@assistant-ui/react";
import { useAgUiInterrupts, useAgUiRuntime } from "@assistant-ui/react-ag-ui";
import { useMemo, useState } from "react";

import { Card } from "./Card";

const address = new URLSearchParams(location.search);

export function App() {
  const agent = useMemo(() => {
    const refusals = address.get("refusals");
    return new HttpAgent({
      url: address.get("url")!,
      threadId: address.get("thread")!,
      headers: refusals === null ? {} : { "AG-UI-Refusals": refusals },
    });
  }, []);
  const [failure, setFailure] = useState("");
  const runtime = useAgUiRuntime({ agent, onError: (error) => setFailure(error.message) });
  return (
    <AssistantRuntimeProvider runtime={runtime}>
      <ThreadPrimitive.Root>
        <main>
          <ThreadPrimitive.Messages components={{ Message }} />
        </main>
        <Questions />
        <ComposerPrimitive.Root>
          <ComposerPrimitive.Input aria-label="Message" />
          <ComposerPrimitive.Send>Send</ComposerPrimitive.Send>
        </ComposerPrimitive.Root>
        <p role="alert">{failure}</p>
      </ThreadPrimitive.Root>
    </AssistantRuntimeProvider>
  );
}

function Message() {
  return (
    <MessagePrimitive.Root>
      <MessagePrimitive.Parts />
    </MessagePrimitive.Root>
  );
}

function Questions() {
  const interrupts = useAgUiInterrupts();
  return interrupts.map((interrupt) => <Card key={interrupt.id} interrupt={interrupt} />);
}
