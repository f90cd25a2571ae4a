import type { Page } from "@playwright/test";

import { expect, open, test, watchConsole, writeQuery } from "./fixtures";
import { takeScreenshot } from "./screenshots";

async function ask(page: Page, query: string): Promise<void> {
  await writeQuery(page, query);
  await page.keyboard.press("ControlOrMeta+Enter");
}

function foot(page: Page) {
  return page.locator(".picture-foot");
}

function canvas(page: Page) {
  return page.getByRole("application", { name: "Graph" });
}

/** Press a key at the first twin of the picture, once the drawing is there. */
async function pressAtFirst(page: Page, key: string): Promise<void> {
  await expect(async () => {
    await canvas(page).focus();
    await page.keyboard.press("ArrowRight");
    await expect(page.locator(".picture-told")).not.toBeEmpty({ timeout: 1000 });
  }).toPass();
  await page.keyboard.press(key);
}

test("a picture made by steps has an address, which a reload and the way back show again", async ({
  page,
  demo,
}) => {
  const problems = watchConsole(page);
  await page.setViewportSize({ width: 1440, height: 900 });
  await open(page, demo, "~own/query");
  await ask(page, "MATCH (c {$dtId: 'b1-chiller'}) RETURN c");
  await page.getByRole("tab", { name: "Graph" }).click();
  await expect(foot(page)).toHaveText(/^1 twin, 0 relationships/);
  await pressAtFirst(page, "m");
  await page.getByRole("menuitem", { name: "Expand by steps …" }).click();
  const dialog = page.getByRole("dialog", { name: "Expand Chiller 1" });
  await dialog.getByLabel("Steps").selectOption("2");
  await dialog.getByLabel("Direction").selectOption("Outgoing");
  const names = dialog.getByRole("group", { name: "Relationships" });
  await names.getByRole("checkbox", { name: "feeds", exact: true }).check({ force: true });
  // The chiller has none of these, but what it feeds may: models declare them.
  await names.getByRole("checkbox", { name: "adjacentTo" }).check({ force: true });
  await expect(names).toContainText("2 chosen");
  await dialog.getByRole("button", { name: "Expand" }).click();
  // Its six units, and the seventeen terminals of each.
  const reached = /^109 twins, 108 relationships/;
  await expect(foot(page)).toHaveText(reached);
  await expect(page).toHaveURL(/with=b1-l0-ahu/);
  await page.reload();
  await expect(foot(page)).toHaveText(reached);
  await ask(page, "MATCH (s:Site) RETURN s");
  await expect(foot(page)).toHaveText(/^1 twin, 0 relationships/);
  await expect(page).not.toHaveURL(/with=/);
  await page.goBack();
  await expect(foot(page)).toHaveText(reached);
  expect(problems).toEqual([]);
});

test("a link has what one sees: the picture, or the workspace, and says what is not in it", async ({
  page,
  demo,
  context,
}) => {
  await context.grantPermissions(["clipboard-read", "clipboard-write"]);
  await page.setViewportSize({ width: 1440, height: 900 });
  await open(page, demo, "~own/query");
  await ask(page, "MATCH (l {$dtId: 'b1-l0'}) RETURN l");
  await page.getByRole("tab", { name: "Graph" }).click();
  await expect(foot(page)).toHaveText(/^1 twin, /);
  await pressAtFirst(page, "m");
  await page.getByRole("menuitem", { name: "Expand by steps …" }).click();
  const dialog = page.getByRole("dialog", { name: /^Expand / });
  await dialog.getByLabel("Steps").selectOption("1");
  await dialog.getByRole("checkbox", { name: "contains" }).check({ force: true });
  await dialog.getByRole("button", { name: "Expand" }).click();
  const seen = /^19 twins, /;
  await expect(foot(page)).toHaveText(seen);
  // Another view forgets the address of the picture, not the picture.
  const views = page.getByRole("navigation", { name: "Views" });
  await views.getByRole("link", { name: "Chart" }).click();
  await views.getByRole("link", { name: "Query" }).click();
  await expect(foot(page)).toHaveText(seen);
  const copy = async (said: string): Promise<string> => {
    await page.getByRole("button", { name: "Copy link" }).click();
    await expect(page.getByText(said)).toBeVisible();
    return page.evaluate(() => navigator.clipboard.readText());
  };
  const other = await context.newPage();
  await other.goto(await copy("The link to this picture is copied."));
  await expect(foot(other)).toHaveText(seen);
  await page.getByRole("searchbox", { name: "Filter the graph" }).fill("meeting");
  await expect(foot(page)).toContainText("hidden");
  await copy("Keep the picture as a workspace to hand on all of it.");
  await page.getByRole("button", { name: /^Workspace/ }).click();
  await page.getByRole("menuitem", { name: "Save as …" }).click();
  const save = page.getByRole("dialog");
  await save.getByRole("textbox").fill("Meetings");
  await save.getByRole("button", { name: "Save" }).click();
  await expect(page).toHaveURL(/workspace=meetings/);
  const link = await copy("The link to the workspace «Meetings» is copied.");
  expect(new URL(link).search).toBe("?workspace=meetings");
});

test("a query is laid over the picture, and a filter highlights", async ({ page, demo }) => {
  await page.setViewportSize({ width: 1440, height: 900 });
  await open(page, demo, "~own/query");
  await ask(page, "MATCH (l {$dtId: 'b1-l0'})-[c:contains]->(r) RETURN l, c, r");
  await page.getByRole("tab", { name: "Graph" }).click();
  await expect(foot(page)).toHaveText(/^18 twins, 17 relationships/);
  await page.getByRole("button", { name: "Overlay", exact: true }).click();
  await ask(
    page,
    "MATCH (r:Office) WHERE r.$dtId STARTS WITH 'b1-l0' OR r.$dtId = 'b2-l0-r02' RETURN r",
  );
  await expect(foot(page)).toContainText("18 twins, 17 relationships, 13 highlighted");
  await page.waitForTimeout(800);
  await takeScreenshot(page, "overlay");
  await page.getByRole("button", { name: "Add 1 twin of the query that is not" }).click();
  await expect(foot(page)).toContainText("19 twins");
  await page.getByRole("button", { name: "Overlay", exact: true }).click();
  await expect(foot(page)).not.toContainText("highlighted");
  await page.getByRole("button", { name: "Highlight", exact: true }).click();
  await page.getByRole("searchbox", { name: "Filter the graph" }).fill("meeting");
  await expect(foot(page)).toContainText("19 twins");
  await expect(foot(page)).toContainText("3 highlighted");
});

test("the picture has the room of an empty inspector, and the whole window by a key", async ({
  page,
  demo,
}) => {
  await page.setViewportSize({ width: 1440, height: 900 });
  await open(page, demo, "~own/query");
  await ask(page, "MATCH (l {$dtId: 'b1-l0'})-[c:contains]->(r) RETURN l, c, r");
  await page.getByRole("tab", { name: "Graph" }).click();
  await expect(page.getByRole("complementary", { name: "Inspector" })).toHaveCount(0);
  const share = async (): Promise<number> => {
    const box = await canvas(page).boundingBox();
    return ((box?.width ?? 0) * (box?.height ?? 0)) / (1440 * 900);
  };
  await expect.poll(share).toBeGreaterThan(0.4); // beside the tree of locations
  await pressAtFirst(page, "f");
  await expect.poll(share).toBeGreaterThan(0.75);
  await page.waitForTimeout(500);
  await takeScreenshot(page, "picture-whole");
  await page.getByRole("button", { name: "Leave the whole window (F)" }).click();
  await expect.poll(share).toBeLessThan(0.75);
  await pressAtFirst(page, "Enter");
  await expect(page.getByRole("complementary", { name: "Inspector" })).toContainText("b1-l0");
});
