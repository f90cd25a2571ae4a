import { mkdirSync } from "node:fs";
import { resolve } from "node:path";

import type { Page } from "@playwright/test";

const FOLDER = resolve(import.meta.dirname, "../../../../docs/explorer");

/** Keep what the page looks like for the documentation, where TWINFRAME_SCREENSHOTS asks for it. */
export async function takeScreenshot(page: Page, name: string): Promise<void> {
  if (process.env["TWINFRAME_SCREENSHOTS"] === undefined) return;
  mkdirSync(FOLDER, { recursive: true });
  await page.screenshot({ path: resolve(FOLDER, `${name}.png`), animations: "disabled" });
}
