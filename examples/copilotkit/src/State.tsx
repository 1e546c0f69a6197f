/** The state that agent and page share, if there is any. */
export function State({ state }: { state: unknown }) {
  if (!state || !Object.keys(state).length) return null;
  return (
    <section className="state" aria-label="State">
      <pre>{JSON.stringify(state, null, 1)}</pre>
    </section>
  );
}
