import { join } from "node:path";

import { ask, expect, startService, test } from "./fixtures";
import { field, inspector, ROOM, selectTwin, send } from "./inspecting";
import { takeScreenshot } from "./screenshots";

test("what was changed here is listed, and undone unless somebody else changed it since", async ({
  page,
  folder,
}, { testId }) => {
  const service = await startService(join(folder, testId));
  const valueOf = async (name: string): Promise<unknown> =>
    (await ask(service, `MATCH (t {\`$dtId\`: '${ROOM}'}) RETURN t.${name} AS value`))[0]?.[
      "value"
    ];
  const list = page.getByRole("button", { name: /^Changes made here/ });
  const dialog = page.getByRole("dialog", { name: "Changes made here" });
  try {
    await selectTwin(page, service, ROOM);
    await expect(list).toHaveCount(0);
    // Enter saves a field.
    await field(page, "area").fill("99");
    await page.keyboard.press("Enter");
    await expect(page.getByText("Saved.")).toBeVisible();
    expect(await valueOf("area")).toBe(99);
    await page.getByRole("button", { name: "Undo", exact: true }).click();
    await expect(page.getByText(`Undone: ${ROOM}: area`)).toBeVisible();
    expect(await valueOf("area")).toBe(56.2);
    // The number is of what can still be undone.
    await expect(list).toHaveAccessibleName("Changes made here");
    await expect(list).toHaveText("");

    await field(page, "capacity").fill("3");
    await page.keyboard.press("Enter");
    await expect(list).toHaveAccessibleName("Changes made here, 1 to undo");
    await expect(list).toHaveText("1");
    const others = [{ op: "replace", path: "/capacity", value: 4 }];
    await send(service, "PATCH", `/digitaltwins/${ROOM}`, others);
    await list.click();
    await expect(dialog.getByText("undone", { exact: true })).toHaveCount(1);
    await takeScreenshot(page, "changes-made");
    await dialog.getByRole("button", { name: `Undo: ${ROOM}: capacity` }).click();
    await expect(page.getByText("Not undone: /capacity has another value since")).toBeVisible();
    expect(await valueOf("capacity")).toBe(4);
    await page.keyboard.press("Escape");

    // A copy has the values, and goes again.
    await inspector(page).getByRole("button", { name: "Copy", exact: true }).click();
    const form = page.getByRole("dialog", { name: "New twin" });
    await expect(form.getByRole("textbox", { name: "name", exact: true })).toHaveValue(
      "Office 0.02",
    );
    await form.getByRole("textbox", { name: "Id", exact: true }).fill("twin-of-it");
    await form.getByRole("button", { name: "Create" }).click();
    await expect(inspector(page).getByRole("heading", { name: /twin-of-it$/ })).toBeVisible();
    const copied = "MATCH (t {`$dtId`: 'twin-of-it'}) RETURN t.climate.setpoint AS value";
    expect(await ask(service, copied)).toEqual([{ value: 21 }]);
    await list.click();
    await dialog.getByRole("button", { name: "Undo: twin-of-it created" }).click();
    await expect(page.getByText("Undone: twin-of-it created")).toBeVisible();
    expect(await ask(service, copied)).toEqual([]);
  } finally {
    await service.stop();
    expect(service.failures()).toBe("");
  }
});
