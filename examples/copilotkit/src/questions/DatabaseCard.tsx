import {
  ApprovalCard,
  Button,
  Card,
  type CardProps,
  ConfirmationCard,
  FormCard,
  kindOf,
  ReasonForm,
  useStep,
  Values,
} from "@agui-bridge/react-cards";
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

const USUAL = { approval: ApprovalCard, confirmation: ConfirmationCard, form: FormCard };

/** A change of a database, if the agent tells what it is about to do; else the card that such a question usually has. */
export function DatabaseCard(props: CardProps) {
  const { query } = props.ask.metadata ?? {};
  const Shown = typeof query === "string" ? ChangeCard : USUAL[kindOf(props.ask)];
  return <Shown {...props} />;
}

/** Its query, its risk, how to undo it, and in what steps to do it. */
function ChangeCard(props: CardProps) {
  const { ask, onAnswer, onCancel } = props;
  const { query, riskLevel, ...facts } = ask.metadata as Partial<Change>;
  const told = [
    ["Action", facts.action],
    ["Table", facts.table],
    ["Affected rows", facts.affectedRows],
    ["To undo it", facts.rollbackPlan],
  ];
  const [batchSize, setBatchSize] = useState(10);
  const [dryRun, setDryRun] = useState(true);
  const [doing, setDoing, body] = useStep<"reading" | "denying">("reading");
  const modifications = { batchSize, dryRun };
  return (
    <Card {...props} kind="Database change" tone={riskLevel === "high" ? "danger" : "plain"}>
      {riskLevel && <p className={`risk ${riskLevel}`}>{riskLevel} risk</p>}
      <pre className="query" tabIndex={0}>
        {query}
      </pre>
      <Values values={Object.fromEntries(told.filter(([, value]) => value !== undefined))} />
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
