import AxeBuilder from "@axe-core/playwright";
import type { Route } from "@playwright/test";
import { join } from "node:path";

import { expect, open, signIn, startService, test, watchConsole, writeQuery } from "./fixtures";
import {
  field,
  inspector,
  property,
  readTwin,
  ROOM,
  saveButton,
  selectTwin,
  send,
} from "./inspecting";
import type { Service } from "./processes";
import { takeScreenshot } from "./screenshots";

test.describe("a twin", () => {
  let service: Service;

  test.beforeEach(async ({ folder }, { testId }) => {
    service = await startService(join(folder, testId));
  });
  test.afterEach(async () => {
    await service.stop();
    expect(service.failures()).toBe("");
  });

  test("is shown by its model, and edited into one patch", async ({ page }) => {
    const problems = watchConsole(page);
    await selectTwin(page, service, ROOM);
    await expect(inspector(page).getByRole("link", { name: "Office" })).toBeVisible();
    await expect(property(page, "area")).toContainText("m²");
    const climate = inspector(page).getByRole("region", { name: "Component climate" });
    await expect(climate.getByRole("group", { name: "setpoint" })).toContainText("°C");
    await expect(property(page, "tags").getByRole("button", { name: "Set tags" })).toBeVisible();
    await takeScreenshot(page, "inspector");

    await field(page, "area").fill("61.5");
    await property(page, "occupied").getByText("false").click();
    await climate.getByRole("button", { name: /^auto/ }).click();
    await page.getByRole("option", { name: "heating" }).click();
    await property(page, "tags").getByRole("button", { name: "Set tags" }).click();
    await field(page, "New key of tags").fill("owner");
    await page.keyboard.press("Enter");
    await field(page, "tags owner").fill("Ada");
    await property(page, "capacity").getByRole("button", { name: "Unset capacity" }).click();

    await inspector(page).getByRole("button", { name: "5 changes" }).click();
    await expect(inspector(page).getByLabel("JSON Patch")).toContainText(
      '{"op":"remove","path":"/capacity"}',
    );
    expect((await new AxeBuilder({ page }).include(".inspector").analyze()).violations).toEqual([]);
    await saveButton(page).click();
    await expect(saveButton(page)).toHaveCount(0);
    const stored = await readTwin(service, ROOM);
    expect(stored).toMatchObject({ area: 61.5, occupied: true, tags: { owner: "Ada" } });
    expect(stored["climate"]).toMatchObject({ mode: "heating", setpoint: 21 });
    expect(stored).not.toHaveProperty("capacity");
    expect(problems).toEqual([]);
  });

  test("that is edited changes in a second window, where it lights up", async ({
    page,
    context,
  }) => {
    await selectTwin(page, service, ROOM);
    const other = await context.newPage();
    await selectTwin(other, service, ROOM);
    const cell = other.getByRole("gridcell");
    await cell.getByRole("button", { name: "Unfold t" }).click();
    await expect(cell).toContainText("Office 0.02");
    await expect(other.getByRole("button", { name: /^Live/ })).toBeVisible();
    await field(page, "name").fill("The corner office");
    await saveButton(page).click();
    await expect(property(other, "name").locator(".inspector-glow")).toBeVisible();
    await expect(field(other, "name")).toHaveValue("The corner office");
    await expect(cell).toContainText("The corner office");
    await expect(cell.locator(".results-glow")).toBeVisible();
  });

  test("that changes while it is edited is refreshed where it is not", async ({ page }) => {
    await selectTwin(page, service, ROOM);
    await field(page, "area").fill("70");
    await send(service, "PATCH", `/digitaltwins/${ROOM}`, [
      { op: "replace", path: "/name", value: "Elsewhere" },
    ]);
    await expect(field(page, "name")).toHaveValue("Elsewhere");
    await expect(inspector(page).getByText("Meanwhile /name changed")).toBeVisible();
    await expect(field(page, "area")).toHaveValue("70");
    await saveButton(page).click();
    await expect(saveButton(page)).toHaveCount(0);
    expect(await readTwin(service, ROOM)).toMatchObject({ area: 70, name: "Elsewhere" });
  });

  test("that two change at one place is saved as chosen", async ({ page }) => {
    await selectTwin(page, service, ROOM);
    // Whoever hears nothing of the others is refused by the etag.
    await page.route("**/events", (route) => route.abort());
    await page.reload();
    await page.getByRole("grid").locator(`[data-twin="${ROOM}"]`).click();
    await field(page, "area").fill("70");
    await field(page, "name").fill("Mine");
    await field(page, "desks").fill("9");
    await send(service, "PATCH", `/digitaltwins/${ROOM}`, [
      { op: "replace", path: "/name", value: "Theirs" },
      { op: "replace", path: "/area", value: 71 },
      { op: "replace", path: "/occupied", value: true },
    ]);
    await saveButton(page).click();
    const dialog = page.getByRole("alertdialog");
    const area = dialog.getByRole("radiogroup", { name: /^\/area/ });
    await expect(area.getByRole("radio", { name: /Mine\s*70/ })).toBeChecked();
    await area.getByText("71").click();
    await expect(dialog.getByRole("radiogroup")).toHaveCount(2);
    await takeScreenshot(page, "conflict");
    expect((await new AxeBuilder({ page }).include(".modal-wide").analyze()).violations).toEqual(
      [],
    );
    await dialog.getByRole("button", { name: "Save what is chosen" }).click();
    await expect(saveButton(page)).toHaveCount(0);
    expect(await readTwin(service, ROOM)).toMatchObject({
      name: "Mine",
      area: 71,
      desks: 9,
      occupied: true,
    });
  });

  test("says at a field what is wrong with it, before and after it was sent", async ({ page }) => {
    await selectTwin(page, service, ROOM);
    await field(page, "capacity").fill("many");
    await expect(property(page, "capacity")).toContainText("This should be a whole number");
    await expect(saveButton(page)).toHaveCount(0);
    await field(page, "capacity").fill("17");
    await inspector(page).getByRole("tab", { name: "JSON" }).click();
    const editor = inspector(page).getByRole("textbox", { name: `JSON of ${ROOM}` });
    await editor.focus();
    await page.keyboard.press("ControlOrMeta+a");
    const content = await readTwin(service, ROOM);
    delete content["$dtId"];
    delete content["$etag"];
    await page.keyboard.insertText(JSON.stringify({ ...content, area: "wide", nope: 1 }));
    await saveButton(page).click();
    await expect(inspector(page).getByText("Invalid twin specified")).toBeVisible();
    await inspector(page).getByRole("tab", { name: "Properties" }).click();
    await expect(property(page, "area").getByRole("alert")).toContainText("Expected value of type");
    await expect(property(page, "nope").getByRole("alert")).toContainText("does not appear");
    await inspector(page).getByRole("button", { name: "Discard" }).click();
    await expect(property(page, "nope")).toHaveCount(0);
    await expect(field(page, "area")).toHaveValue(String(content["area"]));
  });

  test("is created from a form of its model, and the same id no second time", async ({ page }) => {
    await open(page, service, "~own/query");
    await inspector(page).getByRole("button", { name: "New twin" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByRole("combobox", { name: "Model" }).fill("Meeting");
    await page.getByRole("option", { name: /^Meeting room/ }).click();
    await dialog.getByRole("textbox", { name: "Id", exact: true }).fill(ROOM);
    await expect(dialog.getByText(`There is a twin ${ROOM} already.`)).toBeVisible();
    await expect(dialog.getByRole("button", { name: "Create" })).toBeDisabled();
    await dialog.getByRole("textbox", { name: "Id", exact: true }).fill("attic");
    await dialog.getByRole("textbox", { name: "name", exact: true }).fill("The attic");
    await dialog.getByRole("textbox", { name: "setpoint" }).fill("19.5");
    await dialog.getByRole("button", { name: "Set features" }).click();
    await dialog.getByRole("button", { name: "Add to features" }).click();
    await dialog.getByRole("textbox", { name: "features 1" }).fill("skylight");
    await takeScreenshot(page, "new-twin");
    // No key is lost in the dialog where a button is disabled by being pressed.
    await dialog.getByRole("button", { name: "Set tags" }).click();
    await dialog.getByRole("textbox", { name: "New key of tags" }).fill("owner");
    await page.keyboard.press("Tab");
    await page.keyboard.press("Enter");
    await expect(dialog.getByRole("textbox", { name: "tags owner" })).toBeVisible();
    await expect(dialog.getByRole("textbox", { name: "New key of tags" })).toBeFocused();
    await dialog.getByRole("button", { name: "Create" }).click();
    await expect(inspector(page).getByRole("heading", { name: "attic" })).toBeVisible();
    expect(await readTwin(service, "attic")).toMatchObject({
      name: "The attic",
      climate: { setpoint: 19.5 },
      features: ["skylight"],
      $metadata: { $model: "dtmi:com:example:building:MeetingRoom;1" },
    });
  });

  test("gets a relationship as its model allows, which is edited and deleted", async ({ page }) => {
    await selectTwin(page, service, ROOM);
    await inspector(page).getByRole("tab", { name: "Relationships" }).click();
    const outgoing = inspector(page).getByRole("region", { name: "Outgoing relationships" });
    await expect(
      outgoing.getByRole("button", { name: "Office 0.03", exact: true }).first(),
    ).toBeVisible();
    await inspector(page).getByRole("button", { name: "New relationship" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByRole("button", { name: /^adjacentTo|^contains/ }).click();
    await expect(page.getByRole("option")).toHaveCount(2);
    await page.getByRole("option", { name: /^contains/ }).click();
    // A sensor is no space.
    await dialog.getByRole("combobox", { name: "To" }).fill("b1-l0-r02-t");
    await expect(page.getByRole("option")).toHaveText(["Nothing is found."]);
    await dialog.getByRole("combobox", { name: "To" }).fill("b1-l0-r04");
    await page.getByRole("option", { name: /^b1-l0-r04/ }).click();
    await expect(dialog.getByRole("textbox", { name: "Id", exact: true })).toHaveValue(
      "contains-b1-l0-r04",
    );
    await dialog.getByRole("button", { name: "Create" }).click();
    await expect(inspector(page).getByRole("heading", { name: "contains" })).toBeVisible();
    await inspector(page).locator(".inspector-ends").getByRole("button").first().click();
    await inspector(page).getByRole("tab", { name: "Relationships" }).click();
    await outgoing.getByRole("button", { name: "Relationship contains-b1-l0-r04" }).click();
    await inspector(page).getByRole("button", { name: "Delete" }).click();
    await page.getByRole("alertdialog").getByRole("button", { name: "Delete" }).click();
    await expect(page.getByText("contains-b1-l0-r04 is deleted.")).toBeVisible();
    const left = await fetch(`${service.url}/digitaltwins/${ROOM}/relationships`);
    expect(((await left.json()) as { value: unknown[] }).value).toHaveLength(1);
  });

  test("of values with names, of dates and of bounds is edited by what its model says", async ({
    page,
  }) => {
    const id = "dtmi:com:example:test:Hub;1";
    const state = [
      { name: "on", enumValue: 1 },
      { name: "off", enumValue: 0 },
    ];
    const property = (name: string, schema: unknown) => ({ "@type": "Property", name, schema });
    const contents = [
      property("state", { "@type": "Enum", valueSchema: "integer", enumValues: state }),
      property("since", "date"),
      property("rest", "duration"),
      { "@type": "Relationship", name: "feeds", target: id, maxMultiplicity: 2 },
    ];
    const context = "dtmi:dtdl:context;3";
    const model = { "@context": context, "@id": id, "@type": "Interface", contents };
    await send(service, "POST", "/models", [model]);
    for (const name of ["hub-1", "hub-2", "hub-3", "hub-4"]) {
      const twin = { $metadata: { $model: id }, state: 1, since: "2026-01-31" };
      await send(service, "PUT", `/digitaltwins/${name}`, twin);
    }
    for (const name of ["hub-2", "hub-3"]) {
      const feeds = { $relationshipName: "feeds", $targetId: name };
      await send(service, "PUT", `/digitaltwins/hub-1/relationships/to-${name}`, feeds);
    }
    await selectTwin(page, service, "hub-1");
    // The dot of its model, though the view of models was never opened.
    await expect(inspector(page).locator(".models-dot")).toHaveCSS("width", "10px");
    await expect(inspector(page).getByRole("button", { name: "on 1 state" })).toBeVisible();
    await expect(field(page, "since")).toHaveAttribute("type", "text");
    await expect(field(page, "since")).toHaveValue("2026-01-31");
    await expect(field(page, "rest")).toHaveAttribute("placeholder", "such as P1DT12H");

    await inspector(page).getByRole("tab", { name: "Relationships" }).click();
    await inspector(page).getByRole("button", { name: "New relationship" }).click();
    const dialog = page.getByRole("dialog");
    await expect(dialog.getByText(/at most 2 of the name feeds/)).toBeVisible();
    await dialog.getByRole("combobox", { name: "To" }).fill("hub-");
    await expect(page.getByRole("option")).toHaveText([/^hub-2/, /^hub-3/, /^hub-4/]);
    await dialog.getByRole("combobox", { name: "To" }).fill("hub-1");
    await expect(dialog.getByText("leads to its own source")).toBeVisible();
    // All beside the list that is open is hidden from those who do not see.
    const create = dialog.getByRole("button", { name: "Create", includeHidden: true });
    await expect(create).toBeDisabled();
    await dialog.getByRole("combobox", { name: "To" }).fill("hub-4");
    await page.getByRole("option", { name: /^hub-4/ }).click();
    await dialog.getByRole("button", { name: "Create" }).click();
    await expect(inspector(page).getByRole("heading", { name: "feeds" })).toBeVisible();
  });

  test("is deleted with what it would take along, all or none", async ({ page }) => {
    await selectTwin(page, service, ROOM);
    await inspector(page).getByRole("button", { name: "Delete" }).click();
    const dialog = page.getByRole("dialog");
    await expect(dialog.getByRole("region", { name: "Leading from it" })).toContainText(
      "adjacentTo b1-l0-r03",
    );
    await expect(dialog.getByRole("region", { name: "Leading to it" })).toContainText("7");
    await takeScreenshot(page, "delete-twin");
    // Somebody changes it in the very moment: nothing goes.
    const meddle = async (route: Route): Promise<void> => {
      await send(service, "PATCH", `/digitaltwins/${ROOM}`, [
        { op: "replace", path: "/name", value: "Still in use" },
      ]);
      await route.continue();
    };
    await page.route("**/$transaction", meddle, { times: 1 });
    await dialog.getByRole("button", { name: "Delete it and 8 relationships" }).click();
    await expect(dialog.getByText(/doesn't match the current etag/)).toBeVisible();
    const outgoing = await fetch(`${service.url}/digitaltwins/${ROOM}/relationships`);
    expect(((await outgoing.json()) as { value: unknown[] }).value).toHaveLength(1);
    // Behind the dialog the newest version is there again, which is what goes now.
    const name = page.locator('.inspector textarea[aria-label="name"]');
    await expect(name).toHaveValue("Still in use");
    await dialog.getByRole("button", { name: "Delete it and 8 relationships" }).click();
    await expect(page.getByText(`${ROOM} and 8 relationships are deleted.`)).toBeVisible();
    expect((await fetch(`${service.url}/digitaltwins/${ROOM}`)).status).toBe(404);
    await expect(inspector(page).getByRole("heading", { name: ROOM })).toHaveCount(0);
  });

  test("is shown in the graph with its neighbours", async ({ page }) => {
    await open(page, service, "~own/query");
    await inspector(page).getByRole("button", { name: "New twin" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByRole("combobox", { name: "Model" }).fill("Level");
    await page.getByRole("option", { name: /^Level/ }).click();
    await dialog.getByRole("textbox", { name: "Id", exact: true }).fill("roof");
    await dialog.getByRole("button", { name: "Create" }).click();
    const show = inspector(page).getByRole("button", { name: "Show in graph" });
    await show.click();
    await expect(page.getByText(/^1 twin, 0 relationships/)).toBeVisible();
    await selectTwin(page, service, ROOM);
    await show.click();
    await expect(page.getByText(/^7 twins, \d+ relationships/)).toBeVisible();
  });

  test("is shown in the graph from another view, with the rows, and stays through other moments", async ({
    page,
  }) => {
    await open(page, service, `~own/query?twin=${ROOM}`);
    await writeQuery(page, "MATCH (b:Building) RETURN b");
    await page.keyboard.press("ControlOrMeta+Enter");
    await expect(page.getByRole("status").getByText("4 rows")).toBeVisible();
    await page.getByRole("link", { name: "Chart" }).click();
    await inspector(page).getByRole("button", { name: "Show in graph" }).click();
    const foot = page.getByText(/^\d+ twins, \d+ relationships/);
    await expect(foot).toBeVisible();
    await expect(page).toHaveURL(/#query=MATCH.*&with=/);
    const all = await foot.textContent();
    await inspector(page).getByRole("tab", { name: "History" }).click();
    await inspector(page)
      .getByRole("button", { name: /^Show the graph as of/ })
      .first()
      .click();
    await expect(page.getByText(/^As of/)).toBeVisible();
    await page.getByRole("button", { name: "Back to now" }).click();
    await expect(foot).toHaveText(all ?? "");
  });

  test("shows the telemetry that it sends, and sends some", async ({ page }) => {
    await selectTwin(page, service, ROOM);
    await inspector(page).getByRole("tab", { name: "Telemetry" }).click();
    await expect(inspector(page).getByText("No telemetry came since")).toBeVisible();
    await field(page, "peopleCount").fill("3");
    await inspector(page).getByRole("button", { name: "Send", exact: true }).click();
    const people = inspector(page).getByRole("figure", { name: "Telemetry peopleCount" });
    await expect(people).toContainText("3");
    // In the order of their times, though the first comes last.
    const readings = [20.25, 20.5, 21, 21.75, 21.5, 22.25];
    const sent = readings.map((reading, at) => ({
      reading,
      time: new Date(Date.now() - (readings.length - at) * 60_000).toISOString(),
    }));
    for (const { reading, time } of [...sent.slice(1), ...sent.slice(0, 1)]) {
      const path = `/digitaltwins/${ROOM}/components/climate/telemetry`;
      await send(service, "POST", path, { reading }, { "Telemetry-Source-Time": time });
    }
    const climate = inspector(page).getByRole("figure", { name: "Telemetry climate.reading" });
    await expect(climate).toContainText("22.25 °C");
    await expect(climate.locator("canvas")).toBeVisible();
    await takeScreenshot(page, "telemetry");
  });

  test("is found by id or name, stays through a reload, and the browser leads back to it", async ({
    page,
    context,
  }) => {
    await open(page, service, "~own/query");
    const find = inspector(page).getByRole("combobox", { name: "Find a twin" });
    await find.fill("office 0.02");
    await page.getByRole("option", { name: new RegExp(`^${ROOM}`) }).click();
    // The id stands behind the name.
    const heading = (id: string) =>
      inspector(page).getByRole("heading", { name: new RegExp(`\\b${id}$`) });
    await expect(heading(ROOM)).toBeVisible();
    await expect(page).toHaveURL(/[?]twin=b1-l0-r02$/);
    await inspector(page).getByRole("tab", { name: "Relationships" }).click();
    await inspector(page).getByRole("button", { name: "Office 0.03", exact: true }).first().click();
    await expect(heading("b1-l0-r03")).toBeVisible();
    await page.goBack();
    await expect(heading(ROOM)).toBeVisible();
    await page.goForward();
    await expect(heading("b1-l0-r03")).toBeVisible();
    // What is written and run meanwhile is no other selection.
    await writeQuery(page, "MATCH (b:Building) RETURN b LIMIT 1");
    await page.keyboard.press("ControlOrMeta+Enter");
    await expect(page.getByRole("gridcell").first()).toBeVisible();
    await expect(page).toHaveURL(/[?]twin=b1-l0-r03#query=MATCH/);
    await page.reload();
    await expect(heading("b1-l0-r03")).toBeVisible();
    const other = await context.newPage();
    await other.goto(page.url());
    const shown = inspector(other).getByRole("heading", { name: /\bb1-l0-r03$/ });
    await expect(shown).toBeVisible();
    // The reload is no place of its own in the history.
    await page.goBack();
    await expect(heading(ROOM)).toBeVisible();
    await other.goto(`${service.url}/explorer/~own/query?twin=${ROOM}&relationship=none`);
    await expect(inspector(other).getByText("There is no such relationship")).toBeVisible();
  });

  test("of an id that is made to mislead is shown as it is, and leaves room for the rest", async ({
    page,
  }) => {
    const body = { $metadata: { $model: "dtmi:com:example:building:Level;1" } };
    const long = "x".repeat(1000);
    for (const id of [long, "a\u202elive"]) {
      await send(service, "PUT", `/digitaltwins/${encodeURIComponent(id)}`, body);
    }
    await open(page, service, `~own/query?twin=${encodeURIComponent("a\u202elive")}`);
    const heading = inspector(page).getByRole("heading", { level: 2 });
    await expect(heading).toHaveText("a\ufffdlive");
    await open(page, service, `~own/query?twin=${long}`);
    await expect(heading).toHaveText(long);
    await expect(property(page, "name")).toBeInViewport();
    expect((await heading.boundingBox())?.height).toBeLessThan(100);
  });

  test("is followed again after the service was restarted", async ({ page }) => {
    await selectTwin(page, service, ROOM);
    await expect(page.getByRole("button", { name: /^Live/ })).toBeVisible();
    await service.stop();
    await expect(page.getByRole("button", { name: /^Connecting/ })).toBeVisible();
    await service.start();
    // Before the page is back: no event of it was seen.
    await send(service, "PATCH", `/digitaltwins/${ROOM}`, [
      { op: "replace", path: "/name", value: "After the restart" },
    ]);
    await expect(field(page, "name")).toHaveValue("After the restart");
    await expect(page.getByRole("button", { name: /^Live/ })).toBeVisible();
  });
});

test("who may only read is offered no change, at a twin, a relationship or a result", async ({
  page,
  secured,
}) => {
  const changes = page.getByRole("button", { name: /^(Unset|Set|Delete|New|Send|Draw)/ });
  await page.goto(`${secured.service.url}/explorer/~own/query`);
  await signIn(page, "Rob Reader");
  const query = `MATCH (t:Office)-[x:adjacentTo]->(o) WHERE t.\`$dtId\` = '${ROOM}' RETURN t, x, 1 AS one`;
  await open(page, secured.service, `~own/query?${new URLSearchParams({ query })}`);
  const cells = page.getByRole("gridcell");
  await cells.first().getByRole("button", { name: "Office 0.02", exact: true }).click();
  await expect(property(page, "name")).toContainText("Office 0.02");
  await expect(inspector(page).getByRole("textbox")).toHaveCount(0);
  await expect(changes).toHaveCount(0);
  for (const name of ["Relationships", "Telemetry"]) {
    await inspector(page).getByRole("tab", { name }).click();
    await expect(inspector(page).getByRole("tabpanel", { name })).toBeVisible();
    await expect(changes).toHaveCount(0);
  }
  await inspector(page).getByRole("tab", { name: "JSON" }).click();
  const text = inspector(page).getByLabel(`JSON of ${ROOM}`);
  await text.focus();
  await page.keyboard.insertText("changed");
  await expect(text).not.toContainText("changed");
  await cells.nth(1).getByRole("button", { name: "adjacentTo" }).click();
  await expect(inspector(page).getByRole("heading", { name: "adjacentTo" })).toBeVisible();
  await expect(changes).toHaveCount(0);
  await page.getByRole("button", { name: "Hide the inspector" }).click();
  await expect(page.getByRole("button", { name: "Show the inspector" })).toBeVisible();
  await expect(changes).toHaveCount(0);
  await page.getByRole("tab", { name: "Graph" }).click();
  await expect(page.getByText(/^2 twins, 1 relationship/)).toBeVisible();
  await expect(changes).toHaveCount(0);
});
