import type { Page } from "@playwright/test";

import { expect, open, signIn, test, writeQuery } from "./fixtures";

test.use({ viewport: { width: 390, height: 844 }, hasTouch: true });

/** How many pixels of the page lie beside the screen. */
function overflowOf(page: Page): Promise<number> {
  return page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
}

test("on a phone the views stack, nothing lies beside the screen, all is reached", async ({
  page,
  demo,
}) => {
  await open(page, demo);
  await expect(page.getByRole("button", { name: /^Run/ })).toBeVisible();
  expect(await overflowOf(page)).toBeLessThanOrEqual(0);
  await page.getByRole("link", { name: "Models" }).tap();
  await expect(page.getByRole("treegrid").getByRole("row").first()).toBeVisible();
  expect(await overflowOf(page)).toBeLessThanOrEqual(0);
  await page.getByRole("button", { name: "Appearance" }).tap();
  await expect(page.getByRole("menuitemradio", { name: "Dark" })).toBeInViewport();
});

test("on a phone what is selected is a sheet that closes again", async ({ page, demo }) => {
  await open(page, demo);
  await writeQuery(page, "MATCH (b:Building) RETURN b LIMIT 1");
  await page.getByRole("button", { name: /^Run/ }).tap();
  await page.getByRole("gridcell").getByRole("button", { name: "b1", exact: true }).tap();
  const sheet = page.getByRole("dialog", { name: "What is selected" });
  await expect(sheet).toBeVisible();
  expect(await overflowOf(page)).toBeLessThanOrEqual(0);
  await sheet.getByRole("button", { name: "Close" }).tap();
  await expect(sheet).toBeHidden();
});

test("on a phone one signs in and sees the control plane", async ({ page, hosted }) => {
  await page.goto(`${hosted.service.url}/explorer/~own/control`);
  expect(await overflowOf(page)).toBeLessThanOrEqual(0);
  await signIn(page, "Ada Lovelace");
  await expect(page.getByRole("treegrid")).toBeVisible();
  expect(await overflowOf(page)).toBeLessThanOrEqual(0);
});
