import { wordsOf } from "./failure";

interface NoticeProps {
  failure?: Error;
}

/** What went wrong with the last run. */
export function Notice({ failure }: NoticeProps) {
  if (!failure) return null;
  return (
    <div className="notice" role="alert">
      {wordsOf(failure)} <button onClick={() => location.reload()}>Reload</button>
    </div>
  );
}
