import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import type { Page } from "@playwright/test";

import { expect, open, signIn, startService, test, watchConsole } from "./fixtures";
import type { Service } from "./processes";
import { takeScreenshot } from "./screenshots";

const ROOM = "dtmi:com:example:building:Room;1";

function tree(page: Page) {
  return page.getByRole("treegrid", { name: "Models by inheritance" });
}

function detail(page: Page, name: string) {
  return page.getByRole("article", { name });
}

function write(folder: string, name: string, text: string): string {
  mkdirSync(folder, { recursive: true });
  const path = join(folder, name);
  writeFileSync(path, text);
  return path;
}

/** A model in as many lines as the tests speak of. */
function lamp(name: string, schema: string, more = ""): string {
  return `{
  "@context": "dtmi:dtdl:context;3",
  "@id": "dtmi:com:example:test:${name};1",
  "@type": "Interface",${more}
  "contents": [{"@type": "Property", "name": "lumen", "schema": "${schema}"}]
}`;
}

test("models stand below what they extend, with the twins there are", async ({ page, demo }) => {
  const problems = watchConsole(page);
  await open(page, demo, "~own/models");
  const row = (name: string) => tree(page).getByRole("row", { name, exact: true });
  await expect(row("Room")).toHaveAttribute("aria-level", "3");
  await expect(row("Room")).toContainText("408");
  await expect(row("Entity")).toContainText("1,978");
  await row("Room").click();
  const shown = detail(page, "Room");
  await expect(shown.getByRole("heading", { name: "Room" })).toBeVisible();
  await expect(shown.getByText(ROOM, { exact: true })).toBeVisible();
  const area = shown.getByRole("row", { name: /^area/ });
  await expect(area).toContainText("double");
  await expect(area).toContainText("m²");
  await expect(area.getByRole("link", { name: "Space" })).toBeVisible();
  await takeScreenshot(page, "models");
  await shown.getByRole("tab", { name: "JSON" }).click();
  await expect(shown.getByLabel(`DTDL of ${ROOM}`)).toContainText('"@id": "dtmi:com');
  await shown.getByRole("link", { name: "Entity" }).first().click();
  await expect(detail(page, "Entity")).toBeVisible();
  await page.goBack();
  await expect(detail(page, "Room")).toBeVisible();
  expect(problems).toEqual([]);
});

test("the id in an address is decoded once", async ({ page, demo }) => {
  await open(page, demo, `~own/models?${new URLSearchParams({ id: "dtmi:a%25b%2Fc;1" })}`);
  await expect(page.getByText("There is no model dtmi:a%25b%2Fc;1 in this graph.")).toBeVisible();
});

test("the model that a link or another model leads to is in sight in the tree", async ({
  page,
  demo,
}) => {
  await page.setViewportSize({ width: 1280, height: 420 });
  const row = (name: string) => tree(page).getByRole("row", { name, exact: true });
  await open(page, demo, `~own/models?${new URLSearchParams({ id: ROOM })}`);
  await expect(row("Room")).toBeInViewport({ ratio: 0.9 });
  await expect(row("Entity")).not.toBeInViewport();
  await detail(page, "Room").getByRole("link", { name: "Entity" }).first().click();
  await expect(row("Entity")).toBeInViewport({ ratio: 0.9 });
  await page.goBack();
  await expect(row("Room")).toBeInViewport({ ratio: 0.9 });
  // What was found may stand elsewhere; afterwards the tree is where one was.
  await page.getByRole("searchbox", { name: "Search models" }).fill("alarmlevel");
  await expect(tree(page).getByRole("row")).toHaveCount(4);
  await page.getByRole("searchbox", { name: "Search models" }).fill("");
  await expect(row("Room")).toBeInViewport({ ratio: 0.9 });
  // And whoever scrolls or closes something elsewhere stays there.
  await tree(page).evaluate((list) => list.scrollTo(0, 0));
  // NOTE: a click of Playwright's may scroll by itself to what it clicks at.
  await row("Equipment")
    .getByRole("button", { name: /^Collapse/ })
    .dispatchEvent("click");
  await expect(row("Equipment")).toHaveAttribute("aria-expanded", "false");
  await expect(row("Entity")).toBeInViewport({ ratio: 0.9 });
});

test("a search finds names, ids and contents, and shows where they stand", async ({
  page,
  demo,
}) => {
  await open(page, demo, "~own/models");
  await page.getByRole("searchbox", { name: "Search models" }).fill("alarmlevel");
  await expect(page.getByText("1 of 20 models")).toBeVisible();
  const names = tree(page).getByRole("row");
  await expect(names).toHaveText([/Entity/, /Equipment/, /Sensor/, /Carbon dioxide sensor/]);
  await page.getByRole("searchbox").fill("nothing is like this");
  await expect(page.getByText("No model is like this.")).toBeVisible();
});

test("the tree is walked with the keyboard alone", async ({ page, demo }) => {
  await open(page, demo, "~own/models");
  await tree(page).getByRole("row", { name: "Entity", exact: true }).focus();
  await page.keyboard.press("ArrowLeft");
  await expect(tree(page).getByRole("row", { name: "Space", exact: true })).toHaveCount(0);
  await page.keyboard.press("ArrowRight");
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("Enter");
  await expect(detail(page, "Equipment")).toBeVisible();
});

test.describe("changing models", () => {
  let service: Service;
  let files: string;

  test.beforeEach(async ({ folder }, { testId }) => {
    files = join(folder, testId);
    service = await startService(join(files, "service"));
  });
  test.afterEach(async () => {
    await service.stop();
    expect(service.failures()).toBe("");
  });

  test("findings stand at their place, are mended there, and then all is stored", async ({
    page,
  }) => {
    const good = write(files, "torch.json", lamp("Torch", "double"));
    const base = '\n  "extends": "dtmi:com:example:building:Equipmnt;1",';
    const bad = write(files, "lamp.json", lamp("Lamp", "doubel", base));
    await open(page, service, "~own/models");
    const notes = write(files, "notes.txt", "Lamps");
    await page.locator("input[type=file]").setInputFiles([bad, notes]);
    const dialog = page.getByRole("dialog");
    await expect(dialog.getByText("do not end with .json: notes.txt")).toBeVisible();
    const chooser = page.waitForEvent("filechooser");
    await dialog.getByRole("button", { name: "Add files" }).click();
    await (await chooser).setFiles(good);
    await expect(dialog.getByRole("option", { name: "torch.json", selected: true })).toBeVisible();
    await expect(dialog.getByText("do not end with .json")).toHaveCount(0);
    await dialog.getByRole("button", { name: "Upload", exact: true }).click();
    await expect(dialog.getByText("2 things are wrong. Nothing was stored.")).toBeVisible();
    await expect(dialog.getByRole("button", { name: "lamp.json:5" })).toBeVisible();
    await expect(dialog.getByRole("button", { name: "lamp.json:6" })).toBeVisible();
    await expect(dialog.getByText("Did you mean 'double'?")).toBeVisible();
    await expect(dialog.locator(".cm-lintRange-error")).toHaveText([
      '"dtmi:com:example:building:Equipmnt;1"',
      '"doubel"',
    ]);
    await takeScreenshot(page, "models-upload");
    const editor = dialog.getByRole("textbox", { name: "lamp.json" });
    const mended = lamp("Lamp", "double", base.replace("Equipmnt", "Equipment"));
    await editor.focus();
    await page.keyboard.press("ControlOrMeta+a");
    await page.keyboard.insertText(mended);
    await dialog.getByRole("button", { name: "Upload", exact: true }).click();
    await expect(dialog).toHaveCount(0);
    await expect(page.getByText("2 models are stored.")).toBeVisible();
    await expect(tree(page).getByRole("row", { name: "Lamp", exact: true })).toHaveAttribute(
      "aria-level",
      "3",
    );
    await expect(page.getByText("22 models")).toBeVisible();
  });

  test("the numbers of twins come when they are known, and follow what others do", async ({
    page,
  }) => {
    await page.route("**/query", async (route) => {
      await expect(tree(page)).toBeVisible();
      await route.continue();
    });
    await open(page, service, "~own/models");
    const row = (name: string) => tree(page).getByRole("row", { name, exact: true });
    await expect(row("Level")).toHaveText(/24$/);
    await expect(page.getByRole("button", { name: /^Live/ })).toBeVisible();
    const made = await fetch(`${service.url}/digitaltwins/another-level`, {
      method: "PUT",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify({ $metadata: { $model: "dtmi:com:example:building:Level;1" } }),
    });
    expect(made.status).toBe(200);
    await expect(row("Level")).toHaveText(/25$/);
    await expect(row("Entity")).toHaveText(/1,979$/);
  });

  test("what is no JSON is not sent", async ({ page }) => {
    const broken = write(files, "broken.json", '{\n  "@id": "dtmi:x:A;1",,\n}');
    await open(page, service, "~own/models");
    await page.locator("input[type=file]").setInputFiles(broken);
    const dialog = page.getByRole("dialog");
    await expect(dialog.getByText("This is no JSON from here on.")).toBeVisible();
    await expect(dialog.getByRole("button", { name: "broken.json:2" })).toBeVisible();
  });

  test("files are dropped on the view", async ({ page }) => {
    await open(page, service, "~own/models");
    await expect(tree(page)).toBeVisible();
    const path = write(files, "dropped.json", lamp("Dropped", "double"));
    // The browser's own events of files that come from outside; no script can make them.
    const browser = await page.context().newCDPSession(page);
    const data = { items: [], files: [path], dragOperationsMask: 1 };
    for (const type of ["dragEnter", "dragOver", "drop"] as const) {
      await browser.send("Input.dispatchDragEvent", { type, x: 700, y: 400, data });
    }
    const dialog = page.getByRole("dialog");
    await expect(dialog.getByText("dropped.json").first()).toBeVisible();
    await dialog.getByRole("button", { name: "Upload", exact: true }).click();
    await expect(page.getByText("1 model is stored.")).toBeVisible();
    // A twin of it is made here, and looked at where twins are.
    await tree(page).getByRole("row", { name: "Dropped", exact: true }).click();
    await detail(page, "Dropped").getByRole("button", { name: "New twin" }).click();
    await dialog.getByRole("textbox", { name: "Id", exact: true }).fill("first-of-it");
    await dialog.getByRole("button", { name: "Create" }).click();
    await expect(page.getByText("first-of-it is created.")).toBeVisible();
    await page.getByRole("button", { name: "Show it" }).click();
    const shown = page.getByRole("complementary", { name: "Inspector" });
    await expect(shown.getByRole("heading", { name: "first-of-it" })).toBeVisible();
    await expect(page.getByText("first-of-it is created.")).toHaveCount(0);
  });

  test("a model is decommissioned, and deleted once nothing refers to it", async ({ page }) => {
    await open(page, service, `~own/models?id=${encodeURIComponent(ROOM)}`);
    await detail(page, "Room").getByRole("button", { name: "Decommission" }).click();
    const dialog = page.getByRole("alertdialog");
    await dialog.getByRole("button", { name: "Decommission" }).click();
    await expect(detail(page, "Room").getByText("decommissioned", { exact: true })).toBeVisible();
    await expect(detail(page, "Room").getByRole("button", { name: "Decommission" })).toHaveCount(0);
    await detail(page, "Room").getByRole("button", { name: "Delete" }).click();
    await expect(
      dialog.getByText(/Office.* refer to it and have to be deleted first/),
    ).toBeVisible();
    await expect(dialog.getByRole("button", { name: "Delete" })).toBeDisabled();
    await dialog.getByRole("button", { name: "Cancel" }).click();
    await page.goto(`${service.url}/explorer/~own/models?id=dtmi:com:example:building:Office;1`);
    await detail(page, "Office").getByRole("button", { name: "Delete" }).click();
    await expect(dialog.getByText("The 312 twins of it stay")).toBeVisible();
    await expect(dialog.getByRole("button", { name: "Delete" })).toBeDisabled();
    await dialog.getByRole("textbox", { name: "Type Office to go on" }).fill("Office");
    // What fails leaves the keys where they were: on the button, in the dialog.
    await page.route("**/models/**", (route) => route.abort(), { times: 1 });
    await page.keyboard.press("Tab");
    await page.keyboard.press("Tab");
    await page.keyboard.press("Enter");
    await expect(dialog.getByText("it is not known whether it was done")).toBeVisible();
    await expect(dialog.getByRole("button", { name: "Delete" })).toBeFocused();
    await page.keyboard.press("Tab");
    await expect(dialog.getByRole("textbox")).toBeFocused();
    await page.keyboard.press("Escape");
    await expect(dialog).toHaveCount(0);
    await detail(page, "Office").getByRole("button", { name: "Delete" }).click();
    await dialog.getByRole("textbox", { name: "Type Office to go on" }).fill("Office");
    await dialog.getByRole("button", { name: "Delete" }).click();
    await expect(page.getByText("Office is deleted.")).toBeVisible();
    await expect(page.getByText("19 models")).toBeVisible();
  });

  test("all models are deleted after their number was typed", async ({ page }) => {
    await open(page, service, "~own/models");
    await page.getByRole("button", { name: "More for all models" }).click();
    await page.getByRole("menuitem", { name: "Delete all models" }).click();
    const dialog = page.getByRole("alertdialog");
    const act = dialog.getByRole("button", { name: "Delete all" });
    await expect(act).toBeDisabled();
    await dialog.getByRole("textbox").fill("20");
    await act.click();
    await expect(page.getByText("No model is stored yet.")).toBeVisible();
  });
});

test("who may only read is offered no change", async ({ page, secured }) => {
  await page.goto(`${secured.service.url}/explorer/~own/models?id=${encodeURIComponent(ROOM)}`);
  await signIn(page, "Rob Reader");
  await expect(detail(page, "Room")).toBeVisible();
  for (const name of ["Upload", "Decommission", "Delete", "More for all models"]) {
    await expect(page.getByRole("button", { name, exact: true })).toHaveCount(0);
  }
});
