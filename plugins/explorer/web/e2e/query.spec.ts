import { readFileSync } from "node:fs";

import type { Page } from "@playwright/test";

import { expect, open, signIn, test, watchConsole, writeQuery } from "./fixtures";
import { takeScreenshot } from "./screenshots";

const ROOMS = "MATCH (r:Room)\nRETURN r.$dtId AS id, r.area AS area\nORDER BY area DESC";

function editor(page: Page) {
  return page.getByRole("textbox", { name: "Query", exact: true });
}

async function write(page: Page, text: string): Promise<void> {
  await editor(page).click();
  await page.keyboard.press("ControlOrMeta+a");
  await page.keyboard.insertText(text);
  await page.keyboard.press("Escape");
}

async function run(page: Page, text: string): Promise<void> {
  await write(page, text);
  await page.keyboard.press("ControlOrMeta+Enter");
}

function cells(page: Page) {
  return page.getByRole("gridcell");
}

test("a query runs by Ctrl+Enter, with its rows, time and charge", async ({
  page,
  demo,
  context,
}) => {
  await context.grantPermissions(["clipboard-read", "clipboard-write"]);
  const problems = watchConsole(page);
  await open(page, demo, "~own/query");
  await run(
    page,
    "MATCH (r:Room)-[x]->(b)\nRETURN r, x, b.name AS name\nORDER BY r.$dtId\nLIMIT 40",
  );
  await expect(page.getByText("40 rows")).toBeVisible();
  await expect(page.getByText(/\d+\.\d\d query units/)).toBeVisible();
  await expect(page.getByRole("columnheader")).toHaveText(["r", "x", "name"]);
  await takeScreenshot(page, "query");
  await cells(page).first().getByRole("button", { name: "Unfold r" }).click();
  await expect(cells(page).first()).toContainText("emergencyExit");
  await page.getByRole("tab", { name: "JSON" }).click();
  await expect(page.getByLabel("Rows as JSON")).toContainText('"$dtId": "b1-l0-r01"');
  await page.getByRole("tab", { name: "Table" }).click();
  await cells(page).nth(2).focus();
  await page.keyboard.press("ControlOrMeta+c");
  await expect(page.getByText("The value is copied.")).toBeVisible();
  expect(problems).toEqual([]);
});

test("a twin in the table is selected, which the inspector shows", async ({ page, demo }) => {
  await open(page, demo, "~own/query");
  await run(page, "MATCH (s:Site) RETURN s");
  await cells(page).first().focus();
  await page.keyboard.press("Enter");
  await page.keyboard.press("ArrowRight");
  await expect(
    cells(page).getByRole("button", { name: "Harbour Campus", exact: true }),
  ).toBeFocused();
  await page.keyboard.press("Enter");
  const inspector = page.getByRole("complementary", { name: "Inspector" });
  await expect(inspector.getByRole("textbox", { name: "name", exact: true })).toHaveValue(
    "Harbour Campus",
  );
  // The id is beside the name; where there is none the id is not said twice.
  await expect(cells(page)).toHaveText([/^Harbour Campus\s*site\s*Site$/]);
  await run(
    page,
    "MATCH (l:Level) RETURN {`$dtId`: 'x', `$metadata`: {`$model`: 'dtmi:a:B;1'}} AS l LIMIT 1",
  );
  await expect(cells(page)).toHaveText([/^x\s*B$/]);
});

test("ids lead to their twins, whatever the column is called, and so do those of a sample", async ({
  page,
  demo,
}) => {
  await open(page, demo, "~own/query");
  const heading = page
    .getByRole("complementary", { name: "Inspector" })
    .getByRole("heading", { level: 2 });
  await page.getByRole("button", { name: /with the largest/ }).click();
  await expect(page.getByText("20 rows")).toBeVisible();
  await expect(cells(page).first().locator("[data-twin]")).toHaveCount(1);
  await run(
    page,
    "MATCH (s:Site), (b:Building) WHERE b.$dtId = 'b1' RETURN s.$dtId, b.$dtId AS id, s.name AS name",
  );
  await expect(cells(page)).toHaveText(["site", "b1", "Harbour Campus"]);
  await cells(page).nth(0).getByRole("button", { name: "site" }).click();
  await expect(heading).toHaveText("Harbour Campus site"); // its name first
  await cells(page).nth(1).getByRole("button", { name: "b1" }).click();
  await expect(heading).toHaveText(/ b1$/);
  await expect(cells(page).nth(2).getByRole("button")).toHaveCount(0);
});

test("letters that turn what follows are shown as marks in texts, ids and lists", async ({
  page,
  demo,
}) => {
  await open(page, demo, "~own/query");
  await run(page, "WITH '\\u202Eevil' AS text RETURN text, text AS `$dtId`, [text] AS list");
  await expect(cells(page)).toHaveText(["\ufffdevil", "\ufffdevil", /"\ufffdevil"/]);
});

test("the height of the editor is set by keyboard and remembered, the results take the rest", async ({
  page,
  demo,
}) => {
  await open(page, demo, "~own/query");
  await run(page, "MATCH (n) RETURN n.$dtId AS id LIMIT 200");
  await expect(page.getByText("200 rows")).toBeVisible();
  const edge = page.getByRole("separator", { name: "Height of the editor" });
  const edgeAt = async (): Promise<number> => (await edge.boundingBox())?.y ?? 0;
  const heightOf = async (): Promise<number> =>
    (await page.locator(".query-editor").boundingBox())?.height ?? 0;
  const place = await edgeAt();
  const height = await heightOf();
  await edge.focus();
  await page.keyboard.press("ArrowDown");
  await expect.poll(edgeAt).toBeGreaterThan(place + 20);
  expect(await heightOf()).toBeGreaterThan(height + 20);
  const grid = await page.locator(".results-scroll").boundingBox();
  const bottom = page.viewportSize()?.height ?? 0;
  expect(Math.abs((grid?.y ?? 0) + (grid?.height ?? 0) - bottom)).toBeLessThan(2);

  const moved = await edgeAt();
  await page.reload();
  await expect(edge).toBeVisible();
  expect(Math.abs((await edgeAt()) - moved)).toBeLessThan(3);
});

test("a page of the vendor's language has the members of twins as columns", async ({
  page,
  demo,
}) => {
  await open(page, demo, "~own/query");
  await run(
    page,
    "SELECT TOP(3) * FROM DIGITALTWINS T WHERE IS_OF_MODEL(T, 'dtmi:com:example:building:Site;1')",
  );
  await expect(page.getByRole("columnheader").first()).toHaveText("$dtId");
  await expect(page.getByText("Azure Digital Twins SQL")).toBeVisible();
});

test("columns are sorted by their values, and the arrow keys move among cells", async ({
  page,
  demo,
}) => {
  await open(page, demo, "~own/query");
  await run(page, "UNWIND [10, null, 9, 100] AS n RETURN n");
  await expect(cells(page)).toHaveText(["10", "null", "9", "100"]);
  await page.getByRole("button", { name: "n", exact: true }).click();
  await expect(cells(page)).toHaveText(["9", "10", "100", "null"]);
  await page.getByRole("button", { name: "n", exact: true }).click();
  await expect(cells(page)).toHaveText(["100", "10", "9", "null"]);
  await cells(page).first().focus();
  await page.keyboard.press("ArrowDown");
  await expect(cells(page).nth(1)).toBeFocused();
});

test("more rows come as one scrolls", async ({ page, demo }) => {
  await open(page, demo, "~own/query");
  await run(page, "MATCH (n) RETURN n.$dtId AS id");
  await expect(page.getByText("500+ rows")).toBeVisible();
  await cells(page).first().focus();
  await page.keyboard.press("ControlOrMeta+ArrowDown");
  await expect(page.getByText("1,000+ rows")).toBeVisible();
  await page.getByRole("button", { name: "All", exact: true }).click();
  await expect(page.getByText("1,978 rows")).toBeVisible();
});

test("a part of the rows that is sorted is said to be one, and is seen and saved as it is sorted", async ({
  page,
  demo,
}) => {
  await open(page, demo, "~own/query");
  const fact = page.getByText("sorted: the rows loaded");
  await run(page, "UNWIND range(1, 700) AS n RETURN n, 700 - n AS rest");
  await expect(page.getByText("500+ rows")).toBeVisible();
  await cells(page).first().focus();
  for (let press = 0; press < 8; press++) await page.keyboard.press("PageDown");
  const scroll = page.locator(".results-scroll");
  const top = () => scroll.evaluate((one) => one.scrollTop);
  await expect.poll(top).toBeGreaterThan(500);
  await expect(fact).toHaveCount(0);
  await page.getByRole("button", { name: "rest", exact: true }).click();
  await expect.poll(top).toBe(0);
  await expect(fact).toBeVisible();
  await expect(cells(page).nth(1)).toHaveText("200");
  const save = async (which: RegExp): Promise<string[]> => {
    await page.getByRole("button", { name: "Export" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByText(which).click();
    const download = page.waitForEvent("download");
    await dialog.getByRole("button", { name: "Export" }).click();
    return readFileSync(await (await download).path(), "utf-8").split("\r\n");
  };
  expect((await save(/that were fetched, sorted/)).slice(0, 3)).toEqual([
    "n,rest",
    "500,200",
    "499,201",
  ]);
  expect((await save(/in the order of the query/)).slice(0, 2)).toEqual(["n,rest", "1,699"]);
  await page.getByRole("button", { name: "All", exact: true }).click();
  await expect(page.getByText("700 rows")).toBeVisible();
  await expect(cells(page).nth(1)).toHaveText("0");
  await expect(fact).toHaveCount(0);
  await run(page, "UNWIND [1, 2] AS rest RETURN rest, rest AS n");
  await expect(cells(page)).toHaveText(["1", "1", "2", "2"]);
  await expect(page.getByRole("columnheader", { name: "rest" })).toHaveAttribute(
    "aria-sort",
    "none",
  );
});

test("a query that fails or is cancelled leaves the rows before it, and says that they are", async ({
  page,
  demo,
}) => {
  await open(page, demo, "~own/query");
  await run(page, "RETURN 1 AS one");
  await expect(cells(page)).toHaveText(["1"]);
  await run(page, "RETRUN 2 AS two");
  await expect(page.getByRole("alert")).toContainText("The query failed");
  await expect(cells(page)).toHaveText(["1"]);
  await expect(page.locator(".results-earlier")).toHaveCount(1);
  await expect(page.getByText("of the query before")).toBeVisible();
  await run(page, "MATCH (a), (b), (c) WHERE a.name + b.name + c.name = 'x' RETURN count(*)");
  await page.getByRole("button", { name: "Cancel" }).click();
  await expect(page.getByText(/^The query was cancelled .* the one before\.$/)).toBeVisible();
  await expect(cells(page)).toHaveText(["1"]);
  await run(page, "RETURN 3 AS three");
  await expect(cells(page)).toHaveText(["3"]);
  await expect(page.locator(".results-earlier")).toHaveCount(0);
});

test("an error is underlined at its place while one writes", async ({ page, demo }) => {
  await open(page, demo, "~own/query");
  await write(page, "MATCH (r:Room)\nRETRUN r");
  await expect(page.getByRole("status").filter({ hasText: "Line 2, column 1" })).toBeVisible();
  await expect(page.locator(".cm-lintRange-error")).toHaveText("RETRUN");
  await takeScreenshot(page, "query-error");
  await page.getByRole("button", { name: "Run", exact: false }).first().click();
  await expect(page.getByRole("alert")).toContainText("The query failed");
  await write(page, "SELECT * FROM DIGITALTWINS T WHERE T.area >> 1");
  await expect(page.locator(".cm-lintRange-error")).toHaveText(">");
});

test("a name that nobody knows is warned of, and replaced by what was meant", async ({
  page,
  demo,
}) => {
  await open(page, demo, "~own/query");
  await run(page, "MATCH (r:Rom) RETURN count(r) AS n");
  const warnings = page.getByRole("list", { name: "Warnings" });
  await expect(warnings).toContainText("did you mean 'Room'?");
  await expect(page.locator(".cm-lintRange-warning")).toHaveText("Rom");
  await page.locator(".cm-lintRange-warning").hover();
  await expect(page.getByRole("button", { name: "Replace by Room" })).toHaveCount(2);
  await warnings.getByRole("button", { name: "Replace by Room" }).click();
  await expect(editor(page)).toContainText("MATCH (r:Room)");
  await expect(page.locator(".cm-lintRange-warning")).toHaveCount(0);
  await page.getByRole("button", { name: "Run", exact: false }).first().click();
  await expect(cells(page)).toHaveText(["408"]);
});

test("labels, properties and functions are completed", async ({ page, demo }) => {
  await open(page, demo, "~own/query");
  await editor(page).click();
  await page.keyboard.type("MATCH (r:Meet");
  await page.getByRole("option", { name: /^MeetingRoom/ }).click();
  await page.keyboard.type(") RETURN r.ar");
  const area = page.getByRole("option", { name: /^area/ });
  await expect(area).toContainText("m²");
  await takeScreenshot(page, "query-completion");
  await area.click();
  await page.keyboard.type(", toUp");
  await page.getByRole("option", { name: /^toUpper/ }).click();
  await page.keyboard.type("r.name");
  await expect(editor(page)).toHaveText("MATCH (r:MeetingRoom) RETURN r.area, toUpper(r.name)");
});

test("Tab takes what is offered, of components and values too, and leads on where nothing is", async ({
  page,
  demo,
}) => {
  await open(page, demo, "~own/query");
  await editor(page).click();
  const options = page.getByRole("option");
  const take = async (typed: string, name: RegExp): Promise<void> => {
    await page.keyboard.type(typed);
    await expect(options.first()).toContainText(name);
    await page.waitForTimeout(150); // a key at once is not taken for an answer to what comes up
    await page.keyboard.press("Tab");
    await expect(options).toHaveCount(0);
  };
  await page.keyboard.type("MAT");
  await expect(options).toHaveText(["MATCH"]);
  await page.keyboard.press("Backspace");
  await take("T", /^MATCH/);
  await take(" (n:MeetingRoom {cap", /^capacity/);
  await take(": 12}) WHERE n.climate.mo", /^mode/);
  await take(" = 'he", /^heating/);
  await page.keyboard.type("' RETURN n ");
  await expect(editor(page)).toHaveText(
    /^MATCH \(n:MeetingRoom \{capacity: 12\}\) WHERE n\.climate\.mode = 'heating' RETURN n/,
  );
  await page.keyboard.press("Escape");
  await page.keyboard.press("Tab");
  await expect(editor(page)).not.toBeFocused();
});

test("parameters are asked for and sent", async ({ page, demo }) => {
  await open(page, demo, "~own/query");
  await write(page, "RETURN $floor + 1 AS next");
  await expect(page.getByText("No value for $floor")).toBeVisible();
  await page.getByRole("button", { name: "Add", exact: true }).click();
  const field = page.getByRole("textbox", { name: "Parameters as JSON" });
  await field.click();
  await page.keyboard.press("ControlOrMeta+a");
  await page.keyboard.insertText('{"floor": 2');
  await expect(page.getByRole("alert")).toContainText("The parameters are no JSON");
  await page.keyboard.insertText("}");
  await page.getByRole("button", { name: "Run", exact: false }).first().click();
  await expect(cells(page)).toHaveText(["3"]);
});

test("the plan is drawn, with the statement that the store runs", async ({ page, demo }) => {
  const problems = watchConsole(page);
  await open(page, demo, "~own/query");
  await run(page, ROOMS);
  await expect(page.getByText("408 rows")).toBeVisible();
  await write(page, "MATCH (r:Room) WITH r, rand() AS x\nMATCH (r)-[:adjacentTo]->(o) RETURN o, x");
  await page.getByRole("button", { name: "Explain" }).click();
  await expect(page.getByRole("img", { name: /Plan of \d+ operators/ })).toBeVisible();
  const statement = page.getByLabel("Statement of part 1");
  await expect(statement).toContainText("SELECT");
  const keyword = statement.locator("span", { hasText: /^SELECT$/ }).first();
  const colorOf = (element: Element) => getComputedStyle(element).color;
  expect(await keyword.evaluate(colorOf)).not.toBe(await statement.evaluate(colorOf));
  await takeScreenshot(page, "plan");
  await page.getByRole("radio", { name: "Text" }).click();
  await expect(page.getByLabel("Plan as text")).toContainText("Match");
  await page.getByRole("button", { name: "Profile" }).click();
  await expect(page.getByLabel("Plan as text")).toContainText(/Match\s+\[\d+ rows, /);
  await page.getByRole("tab", { name: "Table" }).click();
  await expect(page.getByText("408 rows")).toBeVisible();
  expect(problems).toEqual([]);
});

test("a query that takes long is cancelled, and the next one runs", async ({ page, demo }) => {
  await open(page, demo, "~own/query");
  await run(page, "MATCH (a), (b), (c) WHERE a.name + b.name + c.name = 'x' RETURN count(*)");
  await page.getByRole("button", { name: "Cancel" }).click();
  await expect(page.getByText("The query was cancelled")).toBeVisible();
  await run(page, "RETURN 1 AS one");
  await expect(cells(page)).toHaveText(["1"]);
});

test("a link has query, parameters and view, and a reload keeps them", async ({
  page,
  demo,
  context,
}) => {
  await context.grantPermissions(["clipboard-read", "clipboard-write"]);
  await open(page, demo, "~own/query");
  await run(page, "RETURN 'a&b' AS text");
  await page.getByRole("tab", { name: "JSON" }).click();
  await page.getByRole("button", { name: "Copy link" }).click();
  await expect(page.getByText("The link to this query is copied.")).toBeVisible();
  const link = await page.evaluate(() => navigator.clipboard.readText());
  const other = await context.newPage();
  await other.goto(link);
  await expect(other.getByLabel("Rows as JSON")).toContainText('"text": "a&b"');
  await expect(editor(other)).toHaveText("RETURN 'a&b' AS text");
  await other.reload();
  await expect(other.getByLabel("Rows as JSON")).toContainText('"text": "a&b"');
});

test("a query of several lines outlives a reload and a link, below the base path too, and no server hears of it", async ({
  page,
  demo,
  context,
}) => {
  await context.grantPermissions(["clipboard-read", "clipboard-write"]);
  const asked: string[] = [];
  page.on("request", (request) => asked.push(request.url()));
  const other = await context.newPage();
  for (const path of ["~own/query", "../api/explorer/~own/query"]) {
    await open(page, demo, path);
    await run(page, "// one\n\nRETURN $area +\n\t1 AS next");
    await page.getByRole("button", { name: "Add", exact: true }).click();
    const parameters = page.getByRole("textbox", { name: "Parameters as JSON" });
    await parameters.click();
    await page.keyboard.press("ControlOrMeta+a");
    await page.keyboard.insertText('{\n  "area": 41\n}');
    await page.getByRole("button", { name: "Run", exact: false }).first().click();
    await expect(cells(page)).toHaveText(["42"]);
    await page.reload();
    await expect(cells(page)).toHaveText(["42"]);
    await page.getByRole("button", { name: "Copy link" }).click();
    await expect(page.getByText("The link to this query is copied.")).toBeVisible();
    await other.goto(await page.evaluate(() => navigator.clipboard.readText()));
    await expect(cells(other)).toHaveText(["42"]);
    expect(new URL(other.url()).pathname).toBe(new URL(page.url()).pathname);
  }
  expect(asked.filter((url) => /area|RETURN/.test(new URL(url).search))).toEqual([]);
});

test("a link as long as a long query is made, and one that is longer is not said to be", async ({
  page,
  demo,
  context,
}) => {
  await context.grantPermissions(["clipboard-read", "clipboard-write"]);
  const copy = page.getByRole("button", { name: "Copy link" });
  await open(page, demo, "~own/query");
  await write(page, `RETURN '${"ä".repeat(4000)}' AS text`);
  await copy.click();
  await expect(page.getByText("The link to this query is copied.")).toBeVisible();
  const link = await page.evaluate(() => navigator.clipboard.readText());
  expect(link.length).toBeGreaterThan(8192); // what the service takes of an address
  const other = await context.newPage();
  await other.goto(link);
  await expect(cells(other)).toHaveText(["ä".repeat(4000)]);
  await write(page, `RETURN '${"x".repeat(30_000)}' AS text`);
  await copy.click();
  await expect(page.getByText(/^No link is copied: .* of 30,0\d\d characters/)).toBeVisible();
  expect(await page.evaluate(() => navigator.clipboard.readText())).toBe(link);
});

test("a query with per cent signs is run as written, from the editor, a link and an old address", async ({
  page,
  demo,
}) => {
  const text = "RETURN 25%10 AS rest, 'a%2Fb' AS path, '%x' AS open, '1+1 & 2' AS more";
  const row = ["5", "a%2Fb", "%x", "1+1 & 2"];
  await open(page, demo, "~own/query");
  await run(page, text);
  await expect(cells(page)).toHaveText(row);
  await expect(editor(page)).toHaveText(text);
  await page.reload();
  await expect(cells(page)).toHaveText(row);
  await expect(editor(page)).toHaveText(text);
  const search = new URLSearchParams({ query: text }).toString();
  await page.goto(`${demo.url}/explorer/own/query?${search}`);
  await expect(cells(page)).toHaveText(row);
  await expect(editor(page)).toHaveText(text);
  await expect(page).toHaveURL(`${demo.url}/explorer/~own/query#${search}`);
});

test("the browser leads back from query to query, and then to where one came from", async ({
  page,
  demo,
}) => {
  await open(page, demo, "~own/models");
  await page.getByRole("link", { name: "Query", exact: true }).click();
  for (const number of ["1", "2", "3"]) {
    await run(page, `RETURN ${number} AS n`);
    await expect(cells(page)).toHaveText([number]);
  }
  await page.keyboard.press("ControlOrMeta+Enter"); // once more is no other query
  await expect(page).toHaveURL(/query=RETURN\+3/);
  for (const number of ["2", "1"]) {
    await page.goBack();
    await expect(cells(page)).toHaveText([number]);
    await expect(editor(page)).toHaveText(`RETURN ${number} AS n`);
  }
  await page.goForward();
  await expect(cells(page)).toHaveText(["2"]);
  await page.goBack();
  await expect(cells(page)).toHaveText(["1"]);
  await page.goBack();
  await expect(page.getByRole("main", { name: "Models" })).toBeVisible();
});

test("rows of another query than the one that is written are told to be", async ({
  page,
  demo,
}) => {
  await open(page, demo, "~own/query");
  await run(page, "RETURN 1 AS n");
  await expect(cells(page)).toHaveText(["1"]);
  const before = page.getByText("of the query before");
  await expect(before).toHaveCount(0);
  await write(page, "RETURN 2 AS n");
  await expect(before).toBeVisible();
  await page.keyboard.press("ControlOrMeta+Enter");
  await expect(cells(page)).toHaveText(["2"]);
  await expect(before).toHaveCount(0);
});

test("what is written outlives another view and a reload", async ({ page, demo }) => {
  await open(page, demo, "~own/query");
  await write(page, "MATCH (n) RETURN n // not run");
  await page.getByRole("link", { name: "Models" }).click();
  await page.getByRole("link", { name: "Query" }).click();
  await expect(editor(page)).toHaveText("MATCH (n) RETURN n // not run");
  await page.reload();
  await expect(editor(page)).toHaveText("MATCH (n) RETURN n // not run");
});

test("queries are kept in history and by name, and samples fit the models", async ({
  page,
  demo,
}) => {
  await open(page, demo, "~own/query");
  await run(page, "RETURN 42 AS answer");
  await expect(cells(page)).toHaveText(["42"]);
  await page.getByRole("button", { name: "Save query" }).click();
  await page.getByRole("textbox", { name: "Name" }).fill("The answer");
  await page.getByRole("button", { name: "Save", exact: true }).click();
  await page.reload();
  await page.getByRole("button", { name: /^Queries/ }).click();
  await expect(page.getByRole("row", { name: "The answer" })).toBeVisible();
  await page.getByRole("tab", { name: "History" }).click();
  await expect(page.getByRole("row", { name: "RETURN 42 AS answer" })).toBeVisible();
  await page.getByRole("tab", { name: "Samples" }).click();
  await takeScreenshot(page, "query-library");
  await page.getByRole("row", { name: "Twins by model" }).click();
  await expect(cells(page).first()).toHaveText(/^dtmi:com:example:building:/);
});

test("queries that two tabs save are both kept, and are in the lists of both", async ({
  page,
  demo,
  context,
}) => {
  const other = await context.newPage();
  for (const tab of [page, other]) await open(tab, demo, "~own/query");
  const save = async (tab: Page, name: string): Promise<void> => {
    await run(tab, `RETURN '${name}' AS name`);
    await expect(cells(tab)).toHaveText([name]);
    await tab.getByRole("button", { name: "Save query" }).click();
    await tab.getByRole("textbox", { name: "Name" }).fill(name);
    await tab.getByRole("button", { name: "Save", exact: true }).click();
  };
  await save(page, "from A");
  await save(other, "from B");
  for (const tab of [page, other]) {
    await tab.getByRole("button", { name: /^Queries/ }).click();
    const library = tab.getByRole("dialog", { name: "Queries" });
    const rows = library.getByRole("row");
    await expect(rows).toHaveText([/^from A/, /^from B/]);
    await library.getByRole("tab", { name: "History" }).click();
    await expect(rows).toHaveText([/^RETURN 'from B'/, /^RETURN 'from A'/]);
  }
});

test("what somebody wrote, ran and saved is not shown to who signs in next", async ({
  page,
  secured,
}) => {
  await page.goto(`${secured.service.url}/explorer/~own/query`);
  await signIn(page, "Ada Lovelace");
  await run(page, "RETURN 'of Ada' AS secret");
  await expect(cells(page)).toHaveText(["of Ada"]);
  const signOut = async (name: string): Promise<void> => {
    await page.getByRole("button", { name: `Signed in as ${name}` }).click();
    await page.getByRole("menuitem", { name: "Sign out" }).click();
  };
  // Whoever signs in after somebody signed out begins at the overview.
  const toQuery = () =>
    page.getByRole("navigation", { name: "Views" }).getByRole("link", { name: "Query" }).click();
  await signOut("Ada Lovelace");
  await signIn(page, "Rob Reader");
  await toQuery();
  await expect(editor(page)).toBeVisible();
  await expect(editor(page)).not.toContainText("Ada");
  await page.getByRole("button", { name: /^Queries/ }).click();
  await page.getByRole("tab", { name: "History" }).click();
  await expect(page.getByText("No query was run yet in this browser.")).toBeVisible();
  await page.keyboard.press("Escape");
  await signOut("Rob Reader");
  await signIn(page, "Ada Lovelace");
  await toQuery();
  await page.getByRole("button", { name: /^Queries/ }).click();
  await page.getByRole("tab", { name: "History" }).click();
  await expect(page.getByRole("row", { name: "RETURN 'of Ada' AS secret" })).toBeVisible();
});

test("a result is exported as CSV, all of its pages", async ({ page, demo }) => {
  await open(page, demo, "~own/query");
  await run(page, "MATCH (n) RETURN n.$dtId AS id, '=1+\"x\"' AS text ORDER BY id");
  await expect(page.getByText("500+ rows")).toBeVisible();
  await page.getByRole("button", { name: "Export" }).click();
  const download = page.waitForEvent("download");
  await page.getByRole("dialog").getByRole("button", { name: "Export", exact: true }).click();
  const file = await download;
  expect(file.suggestedFilename()).toBe("result.csv");
  const lines = readFileSync(await file.path(), "utf-8").split("\r\n");
  expect(lines).toHaveLength(1978 + 2);
  expect(lines.slice(0, 2)).toEqual(["id,text", expect.stringMatching(/^[\w-]+,"'=1\+""x"""$/)]);
});

test("a table says names and places, its bar is one line, and no empty inspector takes its room", async ({
  page,
  demo,
}) => {
  await page.setViewportSize({ width: 1440, height: 900 });
  await open(page, demo);
  const inspector = page.getByRole("complementary", { name: "Inspector" });
  await expect(inspector).toBeVisible();
  await writeQuery(
    page,
    "MATCH (l {$dtId: 'b1-l0'})-[c:contains]->(r {$dtId: 'b1-l0-r02'}) RETURN c, r, 1 AS one",
  );
  await page.getByRole("button", { name: /^Run/ }).click();
  const grid = page.getByRole("grid", { name: "Rows of the result" });
  const cells = grid.getByRole("gridcell");
  await expect(cells.nth(0)).toContainText(/Level 0\s*–\s*contains\s*→\s*Office 0\.02/);
  await expect(cells.nth(1)).toContainText("Level 0 · North Wing");
  await expect(inspector).toHaveCount(0);
  await cells.nth(0).getByRole("button", { name: "Office 0.02" }).click();
  await expect(inspector.getByRole("heading", { name: "Office 0.02" })).toBeVisible();
  const bar = page.locator(".results-bar");
  await expect.poll(async () => (await bar.boundingBox())?.height).toBeLessThan(44);
  await expect(page.getByRole("checkbox", { name: "Nested members as columns" })).toBeAttached();
});
