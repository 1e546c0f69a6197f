import { type Answer, type Interrupt, Questions, reached, useRecords } from "@agui-bridge/react-cards";
import { useAgUiSubmitInterruptResponses } from "@assistant-ui/react-ag-ui";

import { wordsOf } from "./failure";

interface WaitingProps {
  interrupts: readonly Interrupt[];
  url: string;
  thread: string;
  check: boolean;
}

/** A card for each question, and the answers all together, as assistant-ui wants them. */
export function Waiting({ interrupts, url, thread, check }: WaitingProps) {
  const submit = useAgUiSubmitInterruptResponses();
  const records = useRecords({ url, thread: interrupts.length ? thread : null });
  const send = async (answers: Answer[]) => {
    await reached({ url, thread });
    try {
      await submit(answers);
    } catch (error) {
      throw new Error(`${wordsOf(error as Error)} The answer may have arrived all the same. Try again: it counts once.`);
    }
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
