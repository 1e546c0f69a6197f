const UNITS = [
  [86_400_000, "d"],
  [3_600_000, "h"],
  [60_000, "min"],
] as const;

/** How long ago a moment was, ISO 8601; nothing while it is less than a minute. */
export function ageOf(moment: string | undefined): string | undefined {
  const passed = Date.now() - Date.parse(moment ?? "");
  const [unit, name] = UNITS.find(([unit]) => passed >= unit) ?? [];
  return unit && `${Math.floor(passed / unit)} ${name}`;
}
