import type { Locator, Page } from "@playwright/test";
import { join } from "node:path";

import { expect, open, startService, test } from "./fixtures";
import type { Service } from "./processes";
import { takeScreenshot } from "./screenshots";

test.describe("a relationship is drawn", () => {
  let service: Service;

  test.beforeEach(async ({ folder }, { testId }) => {
    service = await startService(join(folder, testId));
  });
  test.afterEach(async () => {
    await service.stop();
    expect(service.failures()).toBe("");
  });

  /** The picture of two twins. */
  async function picture(page: Page, one: string, other: string): Promise<Locator> {
    const query = `MATCH (t) WHERE t.$dtId IN ['${one}', '${other}'] RETURN t`;
    const search = new URLSearchParams({ query, view: "graph" });
    await open(page, service, `own/query?${search.toString()}`);
    await expect(page.getByText("2 twins, 0 relationships")).toBeVisible();
    // While a layout runs, its button stops it.
    await expect(page.getByRole("button", { name: "Lay out again" })).toBeVisible();
    return page.getByRole("application", { name: "Graph" });
  }

  /** Where a twin is on the screen: where its menu comes up. */
  async function find(page: Page, graph: Locator, id: string) {
    await graph.focus();
    for (const arrow of ["ArrowRight", "ArrowRight", "ArrowLeft", "ArrowDown", "ArrowUp"]) {
      if (await page.getByText(`(${id}), `).isVisible()) break;
      await page.keyboard.press(arrow);
      // What an arrow leads to is told with the next frame, if it leads anywhere.
      await page.evaluate(() => new Promise((done) => setTimeout(done, 100)));
    }
    await expect(page.getByText(`(${id}), `)).toBeVisible();
    await page.keyboard.press("m");
    await expect(page.getByRole("menu")).toBeVisible();
    const box = await page.locator(".picture-anchor").first().boundingBox();
    await page.keyboard.press("Escape");
    await expect(page.getByRole("menu")).toHaveCount(0);
    if (box === null) throw new Error(`${id} is not to be seen`);
    return box;
  }

  async function drag(page: Page, graph: Locator, source: string, target: string, key?: string) {
    const from = await find(page, graph, source);
    const to = await find(page, graph, target);
    if (key !== undefined) await page.keyboard.down(key);
    await page.mouse.move(from.x, from.y);
    await page.mouse.down();
    await page.mouse.move((from.x + to.x) / 2, (from.y + to.y) / 2, { steps: 4 });
    await page.mouse.move(to.x, to.y, { steps: 4 });
  }

  test("from one twin to another, where their models allow it", async ({ page }) => {
    const graph = await picture(page, "b1-l0-r02", "b1-l0-r09");
    await page.getByRole("button", { name: "Draw" }).click();
    await drag(page, graph, "b1-l0-r02", "b1-l0-r09");
    await expect(page.getByText(/^(adjacentTo, contains|contains, adjacentTo) to/)).toBeVisible();
    await takeScreenshot(page, "draw-relationship");
    await page.mouse.up();
    const dialog = page.getByRole("dialog");
    await expect(dialog.getByRole("heading")).toHaveText("New relationship of b1-l0-r02");
    await expect(dialog.getByText("To b1-l0-r09")).toBeVisible();
    await dialog.getByRole("button", { name: "Create" }).click();
    await expect(page.getByText(/^2 twins, 1 relationship\b/)).toBeVisible();
    const stored = await fetch(`${service.url}/digitaltwins/b1-l0-r02/relationships`);
    const { value } = (await stored.json()) as { value: Record<string, string>[] };
    expect(value.map((one) => one["$targetId"])).toContain("b1-l0-r09");
  });

  test("but not where they do not", async ({ page }) => {
    const graph = await picture(page, "b1-l0", "b1-l0-r02-t");
    await drag(page, graph, "b1-l0", "b1-l0-r02-t", "Alt");
    const words = "no relationship from Level to Temperature sensor";
    await expect(page.getByText(`The models allow ${words}.`)).toBeVisible();
    await page.mouse.up();
    await page.keyboard.up("Alt");
    const dialog = page.getByRole("dialog");
    await expect(dialog.getByText(`The model allows ${words}.`)).toBeVisible();
    await expect(dialog.getByRole("button", { name: "Create" })).toBeDisabled();
  });
});
