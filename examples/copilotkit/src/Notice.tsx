export interface Trouble {
  code: string;
  text: string;
  /** Nothing was refused: to load the conversation again would only lose what was typed. */
  harmless?: boolean;
}

interface NoticeProps extends Trouble {
  onReload?: () => void;
  onClose: () => void;
}

/** What went wrong, in the bridge's words. */
export function Notice({ code, text, harmless, onReload, onClose }: NoticeProps) {
  return (
    <div className="notice" role="alert">
      <div>
        <strong>{code}</strong>
        <p>{text}</p>
      </div>
      {onReload && !harmless && (
        <button className="plain" onClick={onReload}>
          Reload
        </button>
      )}
      <button className="plain" onClick={onClose}>
        Dismiss
      </button>
    </div>
  );
}
