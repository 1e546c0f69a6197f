import type { Interrupt } from "@copilotkit/react-core/v2";
import type { ComponentType } from "react";

import { ApprovalCard } from "./ApprovalCard";
import { ConfirmationCard } from "./ConfirmationCard";
import { DatabaseCard } from "./DatabaseCard";
import { FormCard } from "./FormCard";
import type { QuestionProps } from "./question";

/** The card of each reason; add those of your own agents here. */
const CARDS: Record<string, ComponentType<QuestionProps>> = {
  tool_call: ApprovalCard,
  confirmation: ConfirmationCard,
  database_modification: DatabaseCard,
};

/** Whatever has no card of its own is asked with a form. */
export function cardFor(ask: Interrupt): ComponentType<QuestionProps> {
  return CARDS[ask.reason] ?? FormCard;
}
