import { useEffect, useRef, useState } from "react";

interface RewriteDialogProps {
  text: string;
  onRewrite: (text: string) => void;
  onClose: () => void;
}

/** Another wording for a message; what came after it is left behind. */
export function RewriteDialog({ text, onRewrite, onClose }: RewriteDialogProps) {
  const dialog = useRef<HTMLDialogElement>(null);
  const [wording, setWording] = useState(text);
  useEffect(() => dialog.current?.showModal(), []);
  return (
    <dialog ref={dialog} className="agc-card rewrite" onClose={onClose}>
      <form
        className="agc-form"
        onSubmit={(event) => {
          event.preventDefault();
          if (wording.trim()) onRewrite(wording.trim());
        }}
      >
        <label>
          Say instead <small>(the conversation goes on from here)</small>
          <textarea aria-label="Say instead" rows={3} value={wording} onChange={(e) => setWording(e.target.value)} />
        </label>
        <div className="agc-actions">
          <button type="submit" className="agc-main">Send</button>
          <button type="button" className="agc-plain" onClick={onClose}>
            Back
          </button>
        </div>
      </form>
    </dialog>
  );
}
