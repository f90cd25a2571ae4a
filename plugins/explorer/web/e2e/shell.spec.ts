import type { Locator } from "@playwright/test";

import { expect, open, test, watchConsole } from "./fixtures";
import { inspector, ROOM, selectTwin } from "./inspecting";

test("the explorer opens at the overview, without an error and within its content policy", async ({
  page,
  demo,
}) => {
  const problems = watchConsole(page);
  await page.goto(demo.url);
  await expect(page).toHaveURL(`${demo.url}/explorer/~own/overview`);
  const start = page.getByRole("link", { name: "Overview", exact: true });
  await expect(start).toHaveAttribute("aria-current", "page");
  await page.getByRole("link", { name: "Models", exact: true }).click();
  await expect(page).toHaveURL(`${demo.url}/explorer/~own/models`);
  await expect(page).toHaveTitle(/^Models/);
  expect(problems).toEqual([]);
});

test("the page's policy allows nothing inline and nothing from elsewhere", async ({ demo }) => {
  const answer = await fetch(`${demo.url}/explorer/`);
  const policy = answer.headers.get("content-security-policy") ?? "";
  expect(policy).toContain("default-src 'none'");
  expect(policy).toContain("script-src 'self'");
  expect(policy).not.toContain("unsafe");
  const text = await answer.text();
  expect(text).not.toMatch(/<script(?![^>]*\bsrc=)/);
  expect(text).not.toMatch(/<style|\sstyle=/);
  expect(text).not.toMatch(/(src|href)="https?:/);
});

test("a view that is not there leads to the overview, and back goes back", async ({
  page,
  demo,
}) => {
  await open(page, demo, "~own/models");
  await page.goto(`${demo.url}/explorer/~own/nothing`);
  await expect(page).toHaveURL(`${demo.url}/explorer/~own/overview`);
  await page.goBack();
  await expect(page).toHaveURL(`${demo.url}/explorer/~own/models`);
});

test("a deep link opens what it says, and so does a reload", async ({ page, demo }) => {
  await open(page, demo, "~own/models");
  await expect(page.getByRole("main", { name: "Models" })).toBeVisible();
  await page.reload();
  await expect(page.getByRole("main", { name: "Models" })).toBeVisible();
  await expect(page).toHaveURL(`${demo.url}/explorer/~own/models`);
});

test("below the base path of the API the page works as well, and stays there", async ({
  page,
  demo,
}) => {
  const problems = watchConsole(page);
  const asked: string[] = [];
  page.on("request", (request) => asked.push(new URL(request.url()).pathname));
  await page.goto(`${demo.url}/api/explorer/~own/models`);
  await expect(page.getByRole("main", { name: "Models" })).toBeVisible();
  await page.getByRole("link", { name: "Query" }).click();
  await expect(page).toHaveURL(`${demo.url}/api/explorer/~own/query`);
  await page.reload();
  await expect(page.getByRole("main", { name: "Query" })).toBeVisible();
  expect(asked.filter((path) => !path.startsWith("/api/"))).toEqual([]);
  expect(problems).toEqual([]);
});

test("the control plane is offered only where there is one", async ({ page, demo }) => {
  await open(page, demo);
  await expect(page.getByRole("link", { name: "Control plane" })).toHaveCount(0);
  await expect(page.getByRole("button", { name: /^Signed in as/ })).toHaveCount(0);
});

test("a graph that is not there is told, and the way back is offered", async ({ page, demo }) => {
  await page.goto(`${demo.url}/explorer/nowhere/query`);
  await expect(page.getByRole("alert")).toContainText("There is no graph nowhere");
  await page.getByRole("button", { name: "Open the service's own graph" }).click();
  await expect(page).toHaveURL(`${demo.url}/explorer/~own/overview`);
});

test("the theme that was chosen is worn at once after a reload", async ({ page, demo }) => {
  await open(page, demo);
  const ground = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  expect(await ground()).toBe("rgb(255, 255, 255)");
  await page.getByRole("button", { name: "Appearance" }).click();
  await page.getByRole("menuitemradio", { name: "Dark" }).click();
  await expect.poll(ground).toBe("rgb(13, 17, 23)");
  await page.reload();
  await expect(page.getByRole("navigation", { name: "Views" })).toBeVisible();
  expect(await ground()).toBe("rgb(13, 17, 23)");
});

test("the inspector can be hidden, stays hidden, and comes back", async ({ page, demo }) => {
  await open(page, demo);
  const edge = page.getByRole("separator", { name: "Width of the inspector" });
  await page.getByRole("button", { name: "Hide the inspector" }).click();
  await expect(edge).toHaveCount(0);
  await page.reload();
  await page.getByRole("button", { name: "Show the inspector" }).click();
  await expect(edge).toBeVisible();
});

test("the width of the inspector is set by keyboard and remembered", async ({ page, demo }) => {
  await open(page, demo);
  const edge = page.getByRole("separator", { name: "Width of the inspector" });
  const place = async (): Promise<number> => (await edge.boundingBox())?.x ?? 0;
  const before = await place();
  await edge.focus();
  await page.keyboard.press("ArrowLeft");
  await expect.poll(place).toBeLessThan(before - 20);
  const after = await place();
  await page.reload();
  await expect(edge).toBeVisible();
  expect(Math.abs((await place()) - after)).toBeLessThan(3);
});

test("by keyboard alone one gets past the navigation, and to every part of it", async ({
  page,
  demo,
}) => {
  await open(page, demo);
  await page.keyboard.press("Tab");
  await expect(page.getByRole("link", { name: "Skip to the view" })).toBeFocused();
  await page.keyboard.press("Enter");
  await expect(page.getByRole("main")).toBeFocused();
  await expect(page).toHaveURL(`${demo.url}/explorer/~own/query`);
  await page.getByRole("link", { name: "Query" }).focus();
  await page.keyboard.press("Tab");
  await page.keyboard.press("Enter");
  await expect(page).toHaveURL(`${demo.url}/explorer/~own/models`);
});

test("the navigation fits a small window, and scrolls where one is lower still", async ({
  page,
  demo,
}) => {
  await page.setViewportSize({ width: 1024, height: 700 });
  await open(page, demo);
  const views = page.getByRole("navigation", { name: "Views" });
  const isCut = (): Promise<boolean> =>
    views.evaluate(
      (one) => one.scrollHeight > one.clientHeight || one.scrollWidth > one.clientWidth,
    );
  expect(await isCut()).toBe(false);
  for (const item of await page.locator(".rail-item").all()) await expect(item).toBeInViewport();
  await page.setViewportSize({ width: 1024, height: 340 });
  const last = views.getByRole("link").last();
  await last.focus();
  await expect(last).toBeInViewport();
  await expect(page.getByRole("button", { name: "Appearance" })).toBeInViewport();
});

test("a service that went away is told where it is missed, and trying again helps", async ({
  page,
  demo,
}) => {
  await page.route("**/permissions", (route) => route.abort());
  await page.goto(`${demo.url}/explorer/`);
  await expect(page.getByRole("alert")).toContainText("The service does not answer");
  await page.unroute("**/permissions");
  await page.getByRole("button", { name: "Try again" }).click();
  await expect(page.getByRole("navigation", { name: "Views" })).toBeVisible();
});

test("links of before the graph of the service had an address of its own lead there", async ({
  page,
  demo,
}) => {
  const search = "id=dtmi%3Acom%3Aexample%3Abuilding%3ARoom%3B1";
  await page.goto(`${demo.url}/explorer/own/models?${search}`);
  await expect(page).toHaveURL(`${demo.url}/explorer/~own/models?${search}`);
  await expect(page.getByRole("article", { name: "Room" })).toBeVisible();
});

test("nothing that is open goes, nor what is written there, when a window is made narrower", async ({
  page,
  demo,
}) => {
  const narrow = { width: 600, height: 800 };
  const wide = { width: 1280, height: 800 };
  await selectTwin(page, demo, ROOM);
  const table = page.locator(".results-scroll");
  await table.evaluate((one) => one.setAttribute("data-was-here", ""));
  await page.getByRole("button", { name: "Save query" }).click();
  const name = page.getByRole("textbox", { name: "Name", exact: true });
  await name.fill("Half written");
  await page.setViewportSize(narrow);
  await expect(name).toHaveValue("Half written");
  await page.setViewportSize(wide);
  await expect(name).toHaveValue("Half written");
  await page.keyboard.press("Escape");

  // The inspector goes into a sheet and back as it is.
  const inspected = inspector(page);
  await inspected.getByRole("tab", { name: "JSON" }).click();
  await page.setViewportSize(narrow);
  const sheet = page.getByRole("dialog", { name: "What is selected" });
  await expect(sheet.getByRole("tabpanel", { name: "JSON" })).toBeVisible();
  await page.setViewportSize(wide);
  await expect(sheet).toHaveCount(0);
  await expect(inspected.getByRole("tabpanel", { name: "JSON" })).toBeVisible();

  // So does the inspector that is hidden leave the view as it is.
  await expect(table).toHaveAttribute("data-was-here");
  await page.getByRole("button", { name: "Hide the inspector" }).click();
  await page.getByRole("button", { name: "Show the inspector" }).click();
  await expect(table).toHaveAttribute("data-was-here");
});

test("the widths of editor and inspector outlive that the window was narrow", async ({
  page,
  demo,
}) => {
  await open(page, demo);
  const edges = [
    page.getByRole("separator", { name: "Width of the inspector" }),
    page.getByRole("separator", { name: "Height of the editor" }),
  ];
  for (const [one, key] of [
    [edges[0], "ArrowLeft"],
    [edges[1], "ArrowDown"],
  ] as const) {
    await one?.focus();
    await page.keyboard.press(key);
  }
  const placesOf = async (): Promise<number[]> => {
    const boxes = await Promise.all(edges.map((one) => one.boundingBox()));
    return [boxes[0]?.x ?? 0, boxes[1]?.y ?? 0].map(Math.round);
  };
  const before = await placesOf();
  await page.setViewportSize({ width: 600, height: 800 });
  await expect(edges[0] as Locator).toHaveCount(0);
  await page.setViewportSize({ width: 1280, height: 800 });
  await expect.poll(placesOf).toEqual(before);
  await page.reload();
  await expect.poll(placesOf).toEqual(before);
});
