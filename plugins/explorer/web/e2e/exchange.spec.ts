import { readFileSync } from "node:fs";

import type { Page } from "@playwright/test";

import { ask, expect, give, open, test, watchConsole, writeQuery } from "./fixtures";
import type { Service } from "./processes";

const LEVEL = "MATCH (l {$dtId: 'b1-l0'})-[c:contains]->(r) RETURN l, c, r";

const THING = {
  "@id": "dtmi:com:example:Thing;1",
  "@type": "Interface",
  "@context": "dtmi:dtdl:context;3",
  contents: [{ "@type": "Property", name: "value", schema: "double" }],
};

/** Picture the answer of a query. */
async function picture(page: Page, query: string): Promise<void> {
  await writeQuery(page, query);
  await page.keyboard.press("ControlOrMeta+Enter");
  await page.getByRole("tab", { name: "Graph" }).click();
}

/** Choose an item of the picture's menu, and answer the file that it saves. */
async function savePicture(page: Page, item: string): Promise<string> {
  await page.getByRole("button", { name: "Save picture" }).click();
  const coming = page.waitForEvent("download");
  await page.getByRole("menuitem", { name: item }).click();
  return readFileSync(await (await coming).path(), "utf8");
}

/** The contents of the documents of a query's only column, without etags and times. */
async function contents(service: Service, query: string): Promise<string[]> {
  const rows = await ask(service, query);
  return rows.map((row) => {
    const [document] = Object.values(row) as Record<string, unknown>[];
    const { $etag, $metadata, ...members } = document ?? {};
    expect($etag).toBeDefined();
    const { $model } = ($metadata ?? {}) as { $model?: string };
    return JSON.stringify({ $model, ...members }, (name, value: unknown) =>
      name === "$metadata" ? {} : value,
    );
  });
}

test("what the picture shows is saved as a graph, which an empty service imports", async ({
  page,
  empty: service,
  demo,
}) => {
  const problems = watchConsole(page);
  await open(page, demo);
  await picture(page, LEVEL);
  await expect(page.locator(".picture-foot")).toHaveText(/^18 twins, 17 relationships/);
  // The button of the rows is told from that of the picture, by its name and by its sign.
  const signs = ["Export rows", "Save picture"].map((name) =>
    page.getByRole("button", { name, exact: true }).locator("svg").getAttribute("class"),
  );
  expect(new Set(await Promise.all(signs)).size).toBe(2);
  // What is hidden is not in the file.
  await page
    .getByRole("complementary", { name: "Legend" })
    .getByText("Level", { exact: true })
    .click();
  await expect(page.locator(".picture-foot")).toHaveText(/^17 twins, 0 relationships/);
  const file = await savePicture(page, "As a graph with its models (JSON)");
  await expect(page.getByText(/graph\.json has \d+ models, 17 twins and 16 rel/)).toBeVisible();
  expect(problems).toEqual([]);
  await open(page, service, "~own/data");
  await give(page, "Choose a file", "graph.json", file);
  await expect(page.getByRole("article", { name: /^Import graph-/ })).toContainText(
    "17 twins and 16 relationships stored",
  );
  const rooms = "(r:Room) WHERE r.$dtId STARTS WITH 'b1-l0'";
  expect(await contents(service, "MATCH (t) RETURN t ORDER BY t.$dtId")).toEqual(
    await contents(demo, `MATCH ${rooms} RETURN r ORDER BY r.$dtId`),
  );
  const edges = "RETURN e ORDER BY e.$sourceId, e.$relationshipId";
  expect(await contents(service, `MATCH (a)-[e]->(b) ${edges}`)).toEqual(
    await contents(demo, `MATCH ${rooms} MATCH (r)-[e]->(s:Room) ${edges}`),
  );
  // The models are those of the rooms with what they extend, and no others.
  const { digitalTwinsModels: models } = JSON.parse(file) as {
    digitalTwinsModels: { "@id": string }[];
  };
  const ids = models.map((one) => one["@id"]);
  expect(ids).toContain("dtmi:com:example:building:Room;1");
  expect(ids).not.toContain("dtmi:com:example:building:Level;1");
});

test("the whole graph is exported for the vendor's explorer, and is the same after an import", async ({
  page,
  empty: service,
  demo,
}) => {
  test.setTimeout(120_000);
  await open(page, demo, "~own/data?part=export");
  await page.getByText("JSON of the vendor’s explorer").click();
  await expect(page.getByRole("checkbox")).toHaveCount(0);
  const saving = page.waitForEvent("download");
  await page.getByRole("button", { name: "Export the graph" }).click();
  const download = await saving;
  expect(download.suggestedFilename()).toMatch(/\d\.json$/);
  await expect(page.getByRole("tabpanel", { name: "Export" })).toContainText(
    /20 models, 1,978 twins and 3,902 relationships are in .*\.json/,
  );
  const file = readFileSync(await download.path(), "utf8");
  await open(page, service, "~own/data");
  await give(page, "Choose a file", "campus.json", file);
  await expect(page.getByRole("article", { name: /^Import campus-/ })).toContainText(
    "20 models, 1,978 twins and 3,902 relationships stored",
    { timeout: 60_000 },
  );
  const plain = async ({ url }: Service): Promise<string> =>
    (await fetch(`${url}/export/graph?plain=true`)).text();
  expect((await plain(service)) === (await plain(demo))).toBe(true);
});

test("a graph that is too large for the vendor's explorer says so and saves nothing", async ({
  page,
  demo,
}) => {
  await open(page, demo, "~own/data?part=export");
  await page.getByText("JSON of the vendor’s explorer").click();
  await page.route("**/export/graph?*", (route) =>
    route.fulfill({ body: `{"Section":"Twins"}\n${"x".repeat(33 * 1024 * 1024)}` }),
  );
  await page.getByRole("button", { name: "Export the graph" }).click();
  await expect(page.getByRole("alert")).toContainText("a graph has at most 32 MiB");
});

test("the page says that it takes files of the vendor's explorer", async ({
  page,
  empty: service,
}) => {
  await page.goto(service.url);
  await expect(page.getByRole("region", { name: "Import a graph" })).toContainText(
    "of the vendor’s explorer (.json)",
  );
  await open(page, service, "~own/data");
  await expect(page.getByRole("tabpanel", { name: "Import" })).toContainText(
    "as the JSON that the vendor’s explorer exports, up to 32 MiB of it (.ndjson or .json, also",
  );
});

test("what is refused of a file of the vendor's explorer is named by its path", async ({
  page,
  empty: service,
}) => {
  const twin = (id: string, value: unknown): object => ({
    $dtId: id,
    $metadata: { $model: THING["@id"] },
    value,
  });
  const edge = { $relationshipId: "e", $relationshipName: "has", $sourceId: "a", $targetId: "b" };
  const file = {
    digitalTwinsFileInfo: { fileVersion: "1.0.0" },
    digitalTwinsGraph: { digitalTwins: [twin("a", 1), twin("b", "much")], relationships: [edge] },
    digitalTwinsModels: [THING],
  };
  await open(page, service, "~own/data");
  await give(page, "Choose a file", "things.json", JSON.stringify(file, null, 2));
  const job = page.getByRole("article", { name: /^Import things-/ });
  await job.getByRole("button", { name: "2 were refused" }).click();
  await expect(job.getByRole("row").nth(1)).toContainText(
    /digitalTwinsGraph\.digitalTwins\[1\]\s*Twins\s*b/,
  );
  await expect(job.getByRole("row").nth(2)).toContainText(
    /digitalTwinsGraph\.relationships\[0\]\s*Relationships\s*e of a/,
  );
  await expect(job).not.toContainText("line");
  // No heading and no name of a section breaks inside a word.
  for (const width of [1280, 390]) {
    await page.setViewportSize({ width, height: 800 });
    for (const cell of await job.locator("th, td:nth-child(2)").all()) {
      const lines = await cell.evaluate((one) => {
        const range = document.createRange();
        range.selectNodeContents(one);
        return range.getClientRects().length;
      });
      expect(lines).toBe(1);
    }
  }
});

test("a picture under Data and a graph in a picture say where they belong", async ({
  page,
  empty: service,
  demo,
}) => {
  await open(page, demo);
  await picture(page, LEVEL);
  const saved = await savePicture(page, "Twins and places (JSON)");
  const opening = page.getByRole("button", { name: "Take the places of a picture saved as JSON" });
  const told = page.getByText("graph.json is a graph, which is imported under Data.");
  for (const text of ['{"digitalTwinsFileInfo": {}}', '{"Section": "Header"}\n{}']) {
    const chooser = page.waitForEvent("filechooser");
    await opening.click();
    const buffer = Buffer.from(text);
    await (await chooser).setFiles({ name: "graph.json", mimeType: "application/json", buffer });
    await expect(told).toBeVisible();
    // It goes with the view.
    await page.getByRole("link", { name: "Models", exact: true }).click();
    await expect(page.getByRole("main", { name: "Models" })).toBeVisible();
    await expect(told).toHaveCount(0);
    await page.goBack();
  }
  await open(page, service, "~own/data");
  await give(page, "Choose a file", "picture.json", saved);
  await expect(page.getByRole("alert")).toContainText("This file is a picture");
  await expect(page.getByRole("alert")).toContainText("Open it in Query");
  // A broken file gives a job that has nothing to go on with.
  await give(page, "Choose a file", "other.json", '{"a": 1}');
  const job = page.getByRole("article", { name: /^Import other-/ });
  await expect(job).toContainText("failed");
  await expect(job.getByRole("button", { name: /^Delete the job/ })).toBeVisible();
  await expect(job.getByRole("button", { name: "Go on" })).toHaveCount(0);
});

test("an import tells what is new, and leads to what came in", async ({ page, empty: service }) => {
  const twins = (count: number): string =>
    [
      { Section: "Header" },
      { fileVersion: "1.0.0" },
      { Section: "Models" },
      THING,
      { Section: "Twins" },
      ...Array.from({ length: count }, (_, at) => ({
        $dtId: `t${at}`,
        $metadata: { $model: THING["@id"] },
      })),
    ]
      .map((one) => JSON.stringify(one))
      .join("\n");
  await open(page, service, "~own/data");
  await give(page, "Choose a file", "few.ndjson", twins(3));
  const few = page.getByRole("article", { name: /^Import few-/ });
  await expect(few).toContainText("All twins are new.");
  await give(page, "Choose a file", "many.ndjson", twins(120));
  const many = page.getByRole("article", { name: /^Import many-/ });
  await expect(many).toContainText("117 of the twins are new, 3 replaced those of the same ids.");
  await many.getByRole("button", { name: "Show what came in" }).click();
  await expect(page.locator(".picture-foot")).toHaveText(/^100 twins, 0 relationships/);
  await expect(page.getByText("These are the first 100 of 120 twins.")).toBeVisible();
  await open(page, service, "~own/data?part=jobs");
  await few.getByRole("button", { name: "Show what came in" }).click();
  await expect(page.locator(".picture-foot")).toHaveText(/^3 twins, 0 relationships/);
});
