import type { JsonSchema } from "./schema/schema";

/** An AG-UI interrupt, as every client of AG-UI 1.0 gives it. */
export interface Interrupt {
  id: string;
  reason: string;
  message?: string;
  toolCallId?: string;
  responseSchema?: JsonSchema | Record<string, unknown>;
  /** ISO 8601. */
  expiresAt?: string;
  metadata?: Record<string, unknown>;
}

/** A tool call that waits for an approval. */
export interface Call {
  name: string;
  args: Record<string, unknown>;
}

/** Who may answer a question, and how far they are. */
export interface Approval {
  approvers?: string[];
  quorum?: number;
  selfApproval?: boolean;
  askedBy?: string | null;
  votes?: number;
  votedBy?: string[];
  /** Groups; somebody of each must agree. */
  eachOf?: string[][];
  /** The arguments that those who have agreed so far have agreed to, if they were changed. */
  editedArgs?: Record<string, unknown>;
}

/** What the bridge knows of a question: `GET …/threads/{thread}/interrupts`. */
export interface QuestionRecord {
  id: string;
  status: string;
  message?: string;
  expiresAt?: string;
  toolCall?: Call;
  approval?: Approval | null;
  mayAnswer?: boolean;
  why?: { code: string; message: string } | null;
  answer?: { status: "resolved" | "cancelled"; payload?: unknown } | null;
  history?: { status: string; at: string; actor: string }[];
}

/** An entry of `resume`. */
export type Answer =
  | { interruptId: string; status: "resolved"; payload: unknown }
  | { interruptId: string; status: "cancelled" };

/** What every card is given, whatever it asks. */
export interface CardProps {
  ask: Interrupt;
  /** The call that it is about, if it is about one. */
  call?: Call;
  /** What the bridge knows of it, if it was asked. */
  record?: QuestionRecord;
  /** Whether a form checks the answer before it is sent; the bridge does in any case. */
  check?: boolean;
  /** The answer is on its way, or may not be given: buttons do nothing. */
  disabled?: boolean;
  /** Why the last answer was not taken. */
  failure?: string;
  /** The summary says in a word what was answered. */
  onAnswer: (payload: unknown, summary: string) => void;
  onCancel: () => void;
}
