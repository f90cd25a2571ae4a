import { join } from "node:path";

import { expect, open, startService, test, watchConsole, writeQuery } from "./fixtures";
import type { Service } from "./processes";

let service: Service;

// Of its own, as it is changed.
test.beforeEach(async ({ folder }, { testId }) => {
  service = await startService(join(folder, testId));
});
test.afterEach(async () => {
  await service.stop();
  expect(service.failures()).toBe("");
});

test("a newcomer finds a model, asks for its twins, sees them as a picture, and changes one for all who look", async ({
  page,
  browser,
}) => {
  const problems = watchConsole(page);
  await open(page, service);
  await page.getByRole("link", { name: "Models" }).click();
  await page.getByRole("searchbox", { name: "Search models" }).fill("Building");
  await page.getByRole("treegrid").getByRole("row").filter({ hasText: "Building" }).first().click();
  await expect(page.getByRole("article", { name: "Building" })).toBeVisible();

  await page.getByRole("link", { name: "Query", exact: true }).click();
  await writeQuery(page, "MATCH (b:Building)-[r]->(l:Level) RETURN b, r, l LIMIT 10");
  await page.getByRole("button", { name: /^Run/ }).click();
  await expect(page.getByText("10 rows")).toBeVisible();
  // What is a graph opens as one.
  const link = page.url();
  const picture = page.getByRole("tabpanel", { name: "Graph" });
  await expect(picture.getByText(/^\d+ twins, 10 relationships/)).toBeVisible();
  await expect(picture.locator("canvas").first()).toBeVisible();
  await page.getByRole("tab", { name: "Table" }).click();
  const wing = { name: "North Wing", exact: true };
  await page.getByRole("gridcell").getByRole("button", wing).first().click();
  const inspector = page.getByRole("complementary", { name: "Inspector" });
  await expect(inspector.getByRole("heading", { name: "b1" })).toBeVisible();

  // The second window is of somebody else: no storage, no cache is shared with it.
  const elsewhere = await browser.newContext();
  const second = await elsewhere.newPage();
  const others = watchConsole(second);
  await second.goto(link);
  await expect(second.getByRole("tabpanel", { name: "Graph" })).toBeVisible();
  await second.getByRole("tab", { name: "Table" }).click();
  await second.getByRole("gridcell").getByRole("button", wing).first().click();
  const shown = second.getByRole("group", { name: "name", exact: true });
  await expect(shown.getByRole("textbox", { name: "name" })).not.toHaveValue("");
  await expect(second.getByRole("button", { name: /^Live/ })).toBeVisible();

  await inspector.getByRole("textbox", { name: "name", exact: true }).fill("The lighthouse");
  await inspector.getByRole("button", { name: "Save", exact: true }).click();
  await expect(shown.locator(".inspector-glow")).toBeVisible();
  await expect(shown.getByRole("textbox", { name: "name" })).toHaveValue("The lighthouse");
  await expect(inspector.getByRole("button", { name: "Save", exact: true })).toHaveCount(0);
  await elsewhere.close();
  expect(problems).toEqual([]);
  expect(others).toEqual([]);
});
