import { fileURLToPath } from "node:url";

import react from "@vitejs/plugin-react";
import { defineConfig } from "vite";

const cards = (file: string) => fileURLToPath(new URL(`../cards/src/${file}`, import.meta.url));

export default defineConfig({
  plugins: [react()],
  resolve: {
    // The package beside this one, from its source; it takes the page's React.
    alias: [
      { find: /^@agui-bridge\/react-cards$/, replacement: cards("index.ts") },
      { find: "@agui-bridge/react-cards/cards.css", replacement: cards("cards.css") },
    ],
    dedupe: ["react", "react-dom"],
  },
  build: { chunkSizeWarningLimit: 2000 },
});
