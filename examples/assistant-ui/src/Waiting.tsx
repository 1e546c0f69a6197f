import { type Answer, Questions, reached, useRecords } from "@agui-bridge/react-cards";
import { useAgUiInterrupts, useAgUiSubmitInterruptResponses } from "@assistant-ui/react-ag-ui";

interface WaitingProps {
  url: string;
  thread: string;
  check: boolean;
}

/** A card for each question, and the answers all together, as assistant-ui wants them. */
export function Waiting({ url, thread, check }: WaitingProps) {
  const interrupts = useAgUiInterrupts();
  const submit = useAgUiSubmitInterruptResponses();
  const records = useRecords({ url, thread: interrupts.length ? thread : null });
  // assistant-ui takes the questions away before the answers have arrived.
  const send = async (answers: Answer[]) => {
    await reached({ url, thread });
    return submit(answers);
  };
  return (
    <Questions
      interrupts={interrupts}
      records={records}
      check={check}
      send={send}
      onReload={() => location.reload()}
    />
  );
}
