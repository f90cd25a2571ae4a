import { join } from "node:path";

import { expect, open, test, watchConsole, findBarriers } from "./fixtures";
import { findPort, Service } from "./processes";
import { takeScreenshot } from "./screenshots";

for (const [theme, width, height] of [
  ["light", 1440, 900],
  ["dark", 1024, 700],
  ["dark", 390, 844],
] as const) {
  test.describe(`${width} pixels wide, ${theme}`, () => {
    test.use({ colorScheme: theme, viewport: { width, height }, reducedMotion: "reduce" });

    test("the start says what is in the graph, where, and what needs attention", async ({
      page,
      demo,
    }) => {
      const problems = watchConsole(page);
      await page.goto(demo.url);
      await expect(page.getByRole("heading", { level: 1, name: "Harbour Campus" })).toBeVisible();
      const main = page.getByRole("main");
      await expect(main.locator(".overview-numbers")).toHaveText(/1,978.*3,902.*20/);
      const where = page.getByRole("region", { name: "Where things are" });
      for (const name of ["North Wing", "South Wing", "Laboratory", "Library"]) {
        await expect(where.getByRole("link", { name })).toBeVisible();
      }
      await expect(where.getByRole("link", { name: "Level 0" })).toHaveCount(4);
      const models = page.getByRole("region", { name: "Models" });
      await expect(models.getByRole("link", { name: /Office\s*312/ })).toBeVisible();
      const attention = page.getByRole("region", { name: "Needs attention" });
      await expect(attention.getByRole("listitem")).toContainText([
        /\d+ twins of Equipment with status fault/,
      ]);
      await expect(page.getByRole("region", { name: "Recent changes" })).toContainText(
        / –\w+→ .*created/,
      );
      await expect(page.getByText(/^Looking/)).toHaveCount(0);
      const overflow = await main.evaluate((one) => one.scrollWidth - one.clientWidth);
      expect(overflow).toBeLessThanOrEqual(0);
      expect(await findBarriers(page)).toEqual([]);
      expect(problems).toEqual([]);
      if (width !== 1024) await takeScreenshot(page, width < 700 ? "overview-phone" : "overview");
    });
  });
}

test("a location leads to what is at it as a graph, a concern to its twins, and Back to the start", async ({
  page,
  demo,
}) => {
  await open(page, demo, "~own/overview");
  const where = page.getByRole("region", { name: "Where things are" });
  await where.getByRole("link", { name: "North Wing" }).focus();
  await page.keyboard.press("Enter");
  await expect(page.getByRole("tabpanel", { name: "Graph" })).toBeVisible();
  await expect(page.getByText(/^9 twins, 8 relationships/)).toBeVisible();
  const inspector = page.getByRole("complementary", { name: "Inspector" });
  await expect(inspector.getByRole("heading", { level: 2 })).toContainText("b1");
  await page.goBack();
  await expect(page.getByRole("region", { name: "Where things are" })).toBeVisible();
  await page.getByRole("link", { name: /^Show: .* with status fault/ }).click();
  await expect(page.getByText(/^\d+ rows$/)).toBeVisible();
  await page.goBack();
  await expect(page.getByRole("main", { name: "Overview" })).toBeVisible();
});

test("the first steps are put away for good", async ({ page, demo }) => {
  await open(page, demo, "~own/overview");
  const steps = page.getByRole("region", { name: "First steps" });
  await expect(steps.getByRole("listitem")).toHaveCount(5);
  await page.getByRole("button", { name: "Put the first steps away" }).press("Enter");
  await expect(steps).toHaveCount(0);
  await page.reload();
  await expect(page.getByRole("region", { name: "Models" })).toBeVisible();
  await expect(steps).toHaveCount(0);
});

test("an empty service takes a graph from a file, says which lines it refused, and takes the sample", async ({
  page,
  folder,
}, { testId }) => {
  const service = await new Service(join(folder, testId), await findPort(), {
    Explorer__Directory: process.env["TWINFRAME_EXPLORER_ASSETS"] ?? "",
  }).start();
  try {
    await page.goto(service.url);
    for (const name of ["Load the sample", "Upload models", "Import a graph"]) {
      await expect(page.getByRole("button", { name })).toBeVisible();
    }
    expect(await findBarriers(page)).toEqual([]);
    await takeScreenshot(page, "overview-empty");
    const lines = [
      { Section: "Header" },
      { fileVersion: "1.0.0" },
      { Section: "Twins" },
      { $dtId: "x", $metadata: { $model: "dtmi:com:example:None;1" } },
    ];
    const give = async (text: string): Promise<void> => {
      const chooser = page.waitForEvent("filechooser");
      await page.getByRole("button", { name: "Import a graph" }).click();
      const buffer = Buffer.from(text);
      await (await chooser).setFiles({ name: "a.ndjson", mimeType: "application/json", buffer });
    };
    await give(lines.map((one) => JSON.stringify(one)).join("\n"));
    const job = page.getByRole("article", { name: /^Import a-/ });
    await job.getByRole("button", { name: "1 was refused" }).click();
    await expect(job.getByRole("row").nth(1)).toContainText(/^line 4Twins/);
    await give('{"a": 1}');
    await expect(job.locator(".data-error")).toContainText(/line 1/i);
    await page.getByRole("button", { name: "Load the sample" }).click();
    await expect(page.getByRole("heading", { level: 1, name: "Harbour Campus" })).toBeVisible();
    await expect(page.locator(".overview-numbers")).toHaveText(/1,978.*3,902.*20/);
  } finally {
    await service.stop();
    expect(service.failures()).toBe("");
  }
});
