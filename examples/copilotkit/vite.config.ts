import react from "@vitejs/plugin-react";
import { defineConfig } from "vite";

export default defineConfig({
  plugins: [react()],
  // CopilotKit's markdown brings every language and diagram: big chunks, loaded when needed.
  build: { chunkSizeWarningLimit: 5000 },
});
