import { Component, type ReactNode } from "react";

import type { CardProps } from "../question";
import { Button, Card } from "./Card";
import { useTitleOf } from "./titles";
import { Arguments } from "./Values";

interface GuardProps extends Pick<CardProps, "ask" | "call" | "failure" | "onCancel"> {
  children: ReactNode;
}

/** A card that can't be drawn leaves the others and the page as they are. */
export class Guard extends Component<GuardProps, { failed: boolean }> {
  override state = { failed: false };

  static getDerivedStateFromError = () => ({ failed: true });

  override render() {
    const { children, ...props } = this.props;
    return this.state.failed ? <PlainCard {...props} /> : children;
  }
}

/** What is asked, as it came. Of its members the frame is given none: one of them may be the fault. */
function PlainCard({ ask, call, failure, onCancel }: Omit<GuardProps, "children">) {
  const raw = JSON.stringify(call ? { ...ask, call } : ask, null, 2);
  return (
    <Card ask={{ id: ask.id, reason: "", message: useTitleOf(ask) }} kind="Question" failure={failure}>
      <p className="agc-note">There is no card for this question.</p>
      <Arguments values={{ JSON: raw }} label="The question" />
      <div className="agc-actions">
        <Button look="quiet" onClick={onCancel}>
          Cancel
        </Button>
      </div>
    </Card>
  );
}
