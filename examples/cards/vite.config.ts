import react from "@vitejs/plugin-react";
import { defineConfig } from "vite";

/** The gallery: every state of every card. */
export default defineConfig({ root: "gallery", plugins: [react()] });
