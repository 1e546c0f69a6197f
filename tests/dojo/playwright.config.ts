// How the dojo's own specs are run here: one after another, in the browser of this machine.
import { defineConfig, devices } from "@playwright/test";

export default defineConfig({
  testDir: "./tests",
  workers: 1,
  retries: 0,
  timeout: 50_000,
  expect: { timeout: 20_000 },
  reporter: [["list"], ["json", { outputFile: process.env.DOJO_RESULTS }]],
  use: {
    ...devices["Desktop Chrome"],
    baseURL: process.env.DOJO_PAGES,
    navigationTimeout: 30_000,
    actionTimeout: 10_000,
    launchOptions: {
      executablePath: process.env.CHROMIUM,
      // No page asks for anything elsewhere.
      args: ["--no-sandbox", "--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1"],
    },
  },
});
