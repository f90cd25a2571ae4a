import type { Page } from "@playwright/test";
import { join } from "node:path";

import { expect, startService, test } from "./fixtures";
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

/** Hold back all answers to patches of twins until what is returned is called. */
async function holdPatches(page: Page): Promise<() => void> {
  let release = (): void => undefined;
  const released = new Promise<void>((done) => (release = done));
  await page.route("**/digitaltwins/*", async (route) => {
    if (route.request().method() === "PATCH") await released;
    await route.continue();
  });
  return release;
}

/** Whoever reloads the page is asked first; the answer is to stay. */
async function expectQuestion(page: Page): Promise<void> {
  const asked = page.waitForEvent("dialog");
  await page.evaluate(() => {
    setTimeout(() => window.location.reload());
  });
  const question = await asked;
  expect(question.type()).toBe("beforeunload");
  await question.dismiss();
}

test.describe("what is written and not saved", () => {
  let service: Service;

  test.beforeEach(async ({ folder }, { testId }) => {
    service = await startService(join(folder, testId));
  });
  test.afterEach(async () => {
    await service.stop();
    expect(service.failures()).toBe("");
  });

  test("is kept where a save was under way, and goes out with the next", async ({ page }) => {
    await selectTwin(page, service, ROOM);
    const release = await holdPatches(page);
    await field(page, "name").fill("First");
    const sent = page.waitForRequest((request) => request.method() === "PATCH");
    await page.keyboard.press("ControlOrMeta+s");
    await sent;
    await field(page, "name").fill("First and second");
    await field(page, "area").fill("61.5");
    release();
    await expect(page.getByText("Saved.")).toBeVisible();
    await expect(field(page, "name")).toHaveValue("First and second");
    await expect(field(page, "area")).toHaveValue("61.5");
    await expect(property(page, "name")).toHaveAttribute("data-changed");
    expect(await readTwin(service, ROOM)).toMatchObject({ name: "First" });
    await saveButton(page).click();
    await expect(saveButton(page)).toHaveCount(0);
    expect(await readTwin(service, ROOM)).toMatchObject({ name: "First and second", area: 61.5 });
  });

  test("and is no value yet stays while others change the twin, and in every tab", async ({
    page,
  }) => {
    await selectTwin(page, service, ROOM);
    await expect(page.getByRole("button", { name: /^Live/ })).toBeVisible();
    await field(page, "capacity").fill("12,5");
    await inspector(page).getByRole("tab", { name: "JSON" }).click();
    const editor = inspector(page).getByRole("textbox", { name: `JSON of ${ROOM}` });
    await editor.focus();
    await page.keyboard.press("ControlOrMeta+a");
    const { area, capacity, occupied, climate, $metadata } = await readTwin(service, ROOM);
    const rest = JSON.stringify({ area, capacity, occupied, climate, $metadata }).slice(1);
    await page.keyboard.insertText('{"name": "half writ');
    await send(service, "PATCH", `/digitaltwins/${ROOM}`, [
      { op: "replace", path: "/area", value: 77 },
    ]);
    await expect(inspector(page).getByText("Meanwhile /area changed")).toBeVisible();
    await expect(editor).toContainText('{"name": "half writ');
    await inspector(page).getByRole("tab", { name: "Properties" }).click();
    await expect(field(page, "area")).toHaveValue("77");
    await expect(field(page, "capacity")).toHaveValue("12,5");
    await expect(inspector(page).getByText("2 fields are not right yet.")).toBeVisible();
    await expect(saveButton(page)).toHaveCount(0);
    await property(page, "capacity").getByRole("button", { name: /^Undo/ }).click();
    await expect(field(page, "capacity")).toHaveValue(String(capacity));

    await inspector(page).getByRole("tab", { name: "JSON" }).click();
    await editor.focus();
    await page.keyboard.press("ControlOrMeta+End");
    await page.keyboard.insertText(`ten", ${rest}`);
    await saveButton(page).click();
    await expect(saveButton(page)).toHaveCount(0);
    expect(await readTwin(service, ROOM)).toMatchObject({ name: "half written", area: 77 });
  });

  test("is asked for and led to while no inspector shows it, on a phone too", async ({ page }) => {
    await selectTwin(page, service, ROOM);
    await field(page, "name").fill("Half done");
    const sign = page.getByRole("region", { name: "Not saved yet" });
    await expect(sign).toHaveCount(0);
    await page.getByRole("button", { name: "Hide the inspector" }).click();
    await expect(sign).toBeVisible();
    await expectQuestion(page);
    await page.getByRole("link", { name: "Models" }).click();
    await expect(page.getByRole("treegrid")).toBeVisible();
    await expectQuestion(page);
    await sign.getByRole("button", { name: ROOM }).click();
    await expect(field(page, "name")).toHaveValue("Half done");
    await expect(sign).toHaveCount(0);

    await page.setViewportSize({ width: 390, height: 844 });
    const sheet = page.getByRole("dialog", { name: "What is selected" });
    await sheet.getByRole("button", { name: "Close" }).click();
    await expect(sheet).toBeHidden();
    await expectQuestion(page);
    await expect(sign.getByRole("button", { name: ROOM })).toBeInViewport();
    await sign.getByRole("button", { name: ROOM }).click();
    await expect(field(page, "name")).toHaveValue("Half done");
    await saveButton(page).click();
    await expect(saveButton(page)).toHaveCount(0);
    await sheet.getByRole("button", { name: "Close" }).click();
    await expect(sheet).toBeHidden();
    await expect(sign).toHaveCount(0);
  });

  test("in a form goes by no click beside it, no Escape, no turn of a phone, no other model", async ({
    page,
  }) => {
    await selectTwin(page, service, ROOM);
    await inspector(page).getByRole("button", { name: "New twin" }).click();
    const form = page.getByRole("dialog", { name: "New twin" });
    await form.getByRole("combobox", { name: "Model" }).fill("Meeting");
    await page.getByRole("option", { name: /^Meeting room/ }).click();
    await page.keyboard.press("Escape");
    await expect(form).toHaveCount(0);

    await inspector(page).getByRole("button", { name: "New twin" }).click();
    await form.getByRole("combobox", { name: "Model" }).fill("Meeting");
    await page.getByRole("option", { name: /^Meeting room/ }).click();
    await form.getByRole("textbox", { name: "name", exact: true }).fill("The attic");
    await form.getByRole("textbox", { name: "capacity", exact: true }).fill("9");
    await page.keyboard.press("Escape");
    await page.mouse.click(5, 5);
    await expectQuestion(page);
    for (const width of [600, 1280]) {
      await page.setViewportSize({ width, height: 800 });
      await expect(form.getByRole("textbox", { name: "name", exact: true })).toHaveValue(
        "The attic",
      );
    }
    await form.getByRole("combobox", { name: "Model" }).fill("Building");
    await page.getByRole("option", { name: /^Building/ }).click();
    await expect(form.getByRole("textbox", { name: "name", exact: true })).toHaveValue("The attic");
    await expect(form.getByRole("textbox", { name: "capacity", exact: true })).toHaveCount(0);
    await form.getByRole("combobox", { name: "Model" }).fill("Meeting");
    await page.getByRole("option", { name: /^Meeting room/ }).click();
    await expect(form.getByRole("textbox", { name: "capacity", exact: true })).toHaveValue("9");
    await form.getByRole("textbox", { name: "Id", exact: true }).fill("attic");
    await form.getByRole("button", { name: "Create" }).click();
    await expect(inspector(page).getByRole("heading", { name: "attic" })).toBeVisible();
    expect(await readTwin(service, "attic")).toMatchObject({ name: "The attic", capacity: 9 });

    await page.setViewportSize({ width: 600, height: 800 });
    await inspector(page).getByRole("tab", { name: "Relationships" }).click();
    await inspector(page).getByRole("button", { name: "New relationship" }).click();
    const line = page.getByRole("dialog", { name: "New relationship of attic" });
    await line.getByRole("combobox", { name: "To" }).fill("b1-l0-r04");
    await page.getByRole("option", { name: /^b1-l0-r04/ }).click();
    await page.setViewportSize({ width: 1280, height: 800 });
    await page.mouse.click(5, 5);
    await line.getByRole("button", { name: "Create" }).click();
    await expect(inspector(page).getByText("b1-l0-r04").first()).toBeVisible();
  });

  test("of what somebody deletes is told, to be copied or given up", async ({ page, context }) => {
    await context.grantPermissions(["clipboard-read", "clipboard-write"]);
    await send(service, "PUT", "/digitaltwins/tmp1", {
      $metadata: { $model: "dtmi:com:example:building:Level;1" },
      name: "Passing",
    });
    await selectTwin(page, service, "tmp1");
    await expect(page.getByRole("button", { name: /^Live/ })).toBeVisible();
    await field(page, "name").fill("Passing by");
    const gone = await fetch(`${service.url}/digitaltwins/tmp1`, { method: "DELETE" });
    expect(gone.status).toBe(204);
    await expect(inspector(page).getByText("There is no such twin (any more)")).toBeVisible();
    const lost = inspector(page).getByRole("region", { name: "Unsaved changes" });
    const patch = '{"op":"replace","path":"/name","value":"Passing by"}';
    await expect(lost).toContainText(patch);
    await lost.getByRole("button", { name: "Copy" }).click();
    await expect(page.getByText("The changes are copied.")).toBeVisible();
    expect(await page.evaluate(() => navigator.clipboard.readText())).toBe(patch);
    await expectQuestion(page);
    await lost.getByRole("button", { name: "Discard" }).click();
    await expect(lost).toHaveCount(0);
    // Nobody is asked any more.
    await page.reload();
    await expect(page.getByRole("navigation", { name: "Views" })).toBeVisible();
  });

  test("keeps the focus and its lines while it is written", async ({ page }) => {
    await selectTwin(page, service, ROOM);
    const name = field(page, "name");
    await name.fill("one");
    await page.keyboard.press("Shift+Enter"); // Enter alone saves
    await page.keyboard.type("two");
    await expect(name).toHaveValue("one\ntwo");
    await page.keyboard.press("Home");
    await page.keyboard.press("Backspace");
    await page.keyboard.type("/ and ");
    await expect(name).toHaveValue("one/ and two");
    await expect(name).toBeFocused();
    await page.keyboard.insertText("three\nfour ");
    await expect(name).toHaveValue("one/ and three\nfour two");
    await saveButton(page).click();
    await expect(saveButton(page)).toHaveCount(0);
    expect(await readTwin(service, ROOM)).toMatchObject({ name: "one/ and three\nfour two" });
  });
});
