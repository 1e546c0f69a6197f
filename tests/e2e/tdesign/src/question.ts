import type { AGUIAdapter } from "@tdesign-vue-next/chat";

/** What an agent asks: an interrupt of AG-UI. */
export interface Question {
  id: string;
  message?: string;
  responseSchema?: Schema;
}

/** The JSON Schema of an answer, as far as the page draws it. */
export interface Schema {
  type?: string;
  title?: string;
  properties?: Record<string, Schema>;
}

/** What is sent for a question. */
export interface Answer {
  interruptId: string;
  status: "resolved" | "cancelled";
  payload?: unknown;
}

/** An event of AG-UI, as far as TDesign leaves it to the page. */
export interface Event {
  type: string;
  messages?: Parameters<typeof AGUIAdapter.convertHistoryMessages>[0];
  outcome?: { interrupts?: Question[] };
}
