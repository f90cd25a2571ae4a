import { readFileSync } from "node:fs";
import { join } from "node:path";

import type { Page } from "@playwright/test";

import { ask, expect, give, open, startEmpty, test, watchConsole, writeQuery } from "./fixtures";
import type { Service } from "./processes";

const LEVEL = "MATCH (l {$dtId: 'b1-l0'})-[c:contains]->(r) RETURN l, c, r";

/** Picture the answer of a query. */
async function picture(page: Page, query: string): Promise<void> {
  await writeQuery(page, query);
  await page.keyboard.press("ControlOrMeta+Enter");
  await page.getByRole("tab", { name: "Graph" }).click();
}

/** Choose an item of the picture's menu, and answer the file that it saves. */
async function savePicture(page: Page, item: string): Promise<string> {
  await page.getByRole("button", { name: "Save", exact: true }).last().click();
  const coming = page.waitForEvent("download");
  await page.getByRole("menuitem", { name: item }).click();
  return readFileSync(await (await coming).path(), "utf8");
}

/** The contents of the documents of a query's only column, without etags and times. */
async function contents(service: Service, query: string): Promise<string[]> {
  const rows = await ask(service, query);
  return rows.map((row) => {
    const [document] = Object.values(row) as Record<string, unknown>[];
    const { $etag, $metadata, ...members } = document ?? {};
    expect($etag).toBeDefined();
    const { $model } = ($metadata ?? {}) as { $model?: string };
    return JSON.stringify({ $model, ...members }, (name, value: unknown) =>
      name === "$metadata" ? {} : value,
    );
  });
}

test("what the picture shows is saved as a graph, which an empty service imports", async ({
  page,
  folder,
  demo,
}, { testId }) => {
  const problems = watchConsole(page);
  await open(page, demo);
  await picture(page, LEVEL);
  await expect(page.locator(".picture-foot")).toHaveText(/^18 twins, 17 relationships/);
  // What is hidden is not in the file.
  await page
    .getByRole("complementary", { name: "Legend" })
    .getByText("Level", { exact: true })
    .click();
  await expect(page.locator(".picture-foot")).toHaveText(/^17 twins, 0 relationships/);
  const file = await savePicture(page, "As a graph with its models (JSON)");
  await expect(page.getByText(/graph\.json has \d+ models, 17 twins and 16 rel/)).toBeVisible();
  expect(problems).toEqual([]);
  const service = await startEmpty(join(folder, testId));
  try {
    await open(page, service, "~own/data");
    await give(page, "Choose a file", "graph.json", file);
    await expect(page.getByRole("article", { name: /^Import graph-/ })).toContainText(
      "17 twins and 16 relationships stored",
    );
    const rooms = "(r:Room) WHERE r.$dtId STARTS WITH 'b1-l0'";
    expect(await contents(service, "MATCH (t) RETURN t ORDER BY t.$dtId")).toEqual(
      await contents(demo, `MATCH ${rooms} RETURN r ORDER BY r.$dtId`),
    );
    const edges = "RETURN e ORDER BY e.$sourceId, e.$relationshipId";
    expect(await contents(service, `MATCH (a)-[e]->(b) ${edges}`)).toEqual(
      await contents(demo, `MATCH ${rooms} MATCH (r)-[e]->(s:Room) ${edges}`),
    );
    // The models are those of the rooms with what they extend, and no others.
    const { digitalTwinsModels: models } = JSON.parse(file) as {
      digitalTwinsModels: { "@id": string }[];
    };
    const ids = models.map((one) => one["@id"]);
    expect(ids).toContain("dtmi:com:example:building:Room;1");
    expect(ids).not.toContain("dtmi:com:example:building:Level;1");
  } finally {
    await service.stop();
    expect(service.failures()).toBe("");
  }
});
