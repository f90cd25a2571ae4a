import { ask, expect, open, signIn, test, watchConsole, writeQuery } from "./fixtures";
import { takeScreenshot } from "./screenshots";

const CAPACITIES =
  "MATCH (r:MeetingRoom) WHERE r.capacity > 18 RETURN r.$dtId AS id, r.capacity AS capacity ORDER BY id";
const RAISE =
  "MATCH (r:MeetingRoom)\nWHERE r.capacity > 18\nSET r.capacity = r.capacity + 1\nRETURN r";

test("a statement shows what it would change, and writes once somebody says so", async ({
  page,
  demo,
}) => {
  const problems = watchConsole(page);
  await open(page, demo, "~own/query");
  await writeQuery(page, RAISE);
  await expect(page.getByText("No error found")).toBeVisible();
  const before = await ask(demo, CAPACITIES);

  await page.getByRole("button", { name: /^Run/ }).click();
  const dialog = page.getByRole("dialog", { name: /writes to the graph/ });
  await expect(dialog.getByRole("list", { name: "Changes" })).toHaveText(
    `${before.length} properties set`,
  );
  const preview = dialog.getByRole("table", { name: "Rows of the rehearsal" });
  await expect(preview.getByRole("row")).toHaveCount(before.length + 1);
  await takeScreenshot(page, "query-statement");
  await dialog.getByRole("button", { name: "Cancel" }).click();
  await expect(dialog).toBeHidden();
  expect(await ask(demo, CAPACITIES)).toEqual(before);

  await page.getByRole("button", { name: /^Run/ }).click();
  await dialog.getByRole("button", { name: "Run it" }).click();
  await expect(page.getByText(`${before.length} properties set.`)).toBeVisible();
  const raised = before.map((one) => ({ ...one, capacity: Number(one["capacity"]) + 1 }));
  expect(await ask(demo, CAPACITIES)).toEqual(raised);

  // Its steps are what Explain shows, and run nothing.
  await page.getByRole("button", { name: "Explain" }).click();
  await expect(page.getByText("3 steps, one after the other")).toBeVisible();
  expect(await ask(demo, CAPACITIES)).toEqual(raised);

  // A link does not write, and neither does a reload.
  await page.reload();
  await expect(page.getByText("what it changes is shown before it runs")).toBeVisible();
  await expect(page.getByText("No error found")).toBeVisible();
  await expect(dialog).toBeHidden();
  expect(await ask(demo, CAPACITIES)).toEqual(raised);
  expect(problems).toEqual([]);
});

test("a procedure is called without a question", async ({ page, demo }) => {
  await open(page, demo, "~own/query");
  await writeQuery(page, "CALL db.labels() YIELD label RETURN label ORDER BY label");
  await page.getByRole("button", { name: /^Run/ }).click();
  await expect(page.getByRole("gridcell", { name: "AirHandlingUnit" }).first()).toBeVisible();
});

test("who may not write is told so, and nothing is changed", async ({ page, secured }) => {
  const { service } = secured;
  await page.goto(`${service.url}/explorer/~own/query`);
  await signIn(page, "Rob Reader");
  await writeQuery(page, RAISE);
  await page.getByRole("button", { name: /^Run/ }).click();
  const alert = page.getByRole("alert");
  await expect(alert).toContainText("Refused: nothing was changed");
  await expect(alert).toContainText("query/write");
  await expect(page.getByRole("dialog")).toBeHidden();
});
