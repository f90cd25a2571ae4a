import { join } from "node:path";

import type { Page, Route } from "@playwright/test";

import { expect, open, startService, test } from "./fixtures";
import type { Service } from "./processes";

/** An office; 8 relationships of the sample building lead from it and to it. */
const ROOM = "b1-l0-r02";
const NEIGHBOUR = "b1-l0-r03";

async function send(service: Service, method: string, path: string, body: object): Promise<void> {
  const type = method === "PATCH" ? "application/json-patch+json" : "application/json";
  const answer = await fetch(service.url + path, {
    method,
    headers: { "Content-Type": type },
    body: JSON.stringify(body),
  });
  if (!answer.ok) throw new Error(await answer.text());
}

async function attachMany(service: Service, count: number): Promise<void> {
  for (let from = 0; from < count; from += 500) {
    const operations = Array.from({ length: Math.min(500, count - from) }, (_, at) => ({
      op: "putRelationship",
      sourceId: NEIGHBOUR,
      relationshipId: `again-${from + at}`,
      document: { $relationshipName: "adjacentTo", $targetId: ROOM },
    }));
    await send(service, "POST", "/$transaction", { operations });
  }
}

async function askToDelete(page: Page, service: Service) {
  const query = `MATCH (t:Twin) WHERE t.\`$dtId\` = '${ROOM}' RETURN t`;
  await open(page, service, `~own/query?${new URLSearchParams({ query })}`);
  await page.getByRole("grid").locator(`[data-twin="${ROOM}"]`).click();
  const inspector = page.getByRole("complementary", { name: "Inspector" });
  await inspector.getByRole("button", { name: "Delete" }).click();
  return page.getByRole("dialog");
}

test.describe("a twin with more relationships than a transaction takes", () => {
  let service: Service;

  test.beforeEach(async ({ folder }, { testId }) => {
    service = await startService(join(folder, testId));
    await attachMany(service, 1100);
  });
  test.afterEach(async () => {
    await service.stop();
    expect(service.failures()).toBe("");
  });

  test("goes in several, and says what is gone where one of them fails", async ({ page }) => {
    const dialog = await askToDelete(page, service);
    await expect(dialog.getByText(/they go in 2, one after the other/)).toBeVisible();
    await expect(dialog.getByText("and 807 more")).toBeVisible();
    // Somebody changes the twin while the first transaction runs.
    let sent = 0;
    const watch = async (route: Route): Promise<void> => {
      sent += 1;
      if (sent === 2) {
        await expect(dialog.getByText("1,000 of 1,108 relationships are deleted")).toBeVisible();
        const patch = [{ op: "replace", path: "/name", value: "Still in use" }];
        await send(service, "PATCH", `/digitaltwins/${ROOM}`, patch);
      }
      await route.continue();
    };
    await page.route("**/$transaction", watch);
    await dialog.getByRole("button", { name: "Delete it and 1,108 relationships" }).click();
    await expect(
      dialog.getByText("1,000 of the relationships were deleted before it failed."),
    ).toBeVisible();
    expect((await fetch(`${service.url}/digitaltwins/${ROOM}`)).status).toBe(200);

    await dialog.getByRole("button", { name: "Delete it and 108 relationships" }).click();
    await expect(page.getByText(`${ROOM} and 108 relationships are deleted.`)).toBeVisible();
    expect((await fetch(`${service.url}/digitaltwins/${ROOM}`)).status).toBe(404);
    expect(sent).toBe(3);
  });

  test("stays whole where one that leads to it has changed", async ({ page }) => {
    const dialog = await askToDelete(page, service);
    const meddle = async (route: Route): Promise<void> => {
      const path = `/digitaltwins/${NEIGHBOUR}/relationships/again-0`;
      await fetch(service.url + path, { method: "DELETE" });
      await send(service, "PUT", path, { $relationshipName: "adjacentTo", $targetId: ROOM });
      await route.continue();
    };
    await page.route("**/$transaction", meddle, { times: 1 });
    await dialog.getByRole("button", { name: "Delete it and 1,108 relationships" }).click();
    await expect(dialog.getByText(/doesn't match the current etag/)).toBeVisible();
    await expect(dialog.getByText(/deleted before it failed/)).toHaveCount(0);
    const answer = await fetch(`${service.url}/digitaltwins/${NEIGHBOUR}/relationships/again-1`);
    expect(answer.status).toBe(200);
  });
});
