import type { ReactNode } from "react";

interface CardProps {
  kind: string;
  title?: string;
  /** Coloured by how much it matters. */
  tone?: "plain" | "danger";
  children?: ReactNode;
}

/** The frame of every question. */
export function Card({ kind, title, tone = "plain", children }: CardProps) {
  return (
    <article className={`card ${tone}`}>
      <header>
        <span className="kind">{kind}</span>
        {title && <h2>{title}</h2>}
      </header>
      {children}
    </article>
  );
}
