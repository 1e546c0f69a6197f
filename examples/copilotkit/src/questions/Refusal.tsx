import { useState } from "react";

interface RefusalProps {
  onDeny: (reason: string) => void;
  onBack: () => void;
}

/** Why not? The agent is told. */
export function Refusal({ onDeny, onBack }: RefusalProps) {
  const [reason, setReason] = useState("");
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        onDeny(reason.trim());
      }}
    >
      <label>
        Reason <small>(optional, the agent reads it)</small>
        <textarea rows={2} autoFocus value={reason} onChange={(e) => setReason(e.target.value)} />
      </label>
      <div className="actions">
        <button type="submit" className="danger">
          Deny
        </button>
        <button type="button" className="plain" onClick={onBack}>
          Back
        </button>
      </div>
    </form>
  );
}
