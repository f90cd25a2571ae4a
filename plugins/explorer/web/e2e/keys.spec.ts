import { expect, open, test } from "./fixtures";
import { inspector, ROOM, selectTwin } from "./inspecting";

test("keys lead to the search of twins and to the list of keys, and the tab stays while one walks", async ({
  page,
  demo,
}) => {
  await open(page, demo);
  await page.getByRole("button", { name: "Hide the inspector" }).click();
  await page.getByRole("main").focus();
  await page.keyboard.press("?");
  const keys = page.getByRole("dialog", { name: "Keys" });
  await expect(keys).toContainText("Find a twin");
  await page.keyboard.press("Escape");
  await expect(keys).toHaveCount(0);
  await page.keyboard.press("ControlOrMeta+k");
  await expect(page.getByRole("combobox", { name: "Find a twin" })).toBeFocused();
  // Where one writes it is a letter as any other.
  await page.keyboard.type("?");
  await expect(page.getByRole("combobox", { name: "Find a twin" })).toHaveValue("?");
  await selectTwin(page, demo, ROOM);
  await inspector(page).getByRole("tab", { name: "Relationships" }).click();
  const outgoing = inspector(page).getByRole("region", { name: "Outgoing relationships" });
  await outgoing.getByRole("button", { name: "Office 0.03", exact: true }).first().click();
  await expect(inspector(page).getByRole("heading", { name: /b1-l0-r03$/ })).toBeVisible();
  await expect(inspector(page).getByRole("tab", { name: "Relationships" })).toHaveAttribute(
    "aria-selected",
    "true",
  );
});
