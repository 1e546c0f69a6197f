// A page made with TDesign's chat on one thread of one agent:
//
//     ?url=ADDRESS OF THE AGENT&thread=ID&part=approvals

import { createApp } from "vue";

import App from "./App.vue";
import Approvals from "./Approvals.vue";

// TDesign does not look itself whether the system is dark.
const dark = matchMedia("(prefers-color-scheme: dark)").matches;
if (dark) document.documentElement.setAttribute("theme-mode", "dark");

const address = new URLSearchParams(location.search);
const url = address.get("url") ?? "http://127.0.0.1:8787/agents/ops";
const thread = address.get("thread") ?? crypto.randomUUID();
const page = address.get("part") === "approvals" ? Approvals : App;
createApp(page, { url, thread }).mount("#app");
