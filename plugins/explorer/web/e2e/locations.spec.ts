import type { Page } from "@playwright/test";

import { expect, findBarriers, open, test, watchConsole } from "./fixtures";
import { inspector } from "./inspecting";
import { takeScreenshot } from "./screenshots";

const treeOf = (page: Page) => page.getByRole("treegrid", { name: "Locations" });

for (const [theme, width] of [
  ["light", 1440],
  ["dark", 1024],
] as const) {
  test.describe(`${width} pixels wide, ${theme}`, () => {
    test.use({ colorScheme: theme, viewport: { width, height: 800 }, reducedMotion: "reduce" });

    test("by keyboard one walks from the campus to a room, which the inspector shows with its place", async ({
      page,
      demo,
    }) => {
      const problems = watchConsole(page);
      await open(page, demo);
      const button = page.getByRole("button", { name: "Locations", exact: true });
      await expect(button).toHaveAttribute("aria-expanded", String(width >= 1400));
      if (width < 1400) await button.press("Enter");
      const tree = treeOf(page);
      await expect(tree.getByRole("row")).toHaveCount(5);
      await tree.getByRole("row", { name: "North Wing" }).click();
      await expect(inspector(page).getByRole("heading", { name: "North Wing b1" })).toBeVisible();
      await page.keyboard.press("ArrowRight");
      await expect(tree.getByRole("row", { name: "Level 0" })).toBeVisible();
      await tree.getByRole("row", { name: "Level 0" }).click();
      await page.keyboard.press("ArrowRight");
      await tree.getByRole("row", { name: "Office 0.02" }).click();
      const heading = inspector(page).getByRole("heading", { name: "Office 0.02 b1-l0-r02" });
      await expect(heading).toBeVisible();
      const way = inspector(page).getByRole("navigation", { name: "Location" });
      await expect(way.getByRole("listitem")).toHaveText([
        "Harbour Campus",
        "North Wing",
        "Level 0",
      ]);
      expect(await findBarriers(page)).toEqual([]);
      if (width === 1440) await takeScreenshot(page, "locations");
      await way.getByRole("button", { name: /^North Wing/ }).click();
      await expect(inspector(page).getByRole("heading", { name: "North Wing b1" })).toBeVisible();
      await expect(tree.getByRole("row", { name: "North Wing" })).toHaveAttribute(
        "aria-selected",
        "true",
      );
      await page.getByRole("button", { name: "Hide the locations" }).click();
      await expect(tree).toHaveCount(0);
      await page.reload();
      await expect(page.getByRole("button", { name: /^Run/ })).toBeVisible();
      await expect(tree).toHaveCount(0);
      expect(problems).toEqual([]);
    });
  });
}

test("what an address selects is opened in the tree, and what contains what can be chosen", async ({
  page,
  demo,
}) => {
  await page.setViewportSize({ width: 1440, height: 800 });
  await open(page, demo, "~own/query?twin=b2-l3-r04");
  const tree = treeOf(page);
  const room = tree.getByRole("row", { name: /^(Office|Meeting room) 3.04/ });
  await expect(room).toHaveAttribute("aria-selected", "true");
  await expect(tree.getByRole("row", { name: "Chiller 2" })).toBeVisible();
  await page.getByRole("button", { name: "Choose what contains what" }).click();
  const dialog = page.getByRole("dialog", { name: "What contains what" });
  await expect(dialog).toContainText("Found by the names and the shape.");
  const located = dialog.getByRole("radiogroup", { name: "locatedIn" });
  await located.getByRole("radio", { name: "No" }).click();
  await expect(dialog).toContainText("As chosen in this browser.");
  await page.keyboard.press("Escape");
  await expect(tree.getByRole("row", { name: "Level 3" })).toBeVisible();
  await expect(tree.getByRole("row", { name: "Chiller 2" })).toHaveCount(0);
  await page.getByRole("button", { name: "Choose what contains what" }).click();
  await dialog.getByRole("button", { name: "As found" }).click();
  await page.keyboard.press("Escape");
  await expect(tree.getByRole("row", { name: "Chiller 2" })).toBeVisible();
});

test.describe("on a phone", () => {
  test.use({ viewport: { width: 390, height: 844 }, colorScheme: "dark", reducedMotion: "reduce" });

  test("the locations are a sheet, which gives way to what is chosen there", async ({
    page,
    demo,
  }) => {
    await open(page, demo);
    await page.getByRole("button", { name: "Locations", exact: true }).click();
    const sheet = page.getByRole("dialog", { name: "Where things are" });
    await expect(sheet.getByRole("row")).toHaveCount(5);
    expect(await findBarriers(page)).toEqual([]);
    await page.keyboard.press("Escape");
    await expect(sheet).toHaveCount(0);
    await page.getByRole("button", { name: "Locations", exact: true }).click();
    await sheet.getByRole("row", { name: "Library" }).click();
    await expect(sheet).toHaveCount(0);
    await expect(inspector(page).getByRole("heading", { name: "Library b4" })).toBeVisible();
    const overflow = await page.evaluate(() => document.body.scrollWidth - window.innerWidth);
    expect(overflow).toBeLessThanOrEqual(0);
  });
});

test("what is in a building, on all its levels, is counted by model and shown as a table", async ({
  page,
  demo,
}) => {
  const problems = watchConsole(page);
  await page.setViewportSize({ width: 1440, height: 800 });
  await open(page, demo, "~own/query?twin=b1");
  await inspector(page).getByText("What is in it").click();
  const offices = inspector(page).getByRole("link", { name: "Office 78" });
  await expect(inspector(page).getByRole("link", { name: "Level 6" })).toBeVisible();
  expect(await findBarriers(page)).toEqual([]);
  await offices.click();
  await expect(page.getByRole("status").getByText("78 rows")).toBeVisible();
  await expect(page.getByRole("tab", { name: "Table" })).toHaveAttribute("aria-selected", "true");
  await expect(inspector(page).getByRole("heading", { name: "North Wing b1" })).toBeVisible();
  await open(page, demo, "~own/query?twin=b1-l0-r02-t");
  await expect(inspector(page).getByRole("heading", { level: 2 })).toContainText("b1-l0-r02-t");
  await expect(inspector(page).getByText("What is in it")).toHaveCount(0);
  expect(problems).toEqual([]);
});
