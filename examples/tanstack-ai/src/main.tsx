import "@agui-bridge/react-cards/cards.css";
import "./page.css";

import { createRoot } from "react-dom/client";

import { App } from "./App";

createRoot(document.getElementById("root")!).render(<App />);
