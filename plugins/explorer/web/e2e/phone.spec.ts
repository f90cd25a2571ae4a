import type { Locator, Page } from "@playwright/test";

import { join } from "node:path";

import { expect, open, signIn, startService, test, writeQuery } from "./fixtures";
import { ROOM } from "./inspecting";
import { takeScreenshot } from "./screenshots";

test.use({ viewport: { width: 390, height: 844 }, hasTouch: true });

/** How many pixels of the page lie beside the screen. */
function overflowOf(page: Page): Promise<number> {
  return page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
}

/** Open what the bar at the bottom has no room for. */
async function openMore(page: Page): Promise<Locator> {
  await page.getByRole("banner").getByRole("button", { name: /^More/ }).tap();
  return page.getByRole("dialog", { name: "More" });
}

test("on a phone the bar has what is used most, and the rest is behind More", async ({
  page,
  demo,
}) => {
  await open(page, demo, "~own/models");
  const bar = page.getByRole("navigation", { name: "Views" });
  const box = await bar.boundingBox();
  expect((box?.y ?? 0) + (box?.height ?? 0)).toBeGreaterThan(835);
  expect(await bar.getByRole("link").count()).toBeLessThanOrEqual(4);
  for (const item of await bar.locator(".rail-item").all()) {
    const place = await item.boundingBox();
    expect(place?.width).toBeGreaterThan(60);
    expect((place?.x ?? 0) + (place?.width ?? 0)).toBeLessThanOrEqual(390);
  }
  await expect(bar.getByRole("button", { name: "More. Now: Models" })).toBeVisible();
  const more = await openMore(page);
  await expect(more.getByRole("link", { name: "Models" })).toHaveAttribute("aria-current", "page");
  for (const one of await more.locator(".rail-item").all()) await expect(one).toBeInViewport();
  await takeScreenshot(page, "phone-more");
  await page.keyboard.press("Escape");
  await expect(bar.getByRole("button", { name: /^More/ })).toBeFocused();
  await bar.getByRole("link", { name: "Query" }).tap();
  await expect(page.getByRole("button", { name: /^Run/ })).toBeVisible();
});

test("on a phone the views stack, nothing lies beside the screen, all is reached", async ({
  page,
  demo,
}) => {
  await open(page, demo);
  await expect(page.getByRole("button", { name: /^Run/ })).toBeVisible();
  expect(await overflowOf(page)).toBeLessThanOrEqual(0);
  await openMore(page).then((more) => more.getByRole("link", { name: "Models" }).tap());
  await expect(page.getByRole("treegrid").getByRole("row").first()).toBeVisible();
  expect(await overflowOf(page)).toBeLessThanOrEqual(0);
  await openMore(page).then((more) => more.getByRole("button", { name: "Appearance" }).tap());
  await expect(page.getByRole("menuitemradio", { name: "Dark" })).toBeInViewport();
});

test("on a phone the models stay as wide as the screen, and all that is done with them is on it", async ({
  page,
  demo,
}) => {
  await open(page, demo, "~own/models?id=dtmi:com:example:building:Room;1");
  const tree = page.getByRole("treegrid", { name: "Models by inheritance" });
  await expect(tree.getByRole("row", { name: "Room", exact: true })).toContainText("408");
  const widthOf = (): Promise<number> =>
    page.locator(".models").evaluate((view) => Math.max(view.scrollWidth, view.clientWidth));
  // It grew with every frame that was drawn: as many as one would see it do.
  await page.evaluate(async () => {
    for (let frame = 0; frame < 60; frame++) await new Promise(requestAnimationFrame);
  });
  expect(await widthOf()).toBeLessThanOrEqual(390);
  const names = ["Upload", "More for all models", "Decommission", "Delete", "New twin"];
  for (const what of [
    ...names.map((name) => page.getByRole("main").getByRole("button", { name, exact: true })),
    page.getByRole("link", { name: /^Query its twins/ }),
    page.getByText("20 models, 1,978 twins"),
  ]) {
    await what.scrollIntoViewIfNeeded();
    const box = await what.boundingBox();
    expect(box?.x).toBeGreaterThanOrEqual(0);
    expect((box?.x ?? 0) + (box?.width ?? 0)).toBeLessThanOrEqual(390);
  }
});

test("on a phone the graph of the models leaves room to search, and is seen beside one of them", async ({
  page,
  demo,
}) => {
  await open(page, demo, "~own/models");
  await page.getByRole("radio", { name: "Graph" }).tap();
  const graph = page.getByRole("application", { name: "Graph of the models" });
  await expect(graph).toBeVisible();
  const widthOf = async (): Promise<number> =>
    (await page.getByRole("searchbox", { name: "Search models" }).boundingBox())?.width ?? 0;
  await expect.poll(widthOf).toBeGreaterThan(140);
  await page.getByRole("searchbox", { name: "Search models" }).fill("chiller");
  await expect(page.getByText("1 of 20 models")).toBeVisible();
  await open(page, demo, "~own/models?id=dtmi:com:example:building:Room;1");
  await page.getByRole("radio", { name: "Graph" }).tap();
  await expect(page.getByRole("article", { name: "Room" })).toBeVisible();
  const heightOf = async (): Promise<number> => (await graph.boundingBox())?.height ?? 0;
  await expect.poll(heightOf).toBeGreaterThan(240);
  expect(await overflowOf(page)).toBeLessThanOrEqual(0);
});

test("on a phone what is selected is a sheet that closes again", async ({ page, demo }) => {
  await open(page, demo);
  await writeQuery(page, "MATCH (b:Building) RETURN b LIMIT 1");
  await page.getByRole("button", { name: /^Run/ }).tap();
  await page.getByRole("gridcell").getByRole("button", { name: "North Wing", exact: true }).tap();
  const sheet = page.getByRole("dialog", { name: "What is selected" });
  await expect(sheet).toBeVisible();
  expect(await overflowOf(page)).toBeLessThanOrEqual(0);
  await sheet.getByRole("button", { name: "Close" }).tap();
  await expect(sheet).toBeHidden();
});

test("on a phone a sheet gives way to what its links lead to, and can be closed wherever it is", async ({
  page,
  demo,
}) => {
  await open(page, demo, "~own/query?twin=b1");
  const sheet = page.getByRole("dialog", { name: "What is selected" });
  await sheet.getByText("What is in it").tap();
  await sheet.getByRole("link", { name: "Office 78" }).tap();
  await expect(sheet).toHaveCount(0);
  await expect(page.getByRole("status").getByText("78 rows")).toBeVisible();
  const cells = page.getByRole("gridcell");
  await cells
    .getByRole("button", { name: /^Office/ })
    .first()
    .tap();
  await sheet.locator(".frame-inspector").evaluate((one) => one.scrollTo(0, 600));
  await expect(sheet.getByRole("button", { name: "Close" })).toBeInViewport({ ratio: 1 });
  await sheet.getByRole("button", { name: "Close" }).tap();
  await expect(sheet).toHaveCount(0);
});

test("on a phone what needs attention comes first, and a twin is found with its place", async ({
  page,
  demo,
}) => {
  await open(page, demo, "~own");
  const first = await page.getByRole("region", { name: "Needs attention" }).boundingBox();
  const models = await page.getByRole("region", { name: "Models" }).boundingBox();
  expect(first?.y).toBeLessThan(models?.y ?? 0);
  await open(page, demo, "~own/query?twin=b1");
  await page.getByRole("combobox", { name: "Find a twin" }).fill("office 2.11");
  const found = page.getByRole("option").filter({ hasText: "b1-l2-r11" });
  await expect(found).toContainText("Office 2.11 · Level 2 · North Wing");
});

test("on a phone a twin is found with nothing selected, and the sheet goes by Escape or beside it", async ({
  page,
  demo,
}) => {
  await open(page, demo);
  // What one does with a query is in one line.
  const tools = await page.getByRole("toolbar", { name: "Query" }).boundingBox();
  expect(tools?.height).toBeLessThan(60);
  const find = page.getByRole("button", { name: "Find a twin" });
  await find.tap();
  const field = page.getByRole("combobox", { name: "Find a twin" });
  await expect(field).toBeFocused();
  await expect(page.locator(".frame")).toHaveAttribute("inert"); // what is below is out of reach
  await page.keyboard.press("Escape");
  await expect(page.getByRole("dialog")).toHaveCount(0);
  await expect(find).toBeFocused();
  await find.tap();
  await field.fill("b1-l0-r0");
  await page.getByRole("option", { name: ROOM, exact: true }).tap();
  const sheet = page.getByRole("dialog", { name: "What is selected" });
  await expect(sheet.getByRole("heading", { name: ROOM })).toBeVisible();
  expect(await overflowOf(page)).toBeLessThanOrEqual(0);
  await page.touchscreen.tap(195, 40);
  await expect(sheet).toBeHidden();
  await openMore(page).then((more) => more.getByRole("link", { name: "Models" }).tap());
  await expect(page.getByRole("treegrid")).toBeVisible();
});

test("on a phone results are read as table, JSON and plan, and fill what is left", async ({
  page,
  demo,
}) => {
  await open(page, demo);
  await writeQuery(
    page,
    "MATCH (l:Level)-[:contains]->(r:Room) RETURN l, r, r.area AS area LIMIT 60",
  );
  await page.getByRole("button", { name: /^Run/ }).tap();
  await expect(page.getByText("60 rows")).toBeVisible();
  expect(await overflowOf(page)).toBeLessThanOrEqual(0);
  const table = page.locator(".results-scroll");
  const height = async (): Promise<number> => (await table.boundingBox())?.height ?? 0;
  expect(await height()).toBeGreaterThan(300);
  await takeScreenshot(page, "phone");
  await page.getByRole("tab", { name: "JSON" }).tap();
  await expect(page.getByLabel("Rows as JSON")).toContainText('"$dtId"');
  expect(await overflowOf(page)).toBeLessThanOrEqual(0);
  await page.getByRole("button", { name: "Explain" }).tap();
  await expect(page.getByRole("img", { name: /Plan of \d+ operators/ })).toBeVisible();
  expect(await overflowOf(page)).toBeLessThanOrEqual(0);
});

test("on a phone a twin is made with nothing selected, edited in the sheet, and every tab fits", async ({
  page,
  folder,
}, { testId }) => {
  const service = await startService(join(folder, testId));
  try {
    await open(page, service);
    await page.getByRole("button", { name: "New twin" }).tap();
    const form = page.getByRole("dialog", { name: "New twin" });
    await form.getByRole("combobox", { name: "Model" }).fill("Meeting");
    await page.getByRole("option", { name: /^Meeting room/ }).tap();
    await form.getByRole("textbox", { name: "Id", exact: true }).fill("attic");
    expect(await overflowOf(page)).toBeLessThanOrEqual(0);
    await form.getByRole("button", { name: "Create" }).tap();
    const sheet = page.getByRole("dialog", { name: "What is selected" });
    await expect(sheet.getByRole("heading", { name: "attic" })).toBeVisible();
    await sheet.getByRole("textbox", { name: "name", exact: true }).fill("The attic");
    await sheet.getByRole("button", { name: "Save", exact: true }).tap();
    await expect(sheet.getByRole("button", { name: "Save", exact: true })).toHaveCount(0);
    await takeScreenshot(page, "phone-inspector");
    for (const name of ["Relationships", "Telemetry", "JSON"]) {
      await sheet.getByRole("tab", { name }).tap();
      await expect(sheet.getByRole("tabpanel", { name })).toBeVisible();
      expect(await overflowOf(page)).toBeLessThanOrEqual(0);
    }
    const stored = await fetch(`${service.url}/digitaltwins/attic`);
    expect(await stored.json()).toMatchObject({ name: "The attic" });
  } finally {
    await service.stop();
  }
});

test("on a phone one signs in and sees the control plane", async ({ page, hosted }) => {
  await page.goto(`${hosted.service.url}/explorer/~own/control`);
  expect(await overflowOf(page)).toBeLessThanOrEqual(0);
  await signIn(page, "Ada Lovelace");
  await expect(page.getByRole("treegrid")).toBeVisible();
  expect(await overflowOf(page)).toBeLessThanOrEqual(0);
});
