const CLASS = "agc-hidden";

function region(): HTMLElement {
  const found = document.querySelector<HTMLElement>("[data-agc-live]");
  if (found) return found;
  const made = document.createElement("div");
  made.className = CLASS;
  made.dataset.agcLive = "";
  made.setAttribute("role", "status");
  document.body.append(made);
  return made;
}

let timer: ReturnType<typeof setTimeout> | undefined;
let waiting: string[] = [];

/**
 * Have screen readers say something. One region for the page: it must be there before its text is, and
 * what is said at the same time is said together.
 */
export function announce(text: string): void {
  const place = region();
  place.textContent = "";
  clearTimeout(timer);
  waiting = [...waiting.filter((other) => other !== text), text];
  timer = setTimeout(() => {
    place.textContent = waiting.join(" ");
    waiting = [];
  }, 100);
}
