import type { Page } from "@playwright/test";

import { buildCampus } from "../src/picture/layout/sampleGraphs";
import { expect, open, test, watchConsole, writeQuery } from "./fixtures";

/** The rows of a building with more twins than are drawn each, as the service would answer them. */
function buildRows(): { rows: object[]; twins: number } {
  const { nodes, links } = buildCampus({ buildings: 1, levels: 36, rooms: 30 });
  const rows: object[] = nodes.map((id) => ({
    t: {
      $dtId: id,
      $etag: 'W/"1"',
      $metadata: { $model: `dtmi:com:example:building:${/-l\d+$/.test(id) ? "Level" : "Room"};1` },
      name: `Called ${id}`,
    },
  }));
  for (const { source, name, target } of links) {
    rows.push({
      r: {
        $relationshipId: `${name}-${target}`,
        $relationshipName: name,
        $sourceId: source,
        $targetId: target,
        $etag: 'W/"1"',
      },
    });
  }
  return { rows, twins: nodes.length };
}

async function showBuilding(page: Page): Promise<number> {
  const { rows, twins } = buildRows();
  const body = JSON.stringify({ value: rows, continuationToken: null });
  await page.route("**/query", async (route) => {
    const asked = route.request().postData() ?? "";
    if (!asked.includes("large") || asked.includes("EXPLAIN")) return route.fallback();
    await route.fulfill({ contentType: "application/json", body });
  });
  await writeQuery(page, "MATCH (large) RETURN large");
  await page.keyboard.press("ControlOrMeta+Enter");
  return twins;
}

/** How many nodes the note on the canvas says are drawn. */
async function readDrawn(page: Page): Promise<number> {
  const note = page.getByText(/twins are drawn as [\d,]+, by what contains them/);
  const said = await note.innerText({ timeout: 60_000 });
  return Number(/drawn as ([\d,]+),/.exec(said)?.[1]?.replaceAll(",", ""));
}

test("a picture of more than 5,000 twins is folded by what contains them, and opened by Enter", async ({
  page,
  demo,
}) => {
  test.setTimeout(240_000);
  const problems = watchConsole(page);
  await open(page, demo, "~own/query");
  const twins = await showBuilding(page);
  const foot = page.locator(".picture-foot");
  await expect(foot).toContainText(`${twins.toLocaleString("en")} twins`, { timeout: 60_000 });
  const before = await readDrawn(page);
  // The site, the building, its chiller and its levels.
  expect(before).toBeGreaterThan(36);
  expect(before).toBeLessThan(100);
  await expect(page.getByRole("button", { name: "Lay out again" })).toBeVisible({
    timeout: 60_000,
  });
  const canvas = page.getByRole("application", { name: "Graph" });
  const told = page.locator(".picture-told");
  await canvas.focus();
  // From the first to one that stands for others.
  await expect(async () => {
    await page.keyboard.press("ArrowRight");
    await expect(told).toContainText("twins within", { timeout: 500 });
  }).toPass({ timeout: 30_000 });
  expect(await told.innerText()).toMatch(/^Called b1-l\d+ \(b1-l\d+\), 142 twins within/);
  await page.keyboard.press("Enter");
  await expect.poll(() => readDrawn(page)).toBeGreaterThan(before + 25);
  // Whoever comes back to the picture begins at what is chosen.
  const filter = page.getByRole("searchbox", { name: "Filter the graph" });
  await filter.focus();
  await canvas.focus();
  await page.keyboard.press("ArrowRight");
  await page.keyboard.press("m");
  await page.getByRole("menuitem", { name: "Fold what is in it" }).click();
  await expect.poll(() => readDrawn(page)).toBe(before);
  // A filter that leaves fewer draws each of them.
  await filter.fill("b1-l2-r");
  await expect(page.getByText(/twins are drawn as/)).toHaveCount(0);
  await expect(foot).toContainText("hidden");
  // The service has no twin of that id, which the inspector says.
  expect(problems.filter((one) => !one.startsWith("Failed to load resource"))).toEqual([]);
});
