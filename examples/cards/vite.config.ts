import react from "@vitejs/plugin-react";
import { defineConfig } from "vite";

/** The folder of another React than this package's own, such as one of version 18. */
const other = process.env.REACT;

/** The gallery: every state of every card. */
export default defineConfig({
  root: "gallery",
  plugins: [react()],
  resolve: { alias: other ? { react: `${other}/react`, "react-dom": `${other}/react-dom` } : {} },
});
