import { readFileSync } from "node:fs";
import { join } from "node:path";

import type { Page } from "@playwright/test";

import { expect, open, startService, test, watchConsole, writeQuery } from "./fixtures";
import type { Service } from "./processes";

// NOTE: documents are texts here, as reading them would round what is looked at.
const MODEL = {
  "@context": "dtmi:dtdl:context;3",
  "@id": "dtmi:exact:Meter;1",
  "@type": "Interface",
  contents: [
    { "@type": "Property", name: "label", schema: "string" },
    { "@type": "Property", name: "total", schema: "long" },
    { "@type": "Property", name: "mass", schema: "double" },
    {
      "@type": "Property",
      name: "marks",
      schema: { "@type": "Array", elementSchema: "long" },
    },
  ],
};
const MOST = "9223372036854775807";
const METER =
  `{"$metadata":{"$model":"${MODEL["@id"]}"},"label":"main","total":${MOST},"mass":1e19,` +
  '"marks":[9007199254740993,-9223372036854775808]}';

function inspector(page: Page) {
  return page.getByRole("complementary", { name: "Inspector" });
}

function field(page: Page, name: string) {
  return inspector(page).getByRole("textbox", { name, exact: true });
}

async function ask(page: Page): Promise<void> {
  await writeQuery(page, "MATCH (t:Twin) WHERE t.total > 0 RETURN t, t.total AS total");
  await page.keyboard.press("ControlOrMeta+Enter");
}

async function save(page: Page): Promise<void> {
  const button = inspector(page).getByRole("button", { name: "Save", exact: true });
  await button.click();
  await expect(button).toHaveCount(0);
}

async function send(service: Service, method: string, path: string, body: string): Promise<void> {
  const headers = { "Content-Type": "application/json" };
  const answer = await fetch(service.url + path, { method, headers, body });
  if (!answer.ok) throw new Error(await answer.text());
}

/** The twin as the service writes it. */
async function readText(service: Service): Promise<string> {
  return (await fetch(`${service.url}/digitaltwins/meter`)).text();
}

test.describe("whole numbers beyond 2^53", () => {
  let service: Service;

  test.beforeEach(async ({ folder, page }, { testId }) => {
    service = await startService(join(folder, testId));
    await send(service, "POST", "/models", JSON.stringify([MODEL]));
    await send(service, "PUT", "/digitaltwins/meter", METER);
    await open(page, service, "~own/query");
    await ask(page);
    await page.getByRole("grid").getByRole("button", { name: "meter", exact: true }).click();
    await expect(field(page, "total")).toHaveValue(MOST);
  });
  test.afterEach(async () => {
    await service.stop();
    expect(service.failures()).toBe("");
  });

  test("are shown as they are, and stay so when something else is edited", async ({ page }) => {
    const problems = watchConsole(page);
    await expect(page.getByRole("gridcell", { name: MOST, exact: true })).toBeVisible();
    await expect(field(page, "marks 1")).toHaveValue("9007199254740993");
    await expect(field(page, "mass")).toHaveValue("1e+19");
    await page.getByRole("tablist", { name: "Result as" }).getByText("JSON").click();
    await expect(page.getByLabel("Rows as JSON")).toContainText(`"total": ${MOST}`);

    await field(page, "label").fill("cellar");
    await save(page);
    const text = await readText(service);
    expect(text).toContain('"label":"cellar"');
    expect(text).toContain(`"total":${MOST}`);
    expect(text).toContain('"marks":[9007199254740993,-9223372036854775808]');
    expect(problems).toEqual([]);
  });

  test("are edited by one, alone and within a list that is replaced", async ({ page }) => {
    await field(page, "total").fill("9223372036854775808");
    await expect(inspector(page)).toContainText(`from -9223372036854775808 to ${MOST}`);
    await field(page, "total").fill("9223372036854775806");
    await field(page, "marks 2").fill("-9223372036854775807");
    await field(page, "mass").fill("2e19");
    await inspector(page).getByRole("button", { name: "3 changes" }).click();
    await expect(inspector(page).getByLabel("JSON Patch")).toContainText(
      '"value":[9007199254740993,-9223372036854775807]}',
    );
    await save(page);
    const text = await readText(service);
    expect(text).toContain('"total":9223372036854775806');
    expect(text).toContain('"marks":[9007199254740993,-9223372036854775807]');
    expect(text).toMatch(/"mass":2(\.0)?e\+?19/);
  });

  test("are parameters as they are", async ({ page }) => {
    const search = new URLSearchParams({
      query: "MATCH (t:Twin) WHERE t.total = $total RETURN t.label AS label, $less AS less",
      parameters: `{"total": ${MOST}, "less": 9223372036854775806}`,
    });
    await open(page, service, `~own/query?${search}`);
    await expect(page.getByRole("gridcell")).toHaveText(["main", "9223372036854775806"]);
    await expect(page.getByText("No error found")).toBeVisible();
  });

  test("are edited as JSON, and exported", async ({ page }) => {
    await inspector(page).getByRole("tab", { name: "JSON" }).click();
    const shown = inspector(page).getByLabel("JSON of meter");
    await expect(shown).toContainText(`"total": ${MOST}`);
    const before = await readText(service);
    const edited = before
      .replace(/"\$(dtId|etag)":"(?:[^"\\]|\\.)*",/g, "")
      .replace(MOST, "9223372036854775805")
      .replace('"main"', '"attic"');
    await shown.click();
    await page.keyboard.press("ControlOrMeta+a");
    await page.keyboard.insertText(edited);
    await expect(inspector(page).getByRole("button", { name: "2 changes" })).toBeVisible();
    await save(page);
    const text = await readText(service);
    expect(text).toContain('"total":9223372036854775805');
    expect(text).toContain('"marks":[9007199254740993,-9223372036854775808]');

    await ask(page);
    await expect(page.getByRole("gridcell", { name: "9223372036854775805" })).toBeVisible();
    await page.getByRole("button", { name: "Export" }).click();
    const download = page.waitForEvent("download");
    await page.getByRole("dialog").getByRole("button", { name: "Export" }).click();
    const csv = readFileSync(await (await download).path(), "utf-8");
    expect(csv.match(/9223372036854775805/g)).toHaveLength(2);
    expect(csv).toContain("[9007199254740993,-9223372036854775808]");
  });
});
