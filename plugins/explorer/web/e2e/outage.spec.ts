import { join } from "node:path";

import { expect, open, startService, test, writeQuery } from "./fixtures";

test("an outage is told by a banner, and ends by itself with all read anew", async ({
  page,
  folder,
}, { testId }) => {
  const service = await startService(join(folder, testId));
  try {
    await open(page, service);
    await expect(page.getByRole("button", { name: /^Live/ })).toBeVisible();
    await writeQuery(page, "MATCH (b:Building) RETURN b");
    await page.getByRole("button", { name: /^Run/ }).click();
    await expect(page.getByText("4 rows")).toBeVisible();
    await service.stop();
    const banner = page.getByText("The service does not answer.");
    await expect(banner).toBeVisible();
    // A part that was not got yet is waited for, not failed.
    await page.getByRole("link", { name: "Models", exact: true }).click();
    await expect(page.getByText("has failed")).toHaveCount(0);
    await service.start();
    await page
      .getByRole("button", { name: "Try now" })
      .click({ timeout: 5_000 })
      .catch(() => null);
    await expect(banner).toHaveCount(0);
    await expect(page.getByRole("treegrid", { name: "Models by inheritance" })).toBeVisible();
    await expect(page.getByRole("button", { name: /^Live/ })).toBeVisible();
  } finally {
    await service.stop();
    expect(service.failures()).toBe("");
  }
});

test("where a part of the page is gone, as after an upgrade, the page is loaded anew, once", async ({
  page,
  demo,
}) => {
  await open(page, demo);
  let refused = 0;
  const isView = /\/assets\/ModelsView-[^/]*\.(js|css)$/;
  await page.route(isView, (route) => {
    refused += 1;
    return route.fulfill({ status: 404, body: "" });
  });
  const loaded = page.waitForEvent("load");
  await page.getByRole("link", { name: "Models", exact: true }).click();
  await loaded;
  await expect(page.getByText("A part of this page could not be loaded")).toBeVisible();
  await expect(page.getByText("Unable to preload")).toHaveCount(0);
  expect(refused).toBeGreaterThan(1);
  await page.unroute(isView);
  await page.reload();
  await expect(page.getByRole("treegrid", { name: "Models by inheritance" })).toBeVisible();
});
