import react from "@vitejs/plugin-react";
import { defineConfig } from "vite";

/** The package: one module and one style sheet, React left to whoever uses it. */
export default defineConfig({
  plugins: [react()],
  build: {
    minify: true,
    lib: {
      entry: { cards: "src/index.ts" },
      formats: ["es"],
      cssFileName: "cards",
    },
    rollupOptions: {
      external: ["react", "react/jsx-runtime", "react-dom"],
      // `build.minify` leaves the spaces of a library as they are.
      output: { minify: true },
    },
  },
});
