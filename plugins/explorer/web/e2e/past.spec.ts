import { spawnSync } from "node:child_process";
import { mkdirSync } from "node:fs";
import { dirname, join, resolve } from "node:path";

import { expect, open, startService, test as base, watchConsole, findBarriers } from "./fixtures";
import { inspector, property, send } from "./inspecting";
import { findPort, Service } from "./processes";
import { takeScreenshot } from "./screenshots";

/** A room of the North Wing that is too warm, as its unit has failed. */
const WARM = "b1-l2-r07";

/** The sample campus with its day, as `twinframe demo` serves it. */
const test = base.extend<object, { past: Service }>({
  past: [
    async ({ folder }, use) => {
      const own = join(folder, "past");
      mkdirSync(own, { recursive: true });
      const service = await new Service(own, await findPort(), () => ({
        Explorer__Directory: process.env["TWINFRAME_EXPLORER_ASSETS"] ?? "",
        History__Telemetry: "all",
      })).start();
      const python = process.env["TWINFRAME_COMMAND"] ?? resolve("../../../.venv/bin/twinframe");
      const words = ["-m", "twinframe.demo", service.url, "--past"];
      const done = spawnSync(join(dirname(python), "python"), words, { encoding: "utf-8" });
      expect(done.status, done.stdout + done.stderr).toBe(0);
      await use(service);
      await service.stop();
      expect(service.failures()).toBe("");
    },
    { scope: "worker", timeout: 240_000 },
  ],
});

for (const [theme, width] of [
  ["light", 1440],
  ["dark", 1024],
] as const) {
  test.describe(`${width} pixels wide, ${theme}`, () => {
    test.use({ colorScheme: theme, viewport: { width, height: 800 }, reducedMotion: "reduce" });

    test("the sample has a day of values, and says since when a room is too warm", async ({
      page,
      past,
    }) => {
      await open(page, past, `~own/query?twin=${WARM}`);
      const spark = property(page, "temperature").getByRole("button", {
        name: /^climate\.temperature, last 24h: /,
      });
      await expect(spark).toBeVisible();
      if (theme === "light") await takeScreenshot(page, "time-spark");
      await open(
        page,
        past,
        `~own/chart#series=${WARM}/climate%2Ftemperature&series=b1-l2-r05/climate%2Ftemperature&series=b1-l2-ahu/fanSpeed&span=24h&limit=%3E24`,
      );
      const chart = page.getByRole("region", { name: "Chart of values over time" });
      await expect(chart.getByRole("row", { name: /Office 2\.07/ })).toContainText(/since .* \(/);
      await takeScreenshot(page, theme === "light" ? "time-chart" : "time-chart-dark");
    });

    test("the history of a twin says who changed what, and leads to the graph as of then", async ({
      page,
      past,
    }) => {
      const problems = watchConsole(page);
      await open(page, past, "~own/query?twin=b1-l2-ahu");
      await inspector(page).getByRole("tab", { name: "History" }).click();
      const history = inspector(page).getByRole("region", { name: "History" });
      const [newest] = await history.getByRole("listitem").all();
      await expect(newest ?? history).toContainText("updated by building gateway");
      await expect(newest ?? history).toContainText("ok → fault");
      expect(await findBarriers(page)).toEqual([]);
      await takeScreenshot(page, theme === "light" ? "history" : "history-dark");
      await expect(history.getByRole("listitem").last()).toContainText("created by commissioning");
      const before = history.getByRole("listitem").nth(1);
      await before.getByRole("button", { name: /^Show the graph as of/ }).press("Enter");
      await expect(page).toHaveURL(/asOf=/);
      await expect(history.getByRole("listitem").first()).not.toContainText("fault");
      await inspector(page).getByRole("tab", { name: "Properties" }).click();
      await expect(property(page, "status")).toContainText("ok");
      expect(problems).toEqual([]);
    });
  });
}

test("a change made now is in the history of a twin at once, also of a relationship", async ({
  page,
  past,
}) => {
  await open(page, past, "~own/query?twin=b2-l1-r03");
  await inspector(page).getByRole("tab", { name: "History" }).click();
  const history = inspector(page).getByRole("region", { name: "History" });
  await expect(history.getByRole("listitem").first()).toContainText("by building gateway");
  const patch = [{ op: "replace", path: "/climate/setpoint", value: 20.5 }];
  await send(past, "PATCH", "/digitaltwins/b2-l1-r03", patch);
  await expect(history.getByRole("listitem").first()).toContainText("21 → 20.5");
  await open(page, past, `~own/query?twin=${WARM}`);
  await inspector(page).getByRole("tab", { name: "History" }).click();
  await expect(history.getByRole("listitem")).toHaveCount(20);
  await history.getByRole("button", { name: "Older changes" }).press("Enter");
  await expect(history.getByRole("listitem").nth(20)).toBeVisible();
  await open(page, past, "~own/query?twin=b2-l1&relationship=contains-b2-l1-r03");
  await inspector(page).getByRole("tab", { name: "History" }).click();
  await expect(history.getByRole("listitem")).toContainText("created by commissioning");
});

test("a tile of values over time is made by picking a twin and its value", async ({
  page,
  past,
}) => {
  await open(page, past, "~own/dashboards");
  await page.getByRole("button", { name: "Make one from this graph" }).click();
  await page.getByRole("button", { name: "Add a tile" }).click();
  await page.getByRole("menuitem", { name: /^Values over time/ }).click();
  const form = page.getByRole("dialog", { name: /^New tile/ });
  const add = form.getByRole("button", { name: "Add", exact: true });
  await expect(add).toBeDisabled();
  for (const [twin, value] of [
    [WARM, "climate.temperature"],
    ["b1-chiller", "power"],
  ] as const) {
    await form.getByRole("combobox", { name: "Twin" }).fill(twin);
    await page.getByRole("option", { name: twin, exact: true }).click();
    await form.getByRole("button", { name: /Value/ }).click();
    await page.getByRole("option", { name: value, exact: true }).click();
    await form.getByRole("button", { name: "Add to the chart" }).click();
  }
  await expect(form.getByRole("list", { name: "Series" }).getByRole("listitem")).toHaveCount(2);
  await form.getByRole("button", { name: "Remove b1-chiller power" }).click();
  await expect(form.getByRole("region", { name: "What the tile shows" })).toContainText("26.9");
  await form.getByRole("textbox", { name: "Title" }).fill("Warm office");
  await takeScreenshot(page, "dashboard-series");
  await add.click();
  const made = page.getByRole("region", { name: "Warm office", exact: true });
  await expect(made).toContainText("26.9");
});

test("telemetry that is kept is shown, and what comes in stands behind it", async ({
  page,
  past,
}) => {
  await page.setViewportSize({ width: 1440, height: 800 });
  await open(page, past, `~own/query?twin=${WARM}`);
  await inspector(page).getByRole("tab", { name: "Telemetry" }).click();
  const people = inspector(page).getByRole("figure", { name: "Telemetry peopleCount" });
  await expect(people.locator("canvas")).toBeVisible();
  await takeScreenshot(page, "telemetry-kept");
  await send(past, "POST", `/digitaltwins/${WARM}/telemetry`, { peopleCount: 77 });
  await expect(people).toContainText("77");
  await page.reload();
  await inspector(page).getByRole("tab", { name: "Telemetry" }).click();
  await expect(people).toContainText("77");
  expect(await findBarriers(page)).toEqual([]);
  await people.getByRole("button", { name: "Show peopleCount as a chart" }).press("Enter");
  await expect(page).toHaveURL(/chart.*#series=b1-l2-r07%2FpeopleCount/);
});

test("where no history is kept, the tab says so and how it is turned on", async ({
  page,
  folder,
}) => {
  const service = await startService(join(folder, "past-none"), { History__Enabled: "false" });
  try {
    await open(page, service, `~own/query?twin=${WARM}`);
    await inspector(page).getByRole("tab", { name: "History" }).click();
    await expect(inspector(page)).toContainText("This service keeps no history");
    await expect(inspector(page)).toContainText("History__Enabled=true");
    await inspector(page).getByRole("tab", { name: "Telemetry" }).click();
    await expect(inspector(page)).toContainText("No telemetry came since");
    await expect(inspector(page)).toContainText("No telemetry is kept here");
  } finally {
    await service.stop();
  }
});
