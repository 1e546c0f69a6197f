import { type SyntheticEvent, useState } from "react";

interface ComposerProps {
  running: boolean;
  /** TanStack AI sends nothing while a question is open. */
  waiting: boolean;
  onSay: (text: string) => unknown;
  onStop: () => void;
}

/** The box for messages. */
export function Composer({ running, waiting, onSay, onStop }: ComposerProps) {
  const [text, setText] = useState("");
  const submit = (event: SyntheticEvent) => {
    event.preventDefault();
    onSay(text);
    setText("");
  };
  return (
    <footer>
      <form className="composer" onSubmit={submit}>
        <textarea
          aria-label="Message"
          placeholder={waiting ? "Answer first" : "Say something"}
          rows={1}
          value={text}
          onChange={({ target }) => setText(target.value)}
          onKeyDown={(event) => {
            // Enter sends, Shift+Enter begins a line; an input method's Enter only picks a word.
            if (event.key !== "Enter" || event.shiftKey || event.nativeEvent.isComposing) return;
            event.preventDefault();
            if (!running && !waiting && text) submit(event);
          }}
        />
        {running ? (
          <button type="button" onClick={onStop}>
            Stop
          </button>
        ) : (
          <button disabled={waiting || !text}>Send</button>
        )}
      </form>
    </footer>
  );
}
