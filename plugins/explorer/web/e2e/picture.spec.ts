import { readFileSync } from "node:fs";

import type { Page } from "@playwright/test";

import { expect, open, test, watchConsole } from "./fixtures";
import { takeScreenshot } from "./screenshots";

const LEVEL = "MATCH (l {$dtId: 'b1-l0'})-[c:contains]->(r) RETURN l, c, r";

async function picture(page: Page, query: string): Promise<void> {
  await page.getByRole("textbox", { name: "Query", exact: true }).click();
  await page.keyboard.press("ControlOrMeta+a");
  await page.keyboard.insertText(query);
  await page.keyboard.press("Escape");
  await page.keyboard.press("ControlOrMeta+Enter");
  await page.getByRole("tab", { name: "Graph" }).click();
}

function foot(page: Page) {
  return page.locator(".picture-foot");
}

function canvas(page: Page) {
  return page.getByRole("application", { name: "Graph" });
}

/** The layout has come to its end. */
async function settle(page: Page): Promise<void> {
  await expect(page.getByRole("button", { name: "Lay out again" })).toBeVisible();
  await page.waitForTimeout(700);
}

test("twins alone come with the relationships between them", async ({ page, demo }) => {
  const problems = watchConsole(page);
  await open(page, demo, "own/query");
  await picture(page, "MATCH (r:Room) WHERE r.$dtId STARTS WITH 'b1-l0' RETURN r");
  await expect(foot(page)).toHaveText("17 twins, 16 relationships");
  const legend = page.getByRole("complementary", { name: "Legend" });
  await expect(legend.getByText("adjacentTo")).toBeVisible();
  await expect(legend.getByText("Office", { exact: true })).toBeVisible();
  expect(problems).toEqual([]);
});

test("the picture has the twins of the query, in light and dark", async ({ page, demo }) => {
  await page.setViewportSize({ width: 1440, height: 1000 });
  await open(page, demo, "own/query");
  await picture(page, "MATCH (a)-[r]->(b) WHERE a.$dtId STARTS WITH 'b1' RETURN a, r, b");
  await expect(foot(page)).toContainText("500 relationships");
  await settle(page);
  await takeScreenshot(page, "picture");
  await page.emulateMedia({ colorScheme: "dark" });
  await page.waitForTimeout(500);
  await takeScreenshot(page, "picture-dark");
});

test("a neighbourhood is expanded and collapsed by keys, and what is chosen is inspected", async ({
  page,
  demo,
}) => {
  await open(page, demo, "own/query");
  await picture(page, "MATCH (l {$dtId: 'b1-l0'}) RETURN l");
  await expect(foot(page)).toHaveText(/^1 twin, 0 relationships/);
  // The keys work once the drawing is there, which comes a moment after the numbers.
  await expect(async () => {
    await canvas(page).focus();
    await page.keyboard.press("ArrowRight");
    await expect(page.getByText("(b1-l0)")).toBeVisible({ timeout: 1000 });
  }).toPass();
  await page.keyboard.press("e");
  await expect(foot(page)).toHaveText(/^[2-9][0-9] twins, [2-9][0-9]+ relationships/);
  await page.keyboard.press("Enter");
  await expect(foot(page)).toContainText("1 chosen");
  await expect(page.getByRole("complementary", { name: /inspector/i })).toContainText("b1-l0");
  await canvas(page).focus();
  await page.keyboard.press("ArrowRight");
  await page.keyboard.press("m");
  const menu = page.getByRole("menu");
  await expect(menu.getByRole("menuitem", { name: /[←→] ?\w* \d/ }).first()).toBeVisible();
  await menu.getByRole("menuitem", { name: "Collapse" }).click();
  await expect(menu).toHaveCount(0);
});

test("what a filter or the legend excludes is hidden until all is shown", async ({
  page,
  demo,
}) => {
  await open(page, demo, "own/query");
  await picture(page, LEVEL);
  const all = /^(\d+) twins, (\d+) relationships/;
  await expect(foot(page)).toHaveText(all);
  const before = all.exec((await foot(page).innerText()).trim())?.[0] ?? "";
  await page.getByRole("searchbox", { name: "Filter the graph" }).fill("office area>10");
  await expect(foot(page)).toContainText("hidden");
  await expect(foot(page)).toContainText(", 0 relationships");
  await page.getByRole("button", { name: /^Show all \(/ }).click();
  await expect(foot(page)).toContainText(before);
  const filter = page.getByRole("searchbox", { name: "Filter the graph" });
  await filter.fill("aera > 10");
  await expect(filter).toHaveAccessibleDescription(
    "No twin here has a member aera. Did you mean area?",
  );
  await expect(foot(page)).toContainText(before);
  await filter.fill("");
  await expect(filter).toHaveAccessibleDescription(/^Words that/);
  const legend = page.getByRole("complementary", { name: "Legend" });
  await legend.getByText("contains").click();
  await expect(foot(page)).toContainText(", 0 relationships");
  await legend.getByRole("button", { name: "Only Level" }).focus();
  await page.keyboard.press("Enter");
  await expect(foot(page)).toContainText("1 twin,");
});

test("the menu of a twin in the list shows, relates and deletes it", async ({ page, demo }) => {
  await open(page, demo, "own/query");
  await picture(page, LEVEL);
  await settle(page);
  await page.getByRole("button", { name: "List", exact: true }).click();
  const row = page
    .getByRole("grid", { name: "Twins" })
    .getByRole("row")
    .filter({ hasText: "b1-l0-r01" });
  const menu = page.getByRole("menu");
  await row.click({ button: "right" });
  await menu.getByRole("menuitem", { name: "Show it in the inspector" }).click();
  await expect(
    page.getByRole("complementary", { name: "Inspector" }).getByText("b1-l0-r01").first(),
  ).toBeVisible();
  const dialog = page.getByRole("dialog");
  for (const [item, title] of [
    ["Relate it to …", "New relationship of b1-l0-r01"],
    ["Delete it …", "Delete b1-l0-r01?"],
  ] as const) {
    await row.click();
    await page.keyboard.press("Shift+F10");
    await menu.getByRole("menuitem", { name: item }).click();
    await expect(dialog.getByRole("heading", { name: title })).toBeVisible();
    await dialog.getByRole("button", { name: "Cancel" }).click();
    await expect(dialog).toHaveCount(0);
  }
});

test("a path between two twins is found in the whole graph", async ({ page, demo }) => {
  await open(page, demo, "own/query");
  await picture(page, "MATCH (r) WHERE r.$dtId IN ['b1-l0-r01', 'b2-l1-r02'] RETURN r");
  await expect(foot(page)).toHaveText(/^2 twins, 0 relationships/);
  await page.getByRole("button", { name: "List" }).click();
  const twins = page.getByRole("grid", { name: "Twins" });
  await twins.getByRole("row").filter({ hasText: "b1-l0-r01" }).click();
  await twins
    .getByRole("row")
    .filter({ hasText: "b2-l1-r02" })
    .click({ modifiers: ["ControlOrMeta"] });
  await expect(foot(page)).toContainText("2 chosen");
  await page.getByRole("button", { name: "Find path" }).click();
  await expect(foot(page)).toContainText("a path of 7 twins");
  await expect(page.getByRole("grid", { name: "Relationships" }).getByRole("row")).toHaveCount(7);
  await page.getByRole("button", { name: "List" }).click();
  await settle(page);
  // With the most buttons and an inspector beside it: one line each.
  for (const bar of [".picture-toolbar", ".inspector-toolbar"]) {
    expect((await page.locator(bar).boundingBox())?.height).toBeLessThan(46);
  }
  await expect(page.getByRole("button", { name: "List", exact: true })).toBeInViewport();
  await takeScreenshot(page, "picture-path");
  await page.getByRole("button", { name: "Clear path" }).click();
  await expect(foot(page)).not.toContainText("path");
});

test("the picture is saved as an image and as data", async ({ page, demo }) => {
  await open(page, demo, "own/query");
  await picture(page, LEVEL);
  await settle(page);
  const save = async (item: string): Promise<Buffer> => {
    await page.getByRole("button", { name: "Save picture" }).click();
    const coming = page.waitForEvent("download");
    await page.getByRole("menuitem", { name: item }).click();
    return readFileSync(await (await coming).path());
  };
  const image = await save("As an image (PNG)");
  expect(image.subarray(1, 4).toString()).toBe("PNG");
  // One colour alone would be far smaller than this.
  expect(image.length).toBeGreaterThan(8000);
  const data = JSON.parse((await save("Twins and places (JSON)")).toString()) as {
    nodes: { id: string; x: number | null }[];
    edges: object[];
  };
  expect(data.nodes.find((one) => one.id === "b1-l0")?.x).not.toBeNull();
  expect(data.edges.length).toBe(data.nodes.length - 1);
  // The places come back from the file, and a file of something else says so.
  const load = async (name: string, text: string): Promise<void> => {
    const chooser = page.waitForEvent("filechooser");
    await page.getByRole("button", { name: "Take the places of a picture saved as JSON" }).click();
    const file = { name, mimeType: "application/json", buffer: Buffer.from(text) };
    await (await chooser).setFiles(file);
  };
  const moved = data.nodes.map(({ id }, at) => ({ id, x: at, y: at % 3, pinned: at === 0 }));
  await load("mine.json", JSON.stringify({ nodes: moved }));
  await expect(page.getByText("18 twins stand where mine.json has them.")).toBeVisible();
  await settle(page);
  const again = JSON.parse((await save("Twins and places (JSON)")).toString()) as {
    nodes: object[];
  };
  expect(again.nodes).toEqual(moved.map((one) => expect.objectContaining(one) as object));
  await load("wrong.json", '{"nodes": [{"id": "b1-l0", "x": "far", "y": 0}]}');
  await expect(page.getByText('`x` has to be a number; it is "far".')).toBeVisible();
});

interface Spot {
  id: string;
  x: number;
  y: number;
}

test("each layout places the twins in its own way", async ({ page, demo }) => {
  await open(page, demo, "own/query");
  await picture(page, LEVEL);
  await expect(foot(page)).toHaveText(/^18 twins, 17 relationships/);
  const layOut = async (name: string): Promise<{ level: Spot; rooms: Spot[] }> => {
    await settle(page);
    await page.getByRole("button", { name: /Layout$/ }).click();
    await page.getByRole("option", { name: new RegExp(`^${name}`) }).click();
    await settle(page);
    await page.getByRole("button", { name: "Save picture" }).click();
    const coming = page.waitForEvent("download");
    await page.getByRole("menuitem", { name: "Twins and places (JSON)" }).click();
    const text = readFileSync(await (await coming).path(), "utf-8");
    const { nodes } = JSON.parse(text) as { nodes: Spot[] };
    const level = nodes.find((one) => one.id === "b1-l0");
    if (level === undefined) throw new Error("The level is not in the file.");
    return { level, rooms: nodes.filter((one) => one !== level) };
  };
  const apart = (one: Spot, other: Spot): number => Math.hypot(one.x - other.x, one.y - other.y);
  const count = (values: readonly number[]): number =>
    new Set(values.map((one) => Math.round(one * 100))).size;

  const layers = await layOut("Layers");
  expect(layers.rooms).toHaveLength(17);
  expect(layers.rooms.every((room) => room.y < layers.level.y)).toBe(true);
  const grid = await layOut("Grid");
  const cells = [grid.level, ...grid.rooms];
  expect([count(cells.map((one) => one.x)), count(cells.map((one) => one.y))]).toEqual([6, 3]);
  const circle = await layOut("Circle");
  const around = [circle.level, ...circle.rooms];
  const middle = {
    id: "",
    x: around.reduce((sum, one) => sum + one.x, 0) / around.length,
    y: around.reduce((sum, one) => sum + one.y, 0) / around.length,
  };
  expect(count(around.map((one) => apart(one, middle)))).toBe(1);
  const forces = await layOut("Forces");
  expect(count(forces.rooms.map((room) => room.x))).toBeGreaterThan(6);
});

test("rows without twins say so", async ({ page, demo }) => {
  await open(page, demo, "own/query");
  await picture(page, "MATCH (r:Room) RETURN r.area AS area LIMIT 3");
  await expect(page.getByText("The rows hold neither twins nor relationships")).toBeVisible();
});

test("what changes elsewhere changes in the picture, and what goes leaves it", async ({
  page,
  demo,
}) => {
  const write = async (path: string, method: string, body?: object): Promise<void> => {
    const answer = await fetch(`${demo.url}${path}`, {
      method,
      headers: { "Content-Type": "application/json" },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    if (!answer.ok) throw new Error(await answer.text());
  };
  const ids = ["picture-one", "picture-two"];
  const model = {
    $metadata: { $model: "dtmi:com:example:building:Room;1" },
    climate: { $metadata: {} },
  };
  for (const id of ids) await write(`/digitaltwins/${id}`, "PUT", { ...model, name: id });
  await open(page, demo, "own/query");
  await picture(page, "MATCH (r) WHERE r.$dtId STARTS WITH 'picture-' RETURN r");
  await expect(foot(page)).toHaveText("2 twins, 0 relationships");
  const link = "/digitaltwins/picture-one/relationships/next";
  await write(link, "PUT", { $relationshipName: "adjacentTo", $targetId: "picture-two" });
  await expect(foot(page)).toHaveText("2 twins, 1 relationship");
  await write(link, "DELETE");
  await expect(foot(page)).toHaveText("2 twins, 0 relationships");
  for (const id of ids) await write(`/digitaltwins/${id}`, "DELETE");
  await expect(foot(page)).toHaveCount(0);
});

test("on a phone the legend is closed until it is asked for", async ({ page, demo }) => {
  await page.setViewportSize({ width: 390, height: 844 });
  await open(page, demo, "own/query");
  await picture(page, LEVEL);
  await expect(canvas(page)).toBeVisible();
  const legend = page.getByRole("complementary", { name: "Legend" });
  await expect(legend).toHaveCount(0);
  await page.getByRole("button", { name: "Legend" }).click();
  await expect(legend.getByText("contains")).toBeVisible();
});

test.describe("by touch", () => {
  test.use({ viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true });

  test("a tap on a twin selects it, and two fingers zoom", async ({ page, demo }) => {
    const search = new URLSearchParams({
      query: "MATCH (l {$dtId: 'b1-l0'}) RETURN l",
      view: "graph",
    });
    await open(page, demo, `own/query?${search.toString()}`);
    await expect(foot(page)).toHaveText(/^1 twin, 0 relationships/);
    await settle(page);
    const box = await canvas(page).boundingBox();
    if (box === null) throw new Error("the graph has no place on the page");
    // One twin alone stands in the middle.
    const [x, y] = [box.x + box.width / 2, box.y + box.height / 2];
    await page.touchscreen.tap(x, y);
    const sheet = page.getByRole("dialog");
    await expect(sheet.getByRole("heading", { name: "b1-l0" })).toBeVisible();
    await sheet.getByRole("button", { name: "Close" }).tap();
    await expect(sheet).toHaveCount(0);
    const client = await page.context().newCDPSession(page);
    const touch = async (type: "touchStart" | "touchMove" | "touchEnd", apart: number | null) => {
      const touchPoints =
        apart === null
          ? []
          : [
              { x: x - 60 - apart, y: y + 60, id: 1 },
              { x: x - 60 + apart, y: y + 60, id: 2 },
            ];
      await client.send("Input.dispatchTouchEvent", { type, touchPoints });
    };
    const image = (): Promise<Buffer> => canvas(page).screenshot();
    const before = await image();
    await touch("touchStart", 10);
    for (let apart = 14; apart <= 42; apart += 4) await touch("touchMove", apart);
    await touch("touchEnd", null);
    await page.waitForTimeout(500);
    expect((await image()).equals(before)).toBe(false);
  });

  test("two fingers on a twin move the view and not the twin, which is selected as before", async ({
    page,
    demo,
  }) => {
    await open(page, demo, `own/query?${new URLSearchParams({ query: LEVEL, view: "graph" })}`);
    await settle(page);
    const box = await canvas(page).boundingBox();
    if (box === null) throw new Error("the graph has no place on the page");
    // The level stands amid what it contains.
    const [x, y] = [box.x + box.width / 2, box.y + box.height / 2];
    const select = async (): Promise<void> => {
      await page.touchscreen.tap(x, y);
      const sheet = page.getByRole("dialog");
      await expect(sheet.getByRole("heading", { name: "b1-l0" })).toBeVisible();
      await sheet.getByRole("button", { name: "Close" }).tap();
      await expect(sheet).toHaveCount(0);
    };
    await select();
    const client = await page.context().newCDPSession(page);
    for (let apart = 60; apart <= 100; apart += 8) {
      const type = apart === 60 ? "touchStart" : "touchMove";
      const touchPoints = [
        { x, y: y - apart + 60, id: 1 },
        { x, y: y + apart, id: 2 },
      ];
      await client.send("Input.dispatchTouchEvent", { type, touchPoints });
    }
    await client.send("Input.dispatchTouchEvent", { type: "touchEnd", touchPoints: [] });
    await page.getByRole("button", { name: "Show all of it" }).tap();
    await page.waitForTimeout(700);
    await select();
    await expect(page.getByRole("button", { name: /^Unpin all/ })).toHaveCount(0);
  });
});

test("a twin that was pinned stands where it stood after a reload, until all may move", async ({
  page,
  demo,
}) => {
  await open(page, demo, "own/query");
  await picture(page, LEVEL);
  await settle(page);
  await canvas(page).focus();
  await page.keyboard.press("ArrowRight");
  await page.keyboard.press("Enter");
  await page.getByRole("button", { name: "Pin the chosen twins" }).click();
  const data = async (): Promise<{ id: string; x: number; y: number; pinned: boolean }[]> => {
    await page.getByRole("button", { name: "Save picture" }).click();
    const coming = page.waitForEvent("download");
    await page.getByRole("menuitem", { name: "Twins and places (JSON)" }).click();
    const text = readFileSync(await (await coming).path(), "utf8");
    return (JSON.parse(text) as { nodes: Awaited<ReturnType<typeof data>> }).nodes;
  };
  const before = (await data()).filter((one) => one.pinned);
  expect(before).toHaveLength(1);
  await page.reload();
  await page.getByRole("button", { name: /^Run/ }).click();
  await page.getByRole("tab", { name: "Graph" }).click();
  await settle(page);
  expect((await data()).filter((one) => one.pinned)).toEqual(before);
  await canvas(page).focus();
  await page.keyboard.press("Escape");
  await page.getByRole("button", { name: "Unpin all (1)" }).click();
  expect((await data()).filter((one) => one.pinned)).toEqual([]);
});
