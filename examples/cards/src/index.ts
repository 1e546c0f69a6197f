import "./cards.css";

export { ApprovalCard } from "./cards/ApprovalCard";
export { Button, Card } from "./cards/Card";
export { ConfirmationCard } from "./cards/ConfirmationCard";
export { FormCard } from "./cards/FormCard";
export { Questions, type QuestionsProps } from "./cards/Questions";
export { SchemaForm } from "./cards/SchemaForm";
export { Values } from "./cards/Values";
export { announce } from "./hooks/announce";
export { useCountdown } from "./hooks/useCountdown";
export { useFocus } from "./hooks/useFocus";
export { useForm } from "./hooks/useForm";
export { useQuestions } from "./hooks/useQuestions";
export { useRecords } from "./hooks/useRecords";
export { kindOf, refusalOf, schemaOf, titleOf } from "./kinds";
export type { Answer, Approval, Call, CardProps, Interrupt, QuestionRecord } from "./question";
export { Field } from "./schema/Field";
export type { JsonSchema } from "./schema/schema";
