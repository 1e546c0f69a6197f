/** Names and values as a table, nested ones within. */
export function Fields({ values }: { values: Record<string, unknown> }) {
  return (
    <table className="fields">
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
  if (Array.isArray(value)) {
    return (
      <ul>
        {value.map((item, place) => (
          <li key={place}>
            <Value value={item} />
          </li>
        ))}
      </ul>
    );
  }
  if (value !== null && typeof value === "object") {
    return <Fields values={value as Record<string, unknown>} />;
  }
  return <>{value === null ? "–" : String(value)}</>;
}
