/** Names and values as a table, nested ones within. */
export function Values({ values }: { values: Record<string, unknown> }) {
  return (
    <table className="agc-values">
      <tbody>
        {Object.entries(values).map(([name, value]) => (
          <tr key={name}>
            <th scope="row">{name}</th>
            <td>
              <Value value={value} />
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function Value({ value }: { value: unknown }) {
  if (Array.isArray(value) && value.length)
    return (
      <ul>
        {value.map((item, place) => (
          <li key={place}>
            <Value value={item} />
          </li>
        ))}
      </ul>
    );
  if (value !== null && typeof value === "object" && Object.keys(value).length)
    return <Values values={value as Record<string, unknown>} />;
  return <>{value === null ? "–" : typeof value === "object" ? JSON.stringify(value) : String(value)}</>;
}
