import { Button, Card, type CardProps, ReasonForm, useStep, Values } from "@agui-bridge/react-cards";
import { useState } from "react";

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
export function DatabaseCard(props: CardProps) {
  const { ask, onAnswer, onCancel } = props;
  const { query, riskLevel, ...facts } = ask.metadata as unknown as Change;
  const [batchSize, setBatchSize] = useState(10);
  const [dryRun, setDryRun] = useState(true);
  const [doing, setDoing, body] = useStep<"reading" | "denying">("reading");
  const modifications = { batchSize, dryRun };
  return (
    <Card {...props} kind="Database change" tone={riskLevel === "high" ? "danger" : "plain"}>
      <p className={`risk ${riskLevel}`}>{riskLevel} risk</p>
      <pre className="query" tabIndex={0}>
        {query}
      </pre>
      <Values
        values={{
          Action: facts.action,
          Table: facts.table,
          "Affected rows": facts.affectedRows,
          "To undo it": facts.rollbackPlan,
        }}
      />
      <div ref={body}>
        {doing === "denying" ? (
          <ReasonForm
            onSubmit={(said) => onAnswer({ approved: false, ...said }, "Denied")}
            onBack={() => setDoing("reading")}
          >
            Deny
          </ReasonForm>
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
              <label className="agc-tick">
                <input
                  type="checkbox"
                  checked={dryRun}
                  onChange={(event) => setDryRun(event.target.checked)}
                />
                Dry run
              </label>
            </div>
            <div className="agc-actions">
              <Button
                look={dryRun ? "main" : "danger"}
                onClick={() => onAnswer({ approved: true, modifications }, "Approved")}
              >
                {dryRun ? "Approve the dry run" : "Change the database"}
              </Button>
              <Button look="plain" onClick={() => setDoing("denying")}>
                Deny
              </Button>
              <Button look="quiet" onClick={onCancel}>
                Cancel
              </Button>
            </div>
          </>
        )}
      </div>
    </Card>
  );
}
