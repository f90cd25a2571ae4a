import { ask, expect, findBarriers, open, test, watchConsole, writeQuery } from "./fixtures";
import type { Service } from "./processes";
import { takeScreenshot } from "./screenshots";

test.describe.configure({ timeout: 240_000 });

const LEVEL = "MATCH (l {$dtId: 'b1-l1'})-[c:contains]->(r) RETURN l, c, r";

/** How many twins of a level have this number of desks. */
async function countDesks(service: Service, desks: number): Promise<number> {
  const query = `MATCH (l {$dtId: 'b1-l1'})-[:contains]->(r) WHERE r.desks = ${desks} RETURN r`;
  return (await ask(service, query)).length;
}

test("a picture is narrowed by values and numbers of properties, or highlights them", async ({
  page,
  demo,
}) => {
  const problems = watchConsole(page);
  await page.setViewportSize({ width: 1440, height: 900 });
  await open(page, demo);
  await writeQuery(page, LEVEL);
  await page.keyboard.press("ControlOrMeta+Enter");
  await page.getByRole("tab", { name: "Graph" }).click();
  const foot = page.locator(".picture-foot");
  await expect(foot).toHaveText(/^1[0-9] twins/);
  const all = Number(/^\d+/.exec((await foot.textContent()) ?? "")?.[0]);
  const facets = page.getByRole("region", { name: "Properties" });
  await facets.getByRole("button", { name: /^climate.mode/ }).click();
  const values = facets.getByRole("list", { name: "Values of climate.mode" });
  const value = values.getByRole("listitem").first();
  const count = Number(/(\d+)$/.exec((await value.textContent()) ?? "")?.[1]);
  expect(count).toBeGreaterThan(0);
  await value.getByRole("checkbox").check({ force: true });
  await expect(foot).toHaveText(new RegExp(`^${count} twin`));
  await takeScreenshot(page, "facets");
  // Together with a range that nothing lies in, nothing is left.
  await facets.getByRole("button", { name: /^area/ }).click();
  await facets.getByLabel("From of area").fill("100000");
  await expect(page.getByText("No twin here passes what is ticked in the legend.")).toBeVisible();
  await page.getByRole("button", { name: "Highlight" }).click();
  await expect(foot).toHaveText(new RegExp(`^${all} twins, .*, 0 highlighted`));
  await facets.getByLabel("From of area").fill("");
  await expect(foot).toHaveText(new RegExp(`, ${count} highlighted`));
  await facets.getByRole("button", { name: "Clear what is chosen" }).click();
  await expect(foot).not.toContainText("highlighted");
  expect(problems).toEqual([]);
});

test("a property of several twins is set at once, refused as a whole, and undone as a whole", async ({
  page,
  demo,
}) => {
  await page.setViewportSize({ width: 1440, height: 900 });
  await open(page, demo);
  await writeQuery(page, LEVEL);
  await page.keyboard.press("ControlOrMeta+Enter");
  await page.getByRole("tab", { name: "Table" }).click();
  await page.getByRole("button", { name: "Edit twins" }).click();
  const form = page.getByRole("dialog", { name: /^Set a property of 1\d twins/ });
  const option = form.getByLabel("Property").locator("option", { hasText: /^desks/ });
  await expect(option).toHaveCount(1); // they come with the twins
  const desks = (await option.textContent()) ?? "";
  await form.getByLabel("Property").selectOption(desks);
  await form.getByLabel("Value", { exact: true }).fill("many");
  await expect(form.getByText("It has to be a whole number")).toBeVisible();
  await form.getByLabel("Value", { exact: true }).fill("77");
  await expect(form.getByRole("status")).toContainText(/\d+ change, \d+ stay as they are/);
  await expect(form.getByText("has no such property").first()).toBeVisible();
  const steps = form.getByRole("list", { name: "What changes" });
  await steps.getByRole("listitem").first().getByRole("checkbox").uncheck({ force: true });
  await takeScreenshot(page, "bulk-edit");
  await page.emulateMedia({ colorScheme: "dark" });
  await takeScreenshot(page, "bulk-edit-dark");
  // Somebody else is faster at two of them: nothing is set, and it is said which.
  for (const at of [1, 2]) {
    const step = await steps.getByRole("listitem").nth(at).textContent();
    const id = /\((b1-[\w-]+)\)/.exec(step ?? "")?.[1] ?? "";
    const answer = await fetch(`${demo.url}/digitaltwins/${id}`, {
      method: "PATCH",
      headers: { "Content-Type": "application/json-patch+json" },
      body: JSON.stringify([{ op: "add", path: "/desks", value: 31 }]),
    });
    expect(answer.status).toBe(204);
  }
  const submit = form.getByRole("button", { name: /^Set it of \d+ twins/ });
  const many = Number(/\d+/.exec((await submit.textContent()) ?? "")?.[0]);
  await submit.click();
  await expect(form.getByText("was changed meanwhile: it is shown as it is now")).toHaveCount(2);
  expect(await countDesks(demo, 77)).toBe(0);
  await expect(steps.getByText("31 → 77")).toHaveCount(2);
  await submit.click();
  await expect(form).toHaveCount(0);
  expect(await countDesks(demo, 77)).toBe(many);
  await page.getByRole("button", { name: /^Changes made here/ }).click();
  await page.getByRole("button", { name: /^Undo: desks of/ }).click();
  await expect.poll(() => countDesks(demo, 77)).toBe(0);
  await expect.poll(() => countDesks(demo, 31)).toBeGreaterThan(0);
});

test("several twins are deleted with their relationships, after it is said how many", async ({
  page,
  demo,
}) => {
  const problems = watchConsole(page);
  const put = (path: string, body: object): Promise<Response> =>
    fetch(`${demo.url}/digitaltwins/${path}`, {
      method: "PUT",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify(body),
    });
  const model = "dtmi:com:example:building:Level;1";
  for (const id of ["spare-1", "spare-2", "spare-3"]) {
    expect((await put(id, { $metadata: { $model: model } })).status).toBe(200);
  }
  const contained = { $relationshipName: "contains", $targetId: "spare-1" };
  expect((await put("b1/relationships/spare", contained)).status).toBe(200);
  const spare = "MATCH (l:Level) WHERE l.$dtId STARTS WITH 'spare-' RETURN l";
  await page.setViewportSize({ width: 1440, height: 900 });
  await open(page, demo);
  await writeQuery(page, spare);
  await page.keyboard.press("ControlOrMeta+Enter");
  await page.getByRole("tab", { name: "Table" }).click();
  await page.getByRole("button", { name: "Edit twins" }).click();
  await page.getByRole("button", { name: "Delete them instead…" }).click();
  const form = page.getByRole("dialog", { name: "Delete 3 twins?" });
  const submit = form.getByRole("button", { name: "Delete 3 twins and 1 relationship" });
  await expect(submit).toBeVisible();
  expect(await findBarriers(page)).toEqual([]);
  expect(await ask(demo, spare)).toHaveLength(3);
  await submit.click();
  await expect(form).toHaveCount(0);
  expect(await ask(demo, spare)).toEqual([]);
  await page.getByRole("button", { name: /^Changes made here/ }).click();
  const list = page.getByRole("dialog", { name: "Changes made here" });
  await expect(list.getByText("3 twins and 1 relationship deleted")).toBeVisible();
  expect(problems).toEqual([]);
});

test("who may not write is offered no bulk edit", async ({ page, secured }) => {
  await page.goto(`${secured.service.url}/explorer/~own/query`);
  await page.getByRole("button", { name: /^Sign in at/ }).click();
  await page.getByRole("link", { name: "Rob Reader" }).click();
  await writeQuery(page, LEVEL);
  await page.keyboard.press("ControlOrMeta+Enter");
  await page.getByRole("tab", { name: "Table" }).click();
  // Who may write is offered it beside these rows of twins.
  await expect(page.getByRole("gridcell").locator("[data-twin]").first()).toBeVisible();
  await expect(page.getByRole("button", { name: "Export" })).toBeVisible();
  await expect(page.getByRole("button", { name: "Edit twins" })).toHaveCount(0);
});
