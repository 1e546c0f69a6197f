import type { StreamChunk } from "@tanstack/ai/client";

/** The newest message of the user or the assistant that the page has, by the bridge's ids: TanStack AI has its own. */
export class Newest {
  id: string | undefined;

  /** Hear a run; what the user said with it counts once it has begun. */
  async *hear(chunks: AsyncIterable<StreamChunk>, said?: string): AsyncGenerator<StreamChunk> {
    for await (const chunk of chunks) {
      if (chunk.type === "RUN_STARTED") this.id = said ?? this.id;
      if (chunk.type === "TEXT_MESSAGE_START") this.id = chunk.messageId;
      if (chunk.type === "TOOL_CALL_START") this.id = chunk.parentMessageId ?? this.id;
      if (chunk.type === "MESSAGES_SNAPSHOT") this.id = newestOf(chunk.messages as Message[]);
      yield chunk;
    }
  }
}

type Message = { id: string; role: string };

const newestOf = (messages: readonly Message[]) =>
  messages.findLast(({ role }) => role === "user" || role === "assistant")?.id;
