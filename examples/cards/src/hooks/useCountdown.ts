import { useEffect, useState } from "react";

/** How many milliseconds the bridge's clock is ahead of this one. */
let ahead = 0;

/** Take the time from an answer of the bridge, where this page may read it; a second is as exact as it is. */
export function learnTime(date: string | null): void {
  const found = Date.parse(date ?? "") - Date.now();
  if (!Number.isNaN(found)) ahead = Math.abs(found) > 2000 ? found : 0;
}

/** Whole seconds until a time, 0 when it is over; null where there is no end. */
export function useCountdown(expiresAt: string | undefined): number | null {
  const end = expiresAt === undefined ? NaN : Date.parse(expiresAt);
  const left = () => (Number.isNaN(end) ? null : Math.max(0, Math.ceil((end - Date.now() - ahead) / 1000)));
  const [seconds, setSeconds] = useState(left);
  useEffect(() => {
    setSeconds(left());
    if (Number.isNaN(end)) return;
    const timer = setInterval(() => setSeconds(left()), 1000);
    return () => clearInterval(timer);
  }, [end]);
  return seconds;
}

/** `2 d 3 h`, `1 h 5 min`, `4 min 10 s`, `9 s`. */
export function duration(seconds: number): string {
  const minutes = Math.floor(seconds / 60);
  const hours = Math.floor(minutes / 60);
  if (hours >= 24) return `${Math.floor(hours / 24)} d ${hours % 24} h`;
  if (hours) return `${hours} h ${minutes % 60} min`;
  return minutes ? `${minutes} min ${seconds % 60} s` : `${seconds} s`;
}
