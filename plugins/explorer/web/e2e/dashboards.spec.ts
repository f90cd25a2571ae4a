import { join } from "node:path";

import type { Locator, Page } from "@playwright/test";

import {
  ask,
  expect,
  findBarriers,
  open,
  signIn,
  startService,
  test,
  watchConsole,
} from "./fixtures";
import { send } from "./inspecting";
import type { Service } from "./processes";
import { takeScreenshot } from "./screenshots";

/** A tile by its title. */
function tile(page: Page, name: string): Locator {
  return page.getByRole("region", { name, exact: true }).first();
}

test("a first dashboard is made from the graph, saved, and shown again by its address", async ({
  page,
  folder,
}, { testId }) => {
  const service = await startService(join(folder, testId));
  try {
    const problems = watchConsole(page);
    await page.setViewportSize({ width: 1440, height: 900 });
    await open(page, service, "~own/dashboards");
    await expect(page.getByText("There is no dashboard yet")).toBeVisible();
    await page.getByRole("button", { name: "Make one from this graph" }).click();
    await expect(page.getByRole("textbox", { name: "Name of the dashboard" })).toHaveValue(
      "This service at a glance",
    );
    await takeScreenshot(page, "dashboard-edit");
    await page.getByRole("button", { name: "Save" }).click();
    await expect(page).toHaveURL(/dashboards\?id=this-service-at-a-glance$/);
    await expect(tile(page, "Building").locator(".tile-value")).toHaveText("4");
    await expect(page.locator(".tile .waiting")).toHaveCount(0);
    await takeScreenshot(page, "dashboard");
    await page.reload();
    await expect(tile(page, "Building").locator(".tile-value")).toHaveText("4");
    await expect(page.locator(".tile .failure")).toHaveCount(0);
    expect(problems).toEqual([]);
  } finally {
    await service.stop();
  }
});

/** Keep a dashboard past the page. */
async function keep(service: Service, id: string, tiles: object[]): Promise<void> {
  const answer = await fetch(`${service.url}/workspaces/${id}`, {
    method: "PUT",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ name: id, content: { kind: "dashboard", version: 1, tiles } }),
  });
  expect(answer.status).toBe(200);
}

const ROOMS = "MATCH (r:Room) WHERE r.occupied = true RETURN count(*) AS n";

function numberTile(id: string, query: string, x: number): object {
  return { id, kind: "number", title: id, query, place: { x, y: 0, w: 3, h: 2 }, decimals: 0 };
}

/** The queries of tiles that the page sends, in their order. */
function watchQueries(page: Page): string[] {
  const sent: string[] = [];
  page.on("request", (request) => {
    if (!request.url().endsWith("/query") || request.method() !== "POST") return;
    const { query } = request.postDataJSON() as { query: string };
    if (!query.startsWith("EXPLAIN")) sent.push(query);
  });
  return sent;
}

test("a tile is checked before it is added, moved by keyboard and mouse, and a conflict is a choice", async ({
  page,
  demo,
}) => {
  await keep(demo, "plant", [numberTile("occupied", ROOMS, 0)]);
  await open(page, demo, "~own/dashboards?id=plant");
  await expect(tile(page, "occupied").locator(".tile-value")).toHaveText(/^\d+$/);
  await page.getByRole("button", { name: "Edit" }).click();
  await page.getByRole("button", { name: "Add a tile" }).click();
  await page.getByRole("menuitem", { name: /^Bars/ }).click();
  const form = page.getByRole("dialog", { name: /^New tile/ });
  const write = async (text: string): Promise<void> => {
    await form.getByRole("textbox", { name: "Query", exact: true }).click();
    await page.keyboard.press("ControlOrMeta+a");
    await page.keyboard.insertText(text);
    await page.keyboard.press("Escape");
  };
  const add = form.getByRole("button", { name: "Add", exact: true });
  await write("MATCH (n:Room) SET n.name = 'x' RETURN n");
  await expect(form.getByText("A tile only reads.")).toBeVisible();
  await expect(add).toBeDisabled();
  await write("MATCH (n:Room) RETRUN n");
  await expect(form.getByText(/^Line 1, column/)).toBeVisible();
  await expect(add).toBeDisabled();
  await write("MATCH (l:Level)-[:contains]->(r) RETURN l, count(r) AS rooms LIMIT 5");
  await expect(form.getByText("No error found")).toBeVisible();
  await form.getByRole("textbox", { name: "Title" }).fill("Rooms by level");
  await expect(form.getByRole("region", { name: "What the tile shows" })).toContainText("Level");
  await takeScreenshot(page, "dashboard-tile");
  await add.click();

  const added = tile(page, "Rooms by level");
  const boxOf = async (): Promise<{ x: number; y: number; width: number }> =>
    (await added.boundingBox()) ?? { x: 0, y: 0, width: 0 };
  const first = await boxOf();
  await page.getByRole("button", { name: "Move or resize: Rooms by level" }).focus();
  await page.keyboard.press("ArrowRight");
  await expect.poll(async () => (await boxOf()).x).toBeGreaterThan(first.x + 40);
  await page.keyboard.press("Shift+ArrowRight");
  await expect.poll(async () => (await boxOf()).width).toBeGreaterThan(first.width + 40);
  await expect(page.getByRole("status").filter({ hasText: "Rooms by level: column" })).toHaveText(
    /column \d+, row 1, 7 wide/,
  );
  const title = added.getByRole("heading", { name: "Rooms by level" });
  await title.hover();
  await page.mouse.down();
  await page.mouse.move(300, 500, { steps: 8 });
  await page.mouse.up();
  await expect.poll(async () => (await boxOf()).y).toBeGreaterThan(first.y + 60);

  // Somebody else saves it meanwhile.
  await keep(demo, "plant", [numberTile("theirs", ROOMS, 0)]);
  await page.getByRole("button", { name: "Save" }).click();
  const conflict = page.getByRole("alertdialog");
  await expect(conflict).toContainText("Somebody else saved the dashboard meanwhile");
  await conflict.getByRole("button", { name: "Save mine beside it" }).click();
  await expect(page).toHaveURL(/id=plant-mine$/);
  await expect(tile(page, "Rooms by level")).toBeVisible();
  await page.goto(`${demo.url}/explorer/~own/dashboards?id=plant`);
  await expect(tile(page, "theirs")).toBeVisible();
  await page.goto(`${demo.url}/explorer/~own/dashboards`);
  await page.getByRole("button", { name: "Delete plant (mine)" }).click();
  await page.getByRole("alertdialog").getByRole("button", { name: "Delete" }).click();
  await expect(page.getByRole("link", { name: "plant (mine)" })).toHaveCount(0);
});

test("tiles ask again only when a change touches them, share an answer, and fail in their place", async ({
  page,
  folder,
}, { testId }) => {
  const service = await startService(join(folder, testId));
  try {
    const areas = "MATCH (r:Room) RETURN sum(r.area) AS area";
    await keep(service, "live", [
      numberTile("one", ROOMS, 0),
      numberTile("same", ROOMS, 3),
      numberTile("area", areas, 6),
      numberTile("wrong", "MATCH (r:Room) RETURN nothing(r) AS x", 9),
    ]);
    const sent = watchQueries(page);
    await open(page, service, "~own/dashboards?id=live");
    const value = tile(page, "one").locator(".tile-value");
    await expect(value).toHaveText(/^\d+$/);
    const failure = tile(page, "wrong").getByRole("alert");
    await expect(failure.getByRole("button", { name: "Try again" })).toBeVisible();
    await expect(tile(page, "area").locator(".tile-value")).toBeVisible();
    expect(sent.filter((one) => one === ROOMS)).toHaveLength(1);
    const before = Number((await value.textContent())?.replaceAll(",", ""));
    const [room] = await ask(
      service,
      "MATCH (r:Room) WHERE coalesce(r.occupied, false) = false RETURN r.$dtId AS id LIMIT 1",
    );
    await send(service, "PATCH", `/digitaltwins/${String(room?.["id"])}`, [
      { op: "add", path: "/occupied", value: true },
    ]);
    await expect(value).toHaveText((before + 1).toLocaleString("en-US"));
    await expect(tile(page, "same").locator(".tile-value")).toHaveText(
      (before + 1).toLocaleString("en-US"),
    );
    expect(sent.filter((one) => one === ROOMS)).toHaveLength(2);
    expect(sent.filter((one) => one === areas)).toHaveLength(1);

    await page.keyboard.press("f");
    await expect(page).toHaveURL(/whole=1$/);
    const board = await page.locator(".board").boundingBox();
    expect(board?.x).toBe(0);
    expect(board?.width).toBe(1280);
    await page.keyboard.press("f");
    await expect(page).not.toHaveURL(/whole/);
  } finally {
    await service.stop();
  }
});

for (const colorScheme of ["light", "dark"] as const) {
  test.describe(`in the ${colorScheme} theme`, () => {
    test.use({ colorScheme, reducedMotion: "reduce" });

    test("a dashboard and its changing have no serious barrier, and fit a phone", async ({
      page,
      demo,
    }) => {
      await keep(demo, colorScheme, [
        {
          ...numberTile("occupied", ROOMS, 0),
          rules: [{ operator: ">", value: 0, tone: "danger" }],
        },
        { ...numberTile("still", ROOMS, 3), rules: [{ operator: ">", value: 0, tone: "warning" }] },
        {
          id: "t",
          kind: "table",
          title: "Levels",
          query: "MATCH (l:Level) RETURN l, l.levelNumber AS number LIMIT 20",
          place: { x: 6, y: 0, w: 6, h: 4 },
        },
      ]);
      await open(page, demo, `~own/dashboards?id=${colorScheme}`);
      await expect(tile(page, "Levels").getByRole("cell").first()).toBeVisible();
      await expect(tile(page, "occupied").locator(".tile-value")).toBeVisible();
      expect(await findBarriers(page)).toEqual([]);
      await page.getByRole("button", { name: "Edit" }).click();
      expect(await findBarriers(page)).toEqual([]);
      await page.getByRole("button", { name: "Change: occupied" }).click();
      await expect(page.getByText("No error found")).toBeVisible();
      expect(await findBarriers(page)).toEqual([]);
      await page.getByRole("button", { name: "Cancel" }).click();
      await page.setViewportSize({ width: 390, height: 844 });
      await page.getByRole("button", { name: "Move down: occupied" }).click();
      const titles = page.locator(".tile-head h2");
      await expect(titles.first()).toHaveText("still");
      const overflow = await page.evaluate(
        () => document.documentElement.scrollWidth - window.innerWidth,
      );
      expect(overflow).toBeLessThanOrEqual(0);
      if (colorScheme === "light") await takeScreenshot(page, "dashboard-phone");
    });
  });
}

test("a tile shows the picture of a workspace, which follows the graph and leads to it", async ({
  page,
  folder,
}, { testId }) => {
  const service = await startService(join(folder, testId));
  try {
    const problems = watchConsole(page);
    const content = {
      kind: "picture",
      version: 1,
      twins: [
        ["b1-l0", 0, 0, true],
        ["b1-l0-r01", 100, 50, true],
        ["b1-l0-r02", 100, -50, true],
        ["gone", 50, 0, true],
      ],
      style: { version: 1, models: {}, relationships: {}, rules: [] },
    };
    await send(service, "PUT", "/workspaces/level", { name: "Level 0", content });
    await open(page, service, "~own/dashboards");
    await page.getByRole("button", { name: "Make one from this graph" }).click();
    await page.getByRole("button", { name: "Add a tile" }).click();
    await page.getByRole("menuitem", { name: /^Picture/ }).click();
    const form = page.getByRole("dialog", { name: /^New tile/ });
    await expect(form.getByRole("button", { name: "Add", exact: true })).toBeDisabled();
    await form.getByLabel("Workspace").selectOption("Level 0");
    await expect(form.getByRole("textbox", { name: "Title" })).toHaveValue("Level 0");
    await form.getByRole("button", { name: "Add", exact: true }).click();
    const drawing = tile(page, "Level 0").getByRole("img", { name: "Level 0: 3 twins" });
    await expect(drawing).toBeVisible();
    // Both rooms are in the level and beside each other.
    await expect(drawing.locator("line")).toHaveCount(3);
    await page.getByRole("button", { name: "Save" }).click();
    await expect(page).toHaveURL(/dashboards\?id=/);
    await send(
      service,
      "DELETE",
      "/digitaltwins/b1-l0/relationships/contains-b1-l0-r01",
      undefined,
    );
    await expect(drawing.locator("line")).toHaveCount(2);
    await tile(page, "Level 0").getByRole("link", { name: "Open Level 0" }).click();
    await expect(page).toHaveURL(/query\?workspace=level/);
    expect(problems).toEqual([]);
  } finally {
    await service.stop();
  }
});

test("who may only read is offered no change of a dashboard", async ({ page, secured }) => {
  await page.goto(`${secured.service.url}/explorer/~own/dashboards`);
  await signIn(page, "Rob Reader");
  await expect(page.getByText("There is no dashboard yet")).toBeVisible();
  await expect(page.getByRole("button", { name: "New dashboard" })).toHaveCount(0);
  await expect(page.getByRole("button", { name: "Make one from this graph" })).toHaveCount(0);
});
