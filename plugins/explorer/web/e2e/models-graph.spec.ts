import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";

import type { Page } from "@playwright/test";

import { expect, open, startService, test, watchConsole } from "./fixtures";
import type { Service } from "./processes";
import { takeScreenshot } from "./screenshots";

const ROOM = "dtmi:com:example:building:Room;1";
const REAL = `${process.env["TWINFRAME_SHARED"] ?? join(import.meta.dirname, "../../../../../shared")}/data/rec-building-models.jsonl.gz`;

function picture(page: Page) {
  return page.getByRole("region", { name: "Graph of the models" });
}

function canvas(page: Page) {
  return page.getByRole("application", { name: "Graph of the models" });
}

function detail(page: Page, name: string) {
  return page.getByRole("article", { name });
}

function foot(page: Page) {
  return picture(page).locator(".picture-foot");
}

function kind(page: Page, name: string) {
  return picture(page).getByRole("checkbox", { name });
}

/** The layout has come to its end. */
async function settle(page: Page): Promise<void> {
  await expect(page.getByRole("button", { name: "Lay out again" })).toBeVisible();
  await page.waitForTimeout(700);
}

test("models are a picture of what they extend, lead to and have as parts", async ({
  page,
  demo,
}) => {
  const problems = watchConsole(page);
  await open(page, demo, `~own/models?${new URLSearchParams({ id: ROOM })}`);
  await page.getByRole("radio", { name: "Graph" }).click();
  await expect(foot(page)).toHaveText("20 models, 24 edges");
  await expect(kind(page, "Extends")).toBeChecked();
  await expect(picture(page).getByText("feeds to any model")).toBeVisible();
  await settle(page);
  await takeScreenshot(page, "models-graph");
  // What the picture leads to stays in it, and the address keeps it.
  await detail(page, "Room").getByRole("link", { name: "Space" }).first().click();
  await expect(detail(page, "Space")).toBeVisible();
  await page.reload();
  await expect(foot(page)).toHaveText("20 models, 24 edges");
  await expect(detail(page, "Space")).toBeVisible();
  await page.goBack();
  await expect(detail(page, "Room")).toBeVisible();
  await page.getByRole("radio", { name: "Tree" }).click();
  await expect(picture(page)).toHaveCount(0);
  await expect(page.getByRole("row", { name: "Room", exact: true })).toHaveAttribute(
    "aria-selected",
    "true",
  );
  expect(problems).toEqual([]);
});

test("kinds of edges are hidden, a search leaves what it finds, and a click chooses", async ({
  page,
  demo,
}) => {
  await open(page, demo, "~own/models?show=graph");
  await expect(foot(page)).toHaveText("20 models, 24 edges");
  await settle(page);
  // With no model chosen the picture has the whole view.
  expect((await picture(page).boundingBox())?.width).toBeGreaterThan(1100);
  await picture(page).getByText("Extends", { exact: true }).click();
  await expect(foot(page)).toHaveText("20 models, 8 edges");
  await picture(page).getByRole("button", { name: "Only Component" }).click();
  await expect(foot(page)).toHaveText("20 models, 4 edges");
  await page.getByRole("searchbox", { name: "Search models" }).fill("maintenance record");
  await expect(foot(page)).toHaveText("2 models, 1 edge: 1 model found, with what it is tied to");
  await picture(page).getByText("Component", { exact: true }).click();
  await expect(foot(page)).toHaveText("1 model, 0 edges: 1 model found, with what it is tied to");
  // Alone in the view it stands in its middle.
  await page.waitForTimeout(700);
  await canvas(page).click();
  await expect(detail(page, "Maintenance record")).toBeVisible();
  await expect(page).toHaveURL(/show=graph&id=dtmi.*Maintenance/);
});

test("the picture is walked with the keyboard, and is there as a list", async ({ page, demo }) => {
  await open(page, demo, `~own/models?${new URLSearchParams({ show: "graph", id: ROOM })}`);
  await settle(page);
  await canvas(page).focus();
  await page.keyboard.press("ArrowRight");
  await expect(picture(page).getByText(`Room (${ROOM}), 5 edges`)).toBeVisible();
  await page.keyboard.press("Escape");
  await expect(detail(page, "Room")).toHaveCount(0);
  await page.keyboard.press("ArrowRight");
  await page.keyboard.press("Enter");
  await expect(page.getByRole("article")).toBeVisible();
  await page.getByRole("button", { name: "List" }).click();
  await page.getByRole("searchbox", { name: "Search models" }).fill("feeds");
  const tie = picture(page).getByRole("grid", { name: "Ties" }).getByRole("row");
  await expect(tie.filter({ hasText: "feeds" })).toHaveText("EquipmentRelationshipfeedsany model");
  await picture(page)
    .getByRole("grid", { name: "Models" })
    .getByRole("row", { name: "Entity" })
    .click();
  await expect(detail(page, "Entity")).toBeVisible();
});

test.describe("models of another service", () => {
  let service: Service;

  test.beforeEach(async ({ folder }, { testId }) => {
    service = await startService(join(folder, testId, "service"));
  });
  test.afterEach(async () => {
    await service.stop();
    expect(service.failures()).toBe("");
  });

  test("all models are saved as one file, which is uploaded as it is", async ({ page }) => {
    await open(page, service, "~own/models");
    const saving = page.waitForEvent("download");
    await page.getByRole("button", { name: "Download all models" }).click();
    const path = await (await saving).path();
    expect(JSON.parse(readFileSync(path, "utf-8"))).toHaveLength(20);
    expect((await fetch(`${service.url}/models`, { method: "DELETE" })).ok).toBe(true);
    await page.reload();
    await expect(page.getByText("No model is stored yet.")).toBeVisible();
    await page.locator("input[type=file]").setInputFiles({
      name: "models.json",
      mimeType: "application/json",
      buffer: readFileSync(path),
    });
    await page.getByRole("dialog").getByRole("button", { name: "Upload", exact: true }).click();
    await expect(page.getByText("20 models are stored.")).toBeVisible();
  });

  test("an ontology of hundreds of interfaces is drawn", async ({ page }) => {
    test.skip(!existsSync(REAL), `There is no ${REAL}: TWINFRAME_SHARED names the folder of it.`);
    const lines = gunzipSync(readFileSync(REAL)).toString("utf-8").trim().split("\n");
    const stored = await fetch(`${service.url}/models`, {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: `[${lines.join(",")}]`,
    });
    expect(stored.status).toBe(201);
    await open(page, service, "~own/models?show=graph");
    await expect(foot(page)).toContainText(`${lines.length + 20} models`);
    await settle(page);
    await page.getByRole("searchbox", { name: "Search models" }).fill("thermostat");
    await expect(foot(page)).toContainText("found, with what");
  });
});
