import type { Page } from "@playwright/test";

import { expect, open, test } from "./fixtures";
import { inspector } from "./inspecting";
import type { Service } from "./processes";

function foot(page: Page) {
  return page.locator(".picture-foot");
}

/** Open a query as a graph; where on the page is the middle of it, once it stands still? */
async function openGraph(page: Page, demo: Service, query: string): Promise<[number, number]> {
  await open(page, demo, `~own/query?${new URLSearchParams({ query, view: "graph" }).toString()}`);
  await expect(page.getByRole("button", { name: "Lay out again" })).toBeVisible();
  await page.waitForTimeout(700);
  const box = await page.getByRole("application", { name: "Graph" }).boundingBox();
  if (box === null) throw new Error("the graph has no place on the page");
  return [box.x + box.width / 2, box.y + box.height / 2];
}

// One twin alone stands in the middle, which moves when the inspector opens.
const LEVEL = "MATCH (l {$dtId: 'b1-l0'}) RETURN l";
const EXPANDED = /^[2-9][0-9] twins, .* 1 chosen/;

// The time between clicks is that of the page's clock, however long they take here.
test.beforeEach(({ page }) => page.clock.install());

async function stopClock(page: Page): Promise<void> {
  await page.clock.pauseAt(await page.evaluate(() => Date.now() + 1000));
}

test.describe("with the inspector closed", () => {
  for (const [pace, pause] of [
    ["fast", 60],
    ["slow", 400],
  ] as const) {
    test(`a ${pace} double click on a twin brings its neighbours, and then opens the inspector`, async ({
      page,
      demo,
    }) => {
      const [x, y] = await openGraph(page, demo, LEVEL);
      await stopClock(page);
      await page.mouse.click(x, y);
      await expect(foot(page)).toContainText("1 chosen");
      await page.clock.runFor(pause);
      await expect(inspector(page)).toHaveCount(0);
      await page.mouse.click(x, y);
      await page.clock.resume();
      await expect(foot(page)).toHaveText(EXPANDED);
      await expect(inspector(page).getByRole("heading", { name: "b1-l0" })).toBeVisible();
    });
  }

  test("clicks in a row on a twin and elsewhere are no double click", async ({ page, demo }) => {
    const [x, y] = await openGraph(page, demo, LEVEL);
    await stopClock(page);
    await page.mouse.click(x, y + 150);
    await page.mouse.click(x, y);
    await expect(foot(page)).toHaveText(/^1 twin, 0 relationships, 1 chosen/);
    await page.mouse.click(x, y + 150);
    await page.clock.resume();
    await expect(foot(page)).toHaveText(/^1 twin, 0 relationships(?!, 1 chosen)/);
    await expect(inspector(page)).toHaveCount(0);
  });
});

// The middle of the only relationship is the middle of the picture, whichever way it leads.
const CONTAINS = "MATCH (l {$dtId: 'b1-l0'})-[c:contains]->(r {$dtId: 'b1-l0-r01'}) RETURN l, c, r";

test("a relationship is hit some pixels beside it, and has a menu", async ({ page, demo }) => {
  const [middleX, middleY] = await openGraph(page, demo, CONTAINS);
  const [x, y] = [middleX + 4, middleY + 4];
  const menu = page.getByRole("menu");
  const graph = page.getByRole("application", { name: "Graph" });
  const pressMenu = async (item: string): Promise<void> => {
    await page.mouse.click(x, y, { button: "right" });
    await menu.getByRole("menuitem", { name: item }).click();
    await expect(menu).toHaveCount(0);
  };
  await page.mouse.move(x, y);
  await expect(graph).toHaveCSS("cursor", "pointer");
  // At least at one of these the pointer is far beside it.
  const cursors: string[] = [];
  for (const [right, down] of [
    [60, 0],
    [0, 60],
  ] as const) {
    await page.mouse.move(middleX + right, middleY + down);
    cursors.push(await graph.evaluate((element) => getComputedStyle(element).cursor));
  }
  expect(cursors).toContain("auto");
  await pressMenu("Hide all contains");
  await expect(foot(page)).toHaveText(/^2 twins, 0 relationships/);
  await page.getByRole("button", { name: /^Show all \(/ }).click();
  await expect(foot(page)).toHaveText(/^2 twins, 1 relationship/);
  await pressMenu("Delete it …");
  const dialog = page.getByRole("alertdialog");
  await expect(dialog.getByText("b1-l0 and b1-l0-r01 stay.")).toBeVisible();
  await dialog.getByRole("button", { name: "Cancel" }).click();
  await pressMenu("Take it out of the picture");
  await expect(foot(page)).toHaveText(/^2 twins, 0 relationships/);
});

test("a click some pixels beside a relationship shows it, and its list has the menu too", async ({
  page,
  demo,
}) => {
  const [x, y] = await openGraph(page, demo, CONTAINS);
  await page.mouse.click(x + 4, y + 4);
  await expect(inspector(page).getByRole("heading", { name: "contains" })).toBeVisible();
  await page.getByRole("button", { name: "List", exact: true }).click();
  const relationships = page.getByRole("grid", { name: "Relationships" });
  await relationships.getByRole("row").filter({ hasText: "contains" }).click({ button: "right" });
  await page.getByRole("menuitem", { name: "Take it out of the picture" }).click();
  await expect(foot(page)).toHaveText(/^2 twins, 0 relationships/);
});

test.describe("by touch", () => {
  test.use({ viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true });

  test("a double tap on a twin brings its neighbours", async ({ page, demo }) => {
    const [x, y] = await openGraph(page, demo, LEVEL);
    await stopClock(page);
    await page.touchscreen.tap(x, y);
    await page.touchscreen.tap(x, y);
    await page.clock.resume();
    await expect(foot(page)).toHaveText(EXPANDED);
  });
});
