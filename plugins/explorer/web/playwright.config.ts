import { defineConfig } from "@playwright/test";

// The browser is the system's own (TWINFRAME_CHROMIUM names another); nothing is downloaded.
export default defineConfig({
  testDir: "e2e",
  globalSetup: "./e2e/setup.ts",
  // Runs beside each other need a folder each.
  outputDir: process.env["TWINFRAME_E2E_RESULTS"] ?? "test-results",
  fullyParallel: false,
  forbidOnly: process.env["CI"] !== undefined,
  retries: 0,
  workers: 2,
  timeout: 90_000,
  expect: { timeout: 20_000 },
  reporter: [["list"]],
  use: {
    viewport: { width: 1280, height: 800 },
    colorScheme: "light",
    actionTimeout: 20_000,
    navigationTimeout: 30_000,
    trace: "retain-on-failure",
    launchOptions: {
      executablePath: process.env["TWINFRAME_CHROMIUM"] ?? "/usr/bin/chromium",
      args: ["--no-sandbox", "--enable-unsafe-swiftshader"],
    },
  },
});
