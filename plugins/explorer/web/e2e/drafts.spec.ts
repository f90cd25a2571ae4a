import type { Page } from "@playwright/test";
import { join } from "node:path";

import { expect, startService, test } from "./fixtures";
import { field, property, readTwin, ROOM, saveButton, selectTwin } from "./inspecting";
import type { Service } from "./processes";

/** Hold back all answers to patches of twins until what is returned is called. */
async function holdPatches(page: Page): Promise<() => void> {
  let release = (): void => undefined;
  const released = new Promise<void>((done) => (release = done));
  await page.route("**/digitaltwins/*", async (route) => {
    if (route.request().method() === "PATCH") await released;
    await route.continue();
  });
  return release;
}

test.describe("what is written and not saved", () => {
  let service: Service;

  test.beforeEach(async ({ folder }, { testId }) => {
    service = await startService(join(folder, testId));
  });
  test.afterEach(async () => {
    await service.stop();
    expect(service.failures()).toBe("");
  });

  test("is kept where a save was under way, and goes out with the next", async ({ page }) => {
    await selectTwin(page, service, ROOM);
    const release = await holdPatches(page);
    await field(page, "name").fill("First");
    const sent = page.waitForRequest((request) => request.method() === "PATCH");
    await page.keyboard.press("ControlOrMeta+s");
    await sent;
    await field(page, "name").fill("First and second");
    await field(page, "area").fill("61.5");
    release();
    await expect(page.getByText("Saved.")).toBeVisible();
    await expect(field(page, "name")).toHaveValue("First and second");
    await expect(field(page, "area")).toHaveValue("61.5");
    await expect(property(page, "name")).toHaveAttribute("data-changed");
    expect(await readTwin(service, ROOM)).toMatchObject({ name: "First" });
    await saveButton(page).click();
    await expect(saveButton(page)).toHaveCount(0);
    expect(await readTwin(service, ROOM)).toMatchObject({ name: "First and second", area: 61.5 });
  });
});
