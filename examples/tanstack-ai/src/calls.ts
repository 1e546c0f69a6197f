import type { StreamChunk } from "@tanstack/ai/client";

interface Call {
  toolName: string;
  args: string;
}

/**
 * Calls without a result. They outlive a stream: a run may end with a question first, and a page that is loaded anew
 * is told them by a snapshot.
 */
export class Calls {
  private readonly open = new Map<string, Call>();

  /**
   * Hear a run. Before its end, TanStack AI is told which calls it can carry out: it carries out those of the page's
   * own tools, and each is told once.
   */
  async *hear(
    chunks: AsyncIterable<StreamChunk>,
    waiting: (toolCallIds: readonly string[]) => Promise<readonly string[]> | readonly string[],
  ): AsyncGenerator<StreamChunk> {
    for await (const chunk of chunks) {
      this.note(chunk);
      if (chunk.type === "RUN_FINISHED" && chunk.outcome?.type === "success" && this.open.size) {
        for (const toolCallId of await waiting([...this.open.keys()])) yield this.begin(toolCallId);
        this.open.clear();
      }
      yield chunk;
    }
  }

  /** The name of a call's tool. */
  toolOf(toolCallId: string): string {
    return this.open.get(toolCallId)?.toolName ?? "";
  }

  private note(chunk: StreamChunk) {
    if (chunk.type === "TOOL_CALL_START") this.open.set(chunk.toolCallId, { toolName: chunk.toolCallName, args: "" });
    const call = chunk.type === "TOOL_CALL_ARGS" && this.open.get(chunk.toolCallId);
    if (call) call.args += chunk.delta;
    if (chunk.type === "TOOL_CALL_RESULT") this.open.delete(chunk.toolCallId);
    if (chunk.type !== "MESSAGES_SNAPSHOT") return;
    this.open.clear();
    for (const { toolCalls, toolCallId } of chunk.messages as Message[]) {
      for (const { id, function: made } of toolCalls ?? [])
        this.open.set(id, { toolName: made.name, args: made.arguments });
      if (toolCallId) this.open.delete(toolCallId);
    }
  }

  private begin(toolCallId: string): StreamChunk {
    const { toolName, args } = this.open.get(toolCallId) as Call;
    const value = { toolCallId, toolName, input: JSON.parse(args || "{}") };
    return { type: "CUSTOM", name: "tool-input-available", value } as StreamChunk;
  }
}

interface Message {
  toolCalls?: { id: string; function: { name: string; arguments: string } }[];
  toolCallId?: string;
}
