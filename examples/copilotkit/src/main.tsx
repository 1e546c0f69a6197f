import "@copilotkit/react-core/v2/styles.css";
import "@agui-bridge/react-cards/cards.css";
import "./styles/page.css";
import "./styles/phone.css";
import "./styles/database.css";

import { createRoot } from "react-dom/client";

import { App } from "./App";

// CopilotKit is dark by a class of the page, all else by the system's wish.
const dark = matchMedia("(prefers-color-scheme: dark)");
const follow = () => document.documentElement.classList.toggle("dark", dark.matches);
dark.addEventListener("change", follow);
follow();

createRoot(document.getElementById("root")!).render(<App />);
