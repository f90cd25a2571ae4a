import { readFileSync } from "node:fs";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";

import {
  ask,
  expect,
  give,
  open,
  signIn,
  startEmpty,
  startService,
  test,
  watchConsole,
  findBarriers,
} from "./fixtures";
import { takeScreenshot } from "./screenshots";

const MODEL = {
  "@id": "dtmi:com:example:Thing;1",
  "@type": "Interface",
  "@context": "dtmi:dtdl:context;3",
  contents: [{ "@type": "Property", name: "value", schema: "double" }],
};

function writeGraph(twins: number, wrong: number): string {
  const lines: object[] = [{ Section: "Header" }, { fileVersion: "1.0.0" }];
  lines.push({ Section: "Models" }, MODEL, { Section: "Twins" });
  for (let at = 0; at < twins; at += 1) {
    const value = at < wrong ? "no number" : at / 7;
    lines.push({ $dtId: `t${at}`, $metadata: { $model: MODEL["@id"] }, value });
  }
  return lines.map((one) => JSON.stringify(one)).join("\n");
}

test("a graph is imported, its refused lines are listed, and the job outlasts reload and restart", async ({
  page,
  folder,
}, { testId }) => {
  test.setTimeout(120_000);
  const problems = watchConsole(page);
  const service = await startEmpty(join(folder, testId));
  try {
    await open(page, service, "~own/data");
    await expect(page.getByRole("heading", { level: 1, name: "Data" })).toBeVisible();
    await give(page, "Choose a file", "things.ndjson", writeGraph(20_000, 3));
    const job = page.getByRole("article", { name: /^Import things-/ });
    await expect(job).toContainText(/runs|failed/, { timeout: 60_000 });
    await page.reload();
    await page.getByRole("tab", { name: "Jobs" }).click();
    await expect(job).toContainText("19,997 twins stored", { timeout: 90_000 });
    await expect(job).toContainText("1 model and 19,997 twins stored");
    // It is said once.
    await expect(job.getByText("were refused")).toHaveCount(1);
    await job.getByRole("button", { name: "3 were refused" }).press("Enter");
    await expect(job.getByRole("row")).toHaveCount(4);
    await expect(job.getByRole("row").nth(1)).toContainText(/line 6\s*Twins\s*t0/);
    const saving = page.waitForEvent("download");
    await job.getByRole("button", { name: "Download the log" }).click();
    const log = await readFile((await (await saving).path()) as string, "utf8");
    expect(log).toContain('"jobType":"Import"');
    expect(await findBarriers(page)).toEqual([]);
    await takeScreenshot(page, "data-jobs");
    expect(problems).toEqual([]);
    await service.stop();
    await service.start();
    await page.reload();
    await expect(job).toContainText("19,997 twins");
    await job.getByRole("button", { name: /^Delete the job/ }).click();
    await expect(job).toHaveCount(0);
  } finally {
    await service.stop();
    expect(service.failures()).toBe("");
  }
});

test("an upload that was interrupted goes on where it was", async ({ page, folder }, {
  testId,
}) => {
  const service = await startEmpty(join(folder, testId));
  try {
    await open(page, service, "~own/data");
    // The second piece gets no answer: the page is left while the file is on its way.
    await page.route(/\/pieces\/1$/, () => undefined);
    const path = join(folder, testId, "things.ndjson");
    await writeFile(path, writeGraph(30_000, 0));
    const choose = async (): Promise<void> => {
      const chooser = page.waitForEvent("filechooser");
      await page.getByRole("button", { name: "Choose a file" }).click();
      await (await chooser).setFiles(path);
    };
    await choose();
    await expect(page.getByRole("region", { name: "Sending" })).toContainText("1 MiB of");
    await page.reload();
    const left = page.getByRole("region", { name: "Interrupted uploads" });
    await expect(left).toContainText("things.ndjson: 1 MiB of");
    await page.unroute(/\/pieces\/1$/);
    const sent: string[] = [];
    page.on("request", (one) => {
      const found = /\/pieces\/(\d+)$/.exec(one.url());
      if (found?.[1] !== undefined) sent.push(found[1]);
    });
    await choose();
    const job = page.getByRole("article", { name: /^Import things-/ });
    await expect(job).toContainText("30,000 twins stored", { timeout: 60_000 });
    expect(sent[0]).toBe("1");
    await expect(left).toHaveCount(0);
  } finally {
    await service.stop();
    expect(service.failures()).toBe("");
  }
});

test("files that are no graph are refused with the reason", async ({ page, folder }, {
  testId,
}) => {
  const service = await startEmpty(join(folder, testId), { Jobs__MaxUploadBytes: "100" });
  try {
    await open(page, service, "~own/data");
    await give(page, "Choose a file", "empty.ndjson", "");
    await expect(page.getByRole("alert")).toContainText("This file is empty");
    await give(page, "Choose a file", "large.ndjson", "x".repeat(101));
    await expect(page.getByRole("alert")).toContainText("Jobs__MaxUploadBytes");
    await give(page, "Choose a file", "<img src=x onerror=alert(1)>.ndjson", '{"a": 1}');
    const job = page.getByRole("article", { name: /^Import/ });
    await expect(job).toContainText("failed");
    await expect(job.locator(".data-error")).toContainText(/line 1/i);
    await give(page, "Choose a file", "broken.ndjson.gz", Buffer.from([0x1f, 0x8b, 1, 2, 3]));
    await expect(job.first()).toContainText("broken", { timeout: 20_000 });
    await expect(job.locator(".data-error").first()).toContainText(/gzip/);
  } finally {
    await service.stop();
    expect(service.failures()).toBe("");
  }
});

for (const [theme, width, height] of [
  ["light", 1440, 900],
  ["dark", 1024, 700],
  ["dark", 390, 844],
] as const) {
  test.describe(`${width} pixels wide, ${theme}`, () => {
    test.use({ colorScheme: theme, viewport: { width, height }, reducedMotion: "reduce" });

    test("every part of the view is there, by keyboard, and fits", async ({ page, demo }) => {
      const problems = watchConsole(page);
      await open(page, demo, "~own/data");
      await page.getByRole("tab", { name: "Import" }).focus();
      for (const [name, text] of [
        ["Import", "Drop the file of a graph here"],
        ["Export", "All models, twins and relationships"],
        ["Jobs", "There is no job"],
        ["Event routes", "The operator has configured no endpoint"],
        ["History", "Earlier states can be read back to"],
      ] as const) {
        await expect(page.getByRole("tab", { name })).toBeFocused();
        await expect(page.getByRole("tabpanel", { name })).toContainText(text);
        expect(await findBarriers(page)).toEqual([]);
        const overflow = await page
          .getByRole("main")
          .evaluate((one) => one.scrollWidth - one.clientWidth);
        expect(overflow).toBeLessThanOrEqual(0);
        const shown = name.toLowerCase().replace(" ", "-");
        if (width === 1440 && ["import", "export", "history"].includes(shown)) {
          await takeScreenshot(page, `data-${shown}`);
        }
        if (width === 390 && name === "Import") await takeScreenshot(page, "data-phone");
        await page.keyboard.press("ArrowRight");
      }
      expect(problems).toEqual([]);
    });
  });
}

test("the exported file is the graph", async ({ page, demo }) => {
  await open(page, demo, "~own/data?part=export");
  const saving = page.waitForEvent("download");
  await page.getByRole("button", { name: "Export the graph" }).click();
  const download = await saving;
  expect(download.suggestedFilename()).toMatch(/\.ndjson\.gz$/);
  const text = gunzipSync(readFileSync((await download.path()) as string)).toString("utf8");
  expect(text.match(/"\$relationshipId":/g)).toHaveLength(3902);
  expect(text.match(/^\{"\$dtId":/gm)).toHaveLength(1978 + 3902);
  const panel = page.getByRole("tabpanel", { name: "Export" });
  await expect(panel).toContainText("20 models, 1,978 twins and 3,902 relationships are in");
});

test("an export that breaks off says so and saves nothing", async ({ page, demo }) => {
  await open(page, demo, "~own/data?part=export");
  await page.route("**/export/graph?*", (route) =>
    route.fulfill({
      status: 503,
      body: JSON.stringify({ error: { code: "x", message: "Busy." } }),
    }),
  );
  await page.getByRole("button", { name: "Export the graph" }).click();
  await expect(page.getByRole("alert")).toContainText("Busy.");
});

test("an event route is made, checked, changed and deleted", async ({ page, folder }, {
  testId,
}) => {
  test.setTimeout(90_000);
  const own = join(folder, testId);
  const service = await startService(own, {
    Events__Endpoints__lines__Type: "log",
    Events__Endpoints__away__Type: "webhook",
    Events__Endpoints__away__Url: "http://127.0.0.1:9/",
  });
  try {
    await open(page, service, "~own/data?part=routes");
    await page.getByRole("button", { name: "New event route" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByRole("textbox", { name: "Id" }).fill("hot");
    const filter = dialog.getByRole("textbox", { name: "Filter" });
    await filter.fill("temperature > 30");
    await dialog.getByRole("button", { name: "Check the filter" }).click();
    await expect(dialog.getByRole("status")).toContainText("Line 1, character 1:");
    await dialog.getByRole("button", { name: "Create" }).click();
    await expect(dialog.getByRole("alert")).toContainText("no attribute of an event");
    await filter.fill("STARTS_WITH(type, 'Microsoft.DigitalTwins.Twin')");
    await dialog.getByRole("button", { name: "Check the filter" }).click();
    await expect(dialog.getByRole("status")).toContainText("The filter is valid");
    expect(await findBarriers(page)).toEqual([]);
    await takeScreenshot(page, "data-route");
    await dialog.getByRole("button", { name: /Endpoint/ }).click();
    await page.getByRole("option", { name: /lines/ }).click();
    await dialog.getByRole("button", { name: "Create" }).click();
    const route = page.getByRole("article", { name: "Event route hot" });
    await expect(route).toContainText("to lines");
    const [room] = await ask(service, "MATCH (t) RETURN t.`$dtId` AS id LIMIT 1");
    const twin = `${service.url}/digitaltwins/${String(room?.["id"])}`;
    const patch = [{ op: "add", path: "/name", value: "Renamed" }];
    await fetch(twin, {
      method: "PATCH",
      headers: { "Content-Type": "application/json-patch+json" },
      body: JSON.stringify(patch),
    });
    await expect(route).toContainText("1 sent", { timeout: 30_000 });
    await takeScreenshot(page, "data-event-routes");
    await route.getByRole("button", { name: "Change hot" }).click();
    await dialog.getByRole("textbox", { name: "Filter" }).fill("true");
    await dialog.getByRole("button", { name: "Save" }).click();
    await expect(route.locator("pre")).toHaveText("true");
    await route.getByRole("button", { name: "Delete the event route hot" }).click();
    await dialog.getByRole("button", { name: "Delete it" }).click();
    await expect(page.getByText("There is no event route.")).toBeVisible();
  } finally {
    await service.stop();
    expect(service.failures()).toBe("");
  }
});

test("the whole graph is deleted once a word is written", async ({ page, folder }, { testId }) => {
  test.setTimeout(90_000);
  const service = await startService(join(folder, testId));
  try {
    await open(page, service, "~own/data?part=jobs");
    await page.getByRole("button", { name: "Delete the whole graph" }).click();
    const dialog = page.getByRole("dialog");
    await expect(dialog).toContainText("All 1,978 twins, their relationships and all 20 models go");
    const sure = dialog.getByRole("button", { name: "Delete all of it" });
    await expect(sure).toBeDisabled();
    await dialog.getByRole("textbox").fill("delete");
    await sure.click();
    const job = page.getByRole("article", { name: /^Deletion/ });
    await expect(job).toContainText("3,902 relationships, 1,978 twins and 20 models deleted", {
      timeout: 60_000,
    });
    await page.getByRole("link", { name: "Overview" }).click();
    await expect(page.getByText("This graph is empty.")).toBeVisible();
  } finally {
    await service.stop();
    expect(service.failures()).toBe("");
  }
});

test("a reader is offered the export and the history alone", async ({ page, secured }) => {
  await page.goto(`${secured.service.url}/explorer/~own/data`);
  await signIn(page, "Rob Reader");
  await expect(page.getByRole("tab")).toHaveText(["Export", "History"]);
  const saving = page.waitForEvent("download");
  await page.getByRole("button", { name: "Export the graph" }).click();
  const path = (await (await saving).path()) as string;
  expect(gunzipSync(readFileSync(path)).length).toBeGreaterThan(100_000);
});

test("my graph is imported, looked at and exported again", async ({ page, folder, demo }, {
  testId,
}) => {
  test.setTimeout(120_000);
  await open(page, demo, "~own/data?part=export");
  const saving = page.waitForEvent("download");
  await page.getByRole("button", { name: "Export the graph" }).click();
  const file = (await (await saving).path()) as string;
  const service = await startEmpty(join(folder, testId));
  try {
    await page.goto(service.url);
    await give(page, "Import a graph", "campus.ndjson.gz", readFileSync(file));
    await expect(page.getByRole("heading", { level: 1, name: "Harbour Campus" })).toBeVisible({
      timeout: 60_000,
    });
    await open(page, service, "~own/data?part=export");
    const again = page.waitForEvent("download");
    await page.getByRole("button", { name: "Export the graph" }).click();
    const second = (await (await again).path()) as string;
    // The same graph is the same file, in another service too.
    expect(gunzipSync(readFileSync(second)).equals(gunzipSync(readFileSync(file)))).toBe(true);
  } finally {
    await service.stop();
    expect(service.failures()).toBe("");
  }
});
