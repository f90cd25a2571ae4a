import { readFileSync } from "node:fs";
import { join } from "node:path";

import type { Page } from "@playwright/test";

import { expect, findBarriers, open, startService, test as base, watchConsole } from "./fixtures";
import { inspector, property, send } from "./inspecting";
import type { Service } from "./processes";
import { takeScreenshot } from "./screenshots";

/** Two rooms of one level that get warmer, a room that comes and one that goes. */
const test = base.extend<object, { changing: Service }>({
  changing: [
    async ({ folder }, use) => {
      const service = await startService(join(folder, "time"), { History__Telemetry: "all" });
      await sendPeople(service);
      for (const value of [20, 22.5, 24.5, 25.5]) {
        await setTemperature(service, WARM, value);
        await setTemperature(service, COOL, value - 4);
        await new Promise((resolve) => setTimeout(resolve, 1100));
      }
      await use(service);
      await service.stop();
      expect(service.failures()).toBe("");
    },
    { scope: "worker", timeout: 120_000 },
  ],
});

const [WARM, COOL] = ["b1-l0-r02", "b1-l0-r03"];
const LEVEL = "MATCH (l {$dtId: 'b1-l0'})-[r:contains]->(room) RETURN l, r, room";

async function setTemperature(service: Service, id: string, value: number): Promise<void> {
  const patch = [{ op: "replace", path: "/climate/temperature", value }];
  await send(service, "PATCH", `/digitaltwins/${id}`, patch);
}

/** Points of a day, which the sensors had measured before they were sent. */
async function sendPeople(service: Service): Promise<void> {
  const now = Date.now();
  const lines = Array.from({ length: 96 }, (_, at) =>
    JSON.stringify({
      twinId: WARM,
      path: "peopleCount",
      value: at % 12,
      time: new Date(now - (96 - at) * 900_000).toISOString(),
    }),
  );
  const answer = await fetch(`${service.url}/telemetry`, {
    method: "POST",
    headers: { "Content-Type": "application/x-ndjson" },
    body: lines.join("\n"),
  });
  expect(await answer.json()).toMatchObject({ pointCount: 96, hasFailures: false });
}

const chartOf = (page: Page) => page.getByRole("region", { name: "Chart of values over time" });
const barOf = (page: Page) => page.getByRole("region", { name: "Time", exact: true });

for (const [theme, width] of [
  ["light", 1440],
  ["dark", 1024],
] as const) {
  test.describe(`${width} pixels wide, ${theme}`, () => {
    test.use({ colorScheme: theme, viewport: { width, height: 800 }, reducedMotion: "reduce" });

    test("a line beside a number leads to a chart, which says since when a room is too warm", async ({
      page,
      changing,
    }) => {
      test.slow(); // it goes through charts, axe and two files
      const problems = watchConsole(page);
      await open(page, changing, `~own/query?twin=${WARM}`);
      const row = property(page, "temperature");
      const spark = row.getByRole("button", { name: /^climate\.temperature, last 24h: / });
      await expect(spark).toBeVisible();
      // Of one value there is no line.
      await expect(property(page, "desks").getByRole("group", { name: /over time$/ })).toHaveCount(
        0,
      );
      await spark.press("Enter");
      const chart = chartOf(page);
      await expect(chart.getByRole("row", { name: /Office 0\.02/ })).toContainText("25.5");
      await expect(page).toHaveURL(/chart\?.*#series=b1-l0-r02%2Fclimate%2Ftemperature/);

      await open(page, changing, `~own/chart?twin=${COOL}`);
      const other = property(page, "temperature");
      await other.getByRole("button", { name: "Add climate.temperature to the chart" }).click();
      await expect(chart.getByRole("row", { name: /Office 0\.03/ })).toContainText(
        "Level 0 · North Wing",
      );
      await page.reload();
      await expect(chart.getByRole("row", { name: /Office 0\.03/ })).toContainText("21.5");
      const add = page.getByRole("group", { name: "Add a series" });
      await add.getByRole("combobox", { name: "Twin" }).fill(WARM);
      await page.getByRole("option", { name: WARM, exact: true }).click();
      await add.getByRole("button", { name: /Value/ }).click();
      await page.getByRole("option", { name: "climate.temperature" }).click();
      await add.getByRole("button", { name: "Add to the chart" }).click();
      const limit = chart.getByRole("textbox", { name: "Since when" });
      await limit.fill("warm");
      await expect(chart).toContainText("Write a comparison and a number");
      await limit.fill("> 24");
      await limit.press("Enter");
      await expect(chart.getByRole("row", { name: /Office 0\.02/ })).toContainText(/since .* \(/);
      await expect(chart.getByRole("row", { name: /Office 0\.03/ })).toContainText(
        /not (in this span|now)/,
      );
      expect(await findBarriers(page)).toEqual([]);
      // What changes now is in the chart.
      await setTemperature(changing, COOL, 23.25 + width / 100_000);
      const now = (23.25 + width / 100_000).toLocaleString("en", { maximumFractionDigits: 4 });
      await expect(chart.getByRole("row", { name: /Office 0\.03/ })).toContainText(now);
      await setTemperature(changing, COOL, 21.5);

      for (const [item, name] of [
        ["Values (CSV)", "chart.csv"],
        ["As an image (PNG)", "chart.png"],
      ] as const) {
        await chart.getByRole("button", { name: "Save" }).click();
        const download = page.waitForEvent("download");
        await page.getByRole("menuitem", { name: item }).click();
        const file = await download;
        expect(file.suggestedFilename()).toBe(name);
        const content = readFileSync(await file.path());
        if (name === "chart.png") expect(content.subarray(1, 4).toString()).toBe("PNG");
        else expect(content.toString()).toMatch(/^time,Office 0\.03 \(b1-l0-r03\) climate/);
      }
      expect(problems).toEqual([]);
    });
  });
}

test("a chart is zoomed by the pointer, and the way back undoes it", async ({ page, changing }) => {
  await page.setViewportSize({ width: 1440, height: 800 });
  await open(page, changing, `~own/chart#series=${WARM}/peopleCount&span=24h`);
  const plot = chartOf(page).locator(".u-over");
  await expect(chartOf(page).getByRole("row", { name: /Office 0\.02/ })).toContainText("11");
  const box = await plot.boundingBox();
  if (box === null) throw new Error("The chart is not drawn.");
  await page.mouse.move(box.x + box.width * 0.4, box.y + 50);
  await page.mouse.down();
  await page.mouse.move(box.x + box.width * 0.6, box.y + 50, { steps: 5 });
  await page.mouse.up();
  await expect(page).toHaveURL(/from=.*&to=/);
  await expect(chartOf(page).getByRole("button", { name: /From … to …/ })).toBeVisible();
  await page.goBack();
  await expect(page).toHaveURL(/span=24h/);
});

test("a series that is not there says so, and a graph without history in one sentence", async ({
  page,
  changing,
  folder,
}) => {
  await open(page, changing, `~own/chart#series=${WARM}/nothing`);
  await expect(chartOf(page)).toContainText("b1-l0-r02 has no series 'nothing'");
  const service = await startService(join(folder, "time-none"), { History__Enabled: "false" });
  try {
    await open(page, service, `~own/chart#series=${WARM}/climate%2Ftemperature`);
    await expect(chartOf(page)).toContainText("This graph keeps no history");
    await open(page, service, `~own/query#${new URLSearchParams({ query: LEVEL }).toString()}`);
    await page.getByRole("button", { name: "Time", exact: true }).click();
    await expect(barOf(page)).toContainText("This graph keeps no history");
  } finally {
    await service.stop();
  }
});

test("the picture is shown as of a moment, which changes nothing and leads back to now", async ({
  page,
  changing,
}) => {
  test.slow(); // it loads the page four times
  await page.setViewportSize({ width: 1440, height: 900 });
  const problems = watchConsole(page);
  const before = Date.now();
  await new Promise((resolve) => setTimeout(resolve, 1100));
  await send(changing, "PUT", "/digitaltwins/annex", {
    $metadata: { $model: "dtmi:com:example:building:Office;1" },
    name: "Annex",
    climate: { $metadata: {} },
  });
  await send(changing, "PUT", "/digitaltwins/b1-l0/relationships/contains-annex", {
    $relationshipName: "contains",
    $targetId: "annex",
  });
  const leaving = "/digitaltwins/b1-l0/relationships/contains-b1-l0-r17";
  const gone = await fetch(changing.url + leaving, { method: "DELETE" });
  expect(gone.status).toBe(204);
  await setTemperature(changing, "b1-l0-r05", 26.5);
  const link = new URLSearchParams({ query: LEVEL, view: "graph" }).toString();
  await open(page, changing, `~own/query?twin=annex#${link}`);
  const status = page.locator(".picture-foot").getByRole("status");
  await expect(status).toContainText("18 twins, 17 relationships");
  await expect(inspector(page).getByRole("textbox", { name: "name" })).toHaveValue("Annex");

  await page.getByRole("button", { name: "Time", exact: true }).click();
  const bar = barOf(page);
  await bar.getByLabel("Moment", { exact: true }).last().fill(writeLocal(before));
  await expect(bar.getByRole("status").first()).toContainText("Nothing can be changed here");
  await expect(page).toHaveURL(/asOf=/);
  await expect(inspector(page)).toContainText("There was no such twin then");
  await page.getByRole("button", { name: "List", exact: true }).click();
  await expect(page.getByRole("region", { name: "Graph of the result" })).toContainText("0.17");
  await page.getByRole("button", { name: "List", exact: true }).click();
  await expect(status).toContainText("18 twins, 17 relationships");
  await takeScreenshot(page, "time-past");
  await page.reload();
  await expect(bar).toContainText("As of");
  await open(page, changing, `~own/query?twin=b1-l0-r05&asOf=${new Date(before).toISOString()}`);
  await expect(inspector(page)).toContainText("MeetingRoom 0.05");
  await expect(inspector(page).getByRole("textbox")).toHaveCount(0);
  await expect(inspector(page).getByRole("button", { name: "Delete" })).toHaveCount(0);
  await bar.getByRole("button", { name: "Back to now" }).click();
  await expect(page).not.toHaveURL(/asOf=/);
  await expect(inspector(page).getByRole("textbox", { name: "temperature" })).toHaveValue("26.5");

  await open(page, changing, `~own/query?since=${new Date(before).toISOString()}#${link}`);
  await page.getByRole("button", { name: "Time", exact: true }).click();
  await expect(bar.getByRole("button", { name: "2 created" })).toBeVisible();
  await expect(bar.getByRole("button", { name: "1 updated" })).toBeVisible();
  await expect(bar.getByRole("button", { name: "1 deleted" })).toBeVisible();
  await bar.getByRole("button", { name: "List changes" }).click();
  await expect(bar.getByRole("list", { name: "What changed" })).toContainText(
    "climate/temperature:",
  );
  // What was deleted is drawn, too.
  await expect(status).toContainText("19 twins, 18 relationships");
  expect(await findBarriers(page)).toEqual([]);
  await takeScreenshot(page, "time-changes");
  expect(problems.filter((one) => !one.includes("404"))).toEqual([]);
});

test("what changed is played from moment to moment, up to now", async ({ page, changing }) => {
  await page.setViewportSize({ width: 1440, height: 900 });
  const link = new URLSearchParams({ query: LEVEL, view: "graph" }).toString();
  await open(page, changing, `~own/query#${link}`);
  await page.getByRole("button", { name: "Time", exact: true }).click();
  const bar = barOf(page);
  await bar.getByRole("button", { name: "Play the changes" }).click();
  await expect(bar.getByRole("status").first()).toContainText("As of");
  await expect(
    bar.getByRole("button", { name: /[1-9]\d* (created|updated|deleted)/ }),
  ).not.toHaveCount(0);
  await bar.getByRole("button", { name: "Stop playing" }).click();
  await expect(bar.getByRole("button", { name: "Play the changes" })).toBeVisible();
  await bar.getByRole("button", { name: "Back to now" }).click();
  await expect(bar).not.toContainText("As of");
});

/** A moment as a field of this machine's time has it. */
function writeLocal(moment: number): string {
  const own = moment - new Date(moment).getTimezoneOffset() * 60_000;
  return new Date(own).toISOString().slice(0, 19);
}

test.describe("on a phone", () => {
  test.use({ viewport: { width: 390, height: 844 }, colorScheme: "dark", reducedMotion: "reduce" });

  test("a chart and the bar of moments fit", async ({ page, changing }) => {
    await open(
      page,
      changing,
      `~own/chart#series=${WARM}/climate%2Ftemperature&series=${WARM}/peopleCount&limit=%3E24`,
    );
    await expect(chartOf(page).getByRole("row", { name: /temperature/ })).toContainText("25.5");
    expect(await findBarriers(page)).toEqual([]);
    const overflow = () => page.evaluate(() => document.body.scrollWidth - window.innerWidth);
    expect(await overflow()).toBeLessThanOrEqual(0);
    await takeScreenshot(page, "time-phone");
    await open(page, changing, `~own/query#${new URLSearchParams({ query: LEVEL }).toString()}`);
    await page.getByRole("button", { name: "Time", exact: true }).click();
    await expect(barOf(page).getByRole("slider")).toBeVisible();
    expect(await overflow()).toBeLessThanOrEqual(0);
    expect(await findBarriers(page)).toEqual([]);
  });
});
