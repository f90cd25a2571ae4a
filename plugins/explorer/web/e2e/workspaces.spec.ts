import type { Browser, Page } from "@playwright/test";

import { expect, open, signIn, test, watchConsole, writeQuery } from "./fixtures";
import type { Service } from "./processes";
import { takeScreenshot } from "./screenshots";

const LEVEL = "MATCH (l {$dtId: $level})-[c:contains]->(r) RETURN l, c, r";

async function ask(page: Page, query: string): Promise<void> {
  await writeQuery(page, query);
  await page.keyboard.press("ControlOrMeta+Enter");
}

function foot(page: Page) {
  return page.locator(".picture-foot");
}

function legend(page: Page) {
  return page.getByRole("complementary", { name: "Legend" });
}

function button(page: Page) {
  return page.locator(".workspace-button");
}

/** Choose an item of the menu of workspaces. */
async function choose(page: Page, item: string): Promise<void> {
  await button(page).click();
  await page.getByRole("menuitem", { name: item, exact: true }).click();
}

/** Save what is in view under a name. */
async function saveAs(page: Page, name: string): Promise<void> {
  await choose(page, "Save as …");
  const dialog = page.getByRole("dialog", { name: "Save as a workspace" });
  await dialog.getByRole("textbox", { name: "Name" }).fill(name);
  await dialog.getByRole("button", { name: "Save" }).click();
  await expect(dialog).toHaveCount(0);
  await expect(button(page)).toHaveAccessibleName(`Workspace ${name}`);
}

/** A workspace as the service has it, past the page. */
async function put(service: Service, id: string, name: string, content: object): Promise<void> {
  const answer = await fetch(`${service.url}/workspaces/${id}`, {
    method: "PUT",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ name, content }),
  });
  expect(answer.status).toBe(200);
}

/** Another person at another browser. */
async function another(browser: Browser): Promise<Page> {
  const context = await browser.newContext({ viewport: { width: 1440, height: 900 } });
  return context.newPage();
}

/** Picture the rooms of a level by a query with a parameter. */
async function pictureLevel(page: Page, service: Service): Promise<void> {
  await page.setViewportSize({ width: 1440, height: 900 });
  await open(page, service, "~own/query");
  const parameters = new URLSearchParams({ query: LEVEL, parameters: '{"level": "b1-l0"}' });
  await page.goto(`${service.url}/explorer/~own/query#${parameters}&view=graph`);
  await expect(foot(page)).toHaveText(/^1[0-9] twins, /, { timeout: 60_000 });
}

test.describe.configure({ timeout: 240_000 });

test("a picture is kept in the graph with all that belongs to it, and its link shows it elsewhere", async ({
  page,
  demo,
  browser,
}) => {
  const problems = watchConsole(page);
  await pictureLevel(page, demo);
  const before = Number(/^\d+/.exec((await foot(page).textContent()) ?? "")?.[0]);
  // One twin is taken out, one comes in, one is pinned, a style and a filter are set.
  const canvas = page.getByRole("application", { name: "Graph" });
  await expect(async () => {
    await canvas.focus();
    await page.keyboard.press("ArrowRight");
    await expect(page.locator(".picture-told")).not.toBeEmpty({ timeout: 1000 });
  }).toPass();
  await page.keyboard.press("e");
  await expect(foot(page)).not.toHaveText(new RegExp(`^${before} twins`));
  await page.keyboard.press("p");
  await legend(page).getByRole("button", { name: "Style of Office" }).click();
  await page.getByLabel("Colour", { exact: true }).fill("#aa3377");
  await page.keyboard.press("Escape");
  await page.getByRole("searchbox", { name: "Filter the graph" }).fill("b1");
  const seen = /^\d+ twins, \d+ relationships/.exec((await foot(page).textContent()) ?? "")?.[0];
  await saveAs(page, "North Wing");
  await expect(page).toHaveURL(/workspace=north-wing/);
  const link = `${demo.url}/explorer/~own/query?workspace=north-wing`;

  const other = await another(browser);
  const theirs = watchConsole(other);
  await other.goto(link);
  await expect(button(other)).toHaveAccessibleName("Workspace North Wing");
  await expect(foot(other)).toHaveText(new RegExp(`^${seen}`));
  await expect(other.getByRole("searchbox", { name: "Filter the graph" })).toHaveValue("b1");
  await expect(other.getByRole("button", { name: /^Unpin all \(1\)/ })).toBeVisible();
  await expect(other.getByRole("textbox", { name: "Query", exact: true })).toContainText("$level");
  await legend(other).getByRole("button", { name: "Style of Office" }).click();
  await expect(other.getByLabel("Colour", { exact: true })).toHaveValue("#aa3377");
  await other.keyboard.press("Escape");
  await takeScreenshot(other, "workspace");
  await other.emulateMedia({ colorScheme: "dark" });
  await takeScreenshot(other, "workspace-dark");
  // Its style is the workspace's: nothing of it stays in this browser.
  await choose(other, "Close");
  await expect(other).not.toHaveURL(/workspace=/);
  await legend(other).getByRole("button", { name: "Style of Office" }).click();
  await expect(other.getByLabel("Colour", { exact: true })).not.toHaveValue("#aa3377");
  await other.keyboard.press("Escape");

  // The list names it, the menu renames and deletes it.
  await choose(other, "All workspaces …");
  const list = other.getByRole("dialog", { name: "Workspaces" });
  await list.getByRole("row", { name: "North Wing" }).click();
  await expect(button(other)).toHaveAccessibleName("Workspace North Wing");
  await choose(other, "Rename …");
  const rename = other.getByRole("dialog", { name: "Rename the workspace" });
  await rename.getByRole("textbox", { name: "Name" }).fill("South Wing");
  await rename.getByRole("button", { name: "Rename" }).click();
  await expect(button(other)).toHaveAccessibleName("Workspace South Wing");
  await choose(other, "Delete …");
  await other.getByRole("button", { name: "Delete", exact: true }).click();
  await expect(button(other)).toHaveAccessibleName("Workspaces");
  await choose(other, "All workspaces …");
  await expect(list).toContainText("There is no workspace yet.");
  await list.getByRole("button", { name: "Close" }).click();
  expect(theirs).toEqual([]);
  expect(problems).toEqual([]);
  await other.context().close();
});

test("what is not saved is shown, asked for before it is lost, and saved", async ({
  page,
  demo,
}) => {
  const problems = watchConsole(page);
  await pictureLevel(page, demo);
  await saveAs(page, "First");
  await page.getByRole("searchbox", { name: "Filter the graph" }).fill("b1");
  await expect(button(page)).toHaveAccessibleName(/^Workspace First, with changes that are not/);
  await saveAs(page, "Second");
  await page.getByRole("searchbox", { name: "Filter the graph" }).fill("office");
  await expect(button(page)).toHaveAccessibleName(/^Workspace Second, with changes/);
  await choose(page, "All workspaces …");
  await page.getByRole("row", { name: "First" }).click();
  const question = page.getByRole("dialog", { name: "Leave Second?" });
  await question.getByRole("button", { name: "Cancel" }).click();
  await expect(page).toHaveURL(/workspace=second/);
  await choose(page, "Save");
  await expect(button(page)).toHaveAccessibleName("Workspace Second");
  await choose(page, "All workspaces …");
  await page.getByRole("row", { name: "First" }).click();
  await expect(button(page)).toHaveAccessibleName("Workspace First");
  await expect(page.getByRole("searchbox", { name: "Filter the graph" })).toHaveValue("");
  // Back to the one before, which kept its filter; a reload and another query stay with it.
  await page.goBack();
  await expect(button(page)).toHaveAccessibleName("Workspace Second");
  await expect(page.getByRole("searchbox", { name: "Filter the graph" })).toHaveValue("office");
  await ask(page, "MATCH (s:Site) RETURN s");
  await expect(foot(page)).toHaveText(/^1 twin, 0 relationships/);
  await expect(button(page)).toHaveAccessibleName(/with changes/);
  await expect(page).toHaveURL(/workspace=second.*MATCH/);
  page.on("dialog", (dialog) => void dialog.accept());
  await page.reload();
  await expect(button(page)).toHaveAccessibleName(/^Workspace Second, with changes/);
  await expect(page.getByRole("textbox", { name: "Query", exact: true })).toContainText("Site");
  expect(problems).toEqual([]);
});

test("nobody's changes are overwritten unseen", async ({ page, demo, browser }) => {
  await pictureLevel(page, demo);
  await saveAs(page, "Shared");
  const other = await another(browser);
  await other.goto(`${demo.url}/explorer/~own/query?workspace=shared`);
  await expect(button(other)).toHaveAccessibleName("Workspace Shared");
  await expect(foot(other)).toHaveText(/^1[0-9] twins, /);
  await other.getByRole("searchbox", { name: "Filter the graph" }).fill("theirs");
  await choose(other, "Save");
  await expect(button(other)).toHaveAccessibleName("Workspace Shared");

  await page.getByRole("searchbox", { name: "Filter the graph" }).fill("mine");
  await choose(page, "Save");
  const conflict = page.getByRole("alertdialog", {
    name: "Somebody else changed Shared meanwhile",
  });
  await expect(conflict).toContainText("Nothing was saved.");
  await takeScreenshot(page, "workspace-conflict");
  // Once more while the question stands: that is another conflict.
  await other.getByRole("searchbox", { name: "Filter the graph" }).fill("theirs again");
  await choose(other, "Save");
  await expect(button(other)).toHaveAccessibleName("Workspace Shared");
  await conflict.getByRole("button", { name: "Replace theirs with mine" }).click();
  await expect(conflict).toBeVisible();
  await conflict.getByRole("button", { name: "Open theirs, let mine go" }).click();
  await expect(conflict).toHaveCount(0);
  await expect(page.getByRole("searchbox", { name: "Filter the graph" })).toHaveValue(
    "theirs again",
  );
  await page.getByRole("searchbox", { name: "Filter the graph" }).fill("mine at last");
  await choose(page, "Save");
  await expect(button(page)).toHaveAccessibleName("Workspace Shared");

  // It goes while somebody changes it.
  await choose(page, "Delete …");
  await page.getByRole("button", { name: "Delete", exact: true }).click();
  await expect(button(page)).toHaveAccessibleName("Workspaces");
  await other.getByRole("searchbox", { name: "Filter the graph" }).fill("too late");
  await choose(other, "Save");
  const gone = other.getByRole("alertdialog", { name: "Shared was deleted meanwhile" });
  await gone.getByRole("button", { name: "Save it again" }).click();
  await expect(gone).toHaveCount(0);
  await expect(button(other)).toHaveAccessibleName("Workspace Shared");
  await other.context().close();
});

test("what another page or a newer one has kept is refused with a sentence", async ({
  page,
  demo,
}) => {
  await put(demo, "newer", "Newer", { kind: "picture", version: 99 });
  await put(demo, "foreign", "Foreign", { rooms: [] });
  await put(demo, "broken", "Broken", { kind: "picture", version: 1, twins: [["a", "b", 3]] });
  const cases = [
    ["newer", "was saved by a newer version of this page"],
    ["foreign", "was kept by another page"],
    ["broken", "`twins[0]` has to be a list of id, x, y and whether it is pinned"],
    ["missing", "There is no workspace missing"],
  ] as const;
  for (const [id, said] of cases) {
    await page.goto(`${demo.url}/explorer/~own/query?workspace=${id}`);
    await expect(page.getByText(said)).toBeVisible();
    await expect(page).not.toHaveURL(/workspace=/);
    await expect(button(page)).toHaveAccessibleName("Workspaces");
  }
});

test("only what one may do is offered", async ({ page, secured, browser }) => {
  await page.setViewportSize({ width: 1440, height: 900 });
  await page.goto(`${secured.service.url}/explorer/~own/query`);
  await signIn(page, "Ada Lovelace");
  await ask(page, "MATCH (s:Site) RETURN s");
  await expect(page.getByRole("grid")).toBeVisible();
  await saveAs(page, "Of Ada");
  const other = await another(browser);
  await other.goto(`${secured.service.url}/explorer/~own/query?workspace=of-ada`);
  await signIn(other, "Rob Reader");
  await expect(button(other)).toHaveAccessibleName("Workspace Of Ada");
  await button(other).click();
  await expect(other.getByRole("menuitem")).toHaveText(["Copy link", "Close", "All workspaces …"]);
  await other.getByRole("menuitem", { name: "All workspaces …" }).click();
  const list = other.getByRole("dialog", { name: "Workspaces" });
  await expect(list.getByRole("row", { name: "Of Ada" })).toContainText(/saved .* by ada/);
  await expect(list.getByRole("button", { name: "Delete: Of Ada" })).toHaveCount(0);
  await other.context().close();
});

test("a style becomes that of everyone, below what a browser changes itself", async ({
  page,
  demo,
  browser,
}) => {
  const problems = watchConsole(page);
  await pictureLevel(page, demo);
  const sharing = (of: Page) => legend(of).getByRole("region", { name: "Style" });
  const color = async (of: Page, name: string): Promise<string> => {
    await legend(of)
      .getByRole("button", { name: `Style of ${name}` })
      .click();
    const value = await of.getByLabel("Colour", { exact: true }).inputValue();
    await of.keyboard.press("Escape");
    return value;
  };
  const paint = async (of: Page, name: string, value: string): Promise<void> => {
    await legend(of)
      .getByRole("button", { name: `Style of ${name}` })
      .click();
    await of.getByLabel("Colour", { exact: true }).fill(value);
    await of.keyboard.press("Escape");
  };
  await expect(sharing(page)).toContainText("As the models are.");
  await paint(page, "Office", "#aa3377");
  await paint(page, "contains", "#007300");
  await legend(page).getByRole("button", { name: "Add a rule" }).click();
  const rule = page.getByRole("dialog", { name: "Colour by value" });
  await rule.getByLabel("Property").selectOption("climate.temperature");
  await rule.getByRole("button", { name: "Add" }).click();
  await expect(sharing(page)).toContainText("Changed in this browser.");
  await sharing(page).getByRole("button", { name: "Use for everyone" }).click();
  await expect(sharing(page)).toContainText("That for everyone.");

  const other = await another(browser);
  await pictureLevel(other, demo);
  await expect(sharing(other)).toContainText("That for everyone.");
  expect(await color(other, "Office")).toBe("#aa3377");
  expect(await color(other, "contains")).toBe("#007300");
  await expect(legend(other).getByRole("list", { name: "Colours by value" })).toContainText(
    "climate.temperature from",
  );
  // Their own change stays on top, and in their browser.
  await paint(other, "contains", "#b41e78");
  await paint(page, "Office", "#2d5ad7");
  await sharing(page).getByRole("button", { name: "Use for everyone" }).click();
  await expect(sharing(page)).toContainText("That for everyone.");
  await other.reload();
  await expect(sharing(other)).toContainText("Changed in this browser.");
  await expect.poll(() => color(other, "Office")).toBe("#2d5ad7");
  expect(await color(other, "contains")).toBe("#b41e78");
  // What somebody else has changed meanwhile is not overwritten unseen.
  await paint(page, "Office", "#7d5f00");
  await sharing(page).getByRole("button", { name: "Use for everyone" }).click();
  await expect(sharing(page)).toContainText("That for everyone.");
  await sharing(other).getByRole("button", { name: "Use for everyone" }).click();
  await expect(other.getByText(/^Nothing was saved: somebody else/)).toBeVisible();
  await expect.poll(() => color(other, "Office")).toBe("#7d5f00");
  await sharing(other).getByRole("button", { name: "Reset mine" }).click();
  expect(await color(other, "contains")).toBe("#007300");
  expect(problems).toEqual([]);
  await other.context().close();
  // Other tests draw the same graph.
  const gone = await fetch(`${demo.url}/workspaces/graph-style`, { method: "DELETE" });
  expect(gone.status).toBe(204);
});
