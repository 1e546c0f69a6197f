import { useState } from "react";

import { Card } from "./Card";
import { Fields } from "./Fields";
import type { QuestionProps } from "./question";
import { Refusal } from "./Refusal";

/** What an agent says of a change that it is about to make to a database. */
interface Change {
  action: string;
  table: string;
  affectedRows: number;
  query: string;
  rollbackPlan: string;
  riskLevel: "low" | "medium" | "high";
}

/** A change of a database: its query, its risk, how to undo it, and in what steps to do it. */
export function DatabaseCard({ ask, onAnswer, onCancel }: QuestionProps) {
  const { query, riskLevel, ...facts } = ask.metadata as unknown as Change;
  const [batchSize, setBatchSize] = useState(10);
  const [dryRun, setDryRun] = useState(true);
  const [denying, setDenying] = useState(false);
  const modifications = { batchSize, dryRun };
  return (
    <Card kind="Database change" title={ask.message} tone={riskLevel === "high" ? "danger" : "plain"}>
      <p className={`risk ${riskLevel}`}>{riskLevel} risk</p>
      <pre className="query">{query}</pre>
      <Fields
        values={{
          Action: facts.action,
          Table: facts.table,
          "Affected rows": facts.affectedRows,
          "To undo it": facts.rollbackPlan,
        }}
      />
      {denying ? (
        <Refusal
          onBack={() => setDenying(false)}
          onDeny={(reason) => onAnswer({ approved: false, ...(reason && { reason }) }, "Denied")}
        />
      ) : (
        <>
          <div className="options">
            <label>
              Rows per batch
              <input
                type="number"
                min={1}
                value={batchSize}
                onChange={(event) => setBatchSize(event.target.valueAsNumber || 1)}
              />
            </label>
            <label className="tick">
              <input
                type="checkbox"
                checked={dryRun}
                onChange={(event) => setDryRun(event.target.checked)}
              />
              Dry run
            </label>
          </div>
          <div className="actions">
            <button
              className={dryRun ? "" : "danger"}
              onClick={() => onAnswer({ approved: true, modifications }, "Approved")}
            >
              {dryRun ? "Approve the dry run" : "Change the database"}
            </button>
            <button className="plain" onClick={() => setDenying(true)}>
              Deny
            </button>
            <button className="quiet" onClick={onCancel}>
              Cancel
            </button>
          </div>
        </>
      )}
    </Card>
  );
}
