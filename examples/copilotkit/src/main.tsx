import "@copilotkit/react-core/v2/styles.css";
import "./styles/page.css";
import "./styles/questions.css";
import "./styles/forms.css";

import { createRoot } from "react-dom/client";

import { App } from "./App";

createRoot(document.getElementById("root")!).render(<App />);
