import type { Interrupt } from "@copilotkit/react-core/v2";
import type { RJSFSchema } from "@rjsf/utils";

/** A tool call that waits for an approval, as it stands in the conversation. */
export interface Call {
  name: string;
  args: Record<string, unknown>;
}

/** What every card is given, whatever it asks. */
export interface QuestionProps {
  ask: Interrupt;
  /** The call that it is about, if it is about one. */
  call?: Call;
  /** Whether a form checks the answer before it is sent. */
  check: boolean;
  onAnswer: (payload: unknown, summary: string) => void;
  onCancel: () => void;
}

/** The schema of the whole answer, or of one member of it. */
export function schemaOf(ask: Interrupt, member?: string): RJSFSchema | undefined {
  const schema = ask.responseSchema as RJSFSchema | undefined;
  return member ? (schema?.properties?.[member] as RJSFSchema | undefined) : schema;
}
