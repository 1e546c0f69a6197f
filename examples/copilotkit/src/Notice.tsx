import type { ReactNode } from "react";

import type { Trouble } from "./failure";

interface NoticeProps extends Trouble {
  children?: ReactNode;
  onReload?: () => void;
  onClose?: () => void;
}

/** What went wrong, in the bridge's words, and what can be done. */
export function Notice({ code, text, harmless, children, onReload, onClose }: NoticeProps) {
  return (
    <div className="notice" role="alert">
      <div>
        {code && <strong>{code}</strong>}
        <p>{text}</p>
      </div>
      {children}
      {onReload && !harmless && (
        <button className="plain" onClick={onReload}>
          Reload
        </button>
      )}
      {onClose && (
        <button className="plain" onClick={onClose}>
          Dismiss
        </button>
      )}
    </div>
  );
}
