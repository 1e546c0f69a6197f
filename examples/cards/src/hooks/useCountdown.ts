import { useEffect, useState } from "react";

/** Whole seconds until a time, 0 when it is over; null where there is no end. */
export function useCountdown(expiresAt: string | undefined): number | null {
  const end = expiresAt === undefined ? NaN : Date.parse(expiresAt);
  const left = () => (Number.isNaN(end) ? null : Math.max(0, Math.ceil((end - Date.now()) / 1000)));
  const [seconds, setSeconds] = useState(left);
  useEffect(() => {
    setSeconds(left());
    if (Number.isNaN(end)) return;
    const timer = setInterval(() => setSeconds(left()), 1000);
    return () => clearInterval(timer);
  }, [end]);
  return seconds;
}

/** `1 h 5 min`, `4 min 10 s`, `9 s`. */
export function duration(seconds: number): string {
  const hours = Math.floor(seconds / 3600);
  const minutes = Math.floor((seconds % 3600) / 60);
  if (hours) return `${hours} h ${minutes} min`;
  return minutes ? `${minutes} min ${seconds % 60} s` : `${seconds} s`;
}
