import { join } from "node:path";

import type { Locator, Page } from "@playwright/test";

import { expect, open, startService, test, watchConsole } from "./fixtures";
import { takeScreenshot } from "./screenshots";

/** A tile by its title. */
function tile(page: Page, name: string): Locator {
  return page.getByRole("region", { name, exact: true }).first();
}

test("a first dashboard is made from the graph, saved, and shown again by its address", async ({
  page,
  folder,
}, { testId }) => {
  const service = await startService(join(folder, testId));
  try {
    const problems = watchConsole(page);
    await page.setViewportSize({ width: 1440, height: 900 });
    await open(page, service, "~own/dashboards");
    await expect(page.getByText("There is no dashboard yet")).toBeVisible();
    await page.getByRole("button", { name: "Make one from this graph" }).click();
    await expect(page.getByRole("textbox", { name: "Name of the dashboard" })).toHaveValue(
      "This service at a glance",
    );
    await takeScreenshot(page, "dashboard-edit");
    await page.getByRole("button", { name: "Save" }).click();
    await expect(page).toHaveURL(/dashboards\?id=this-service-at-a-glance$/);
    await expect(tile(page, "Building").locator(".tile-value")).toHaveText("4");
    await expect(page.locator(".tile .waiting")).toHaveCount(0);
    await takeScreenshot(page, "dashboard");
    await page.reload();
    await expect(tile(page, "Building").locator(".tile-value")).toHaveText("4");
    await expect(page.locator(".tile .failure")).toHaveCount(0);
    expect(problems).toEqual([]);
  } finally {
    await service.stop();
  }
});
