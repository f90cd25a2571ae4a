import { expect, open, test, watchConsole, writeQuery } from "./fixtures";

test("a newcomer finds a model, asks for its twins and sees them as a picture", async ({
  page,
  demo,
}) => {
  const problems = watchConsole(page);
  await open(page, demo);
  await page.getByRole("link", { name: "Models" }).click();
  await page.getByRole("searchbox", { name: "Search models" }).fill("Building");
  await page.getByRole("treegrid").getByRole("row").filter({ hasText: "Building" }).first().click();
  await expect(page.getByRole("article", { name: "Building" })).toBeVisible();

  await page.getByRole("link", { name: "Query", exact: true }).click();
  await writeQuery(page, "MATCH (b:Building)-[r]->(l:Level) RETURN b, r, l LIMIT 10");
  await page.getByRole("button", { name: /^Run/ }).click();
  await expect(page.getByText("10 rows")).toBeVisible();
  await page.getByRole("gridcell").getByRole("button", { name: "b1", exact: true }).first().click();
  await page.getByRole("tab", { name: "Graph" }).click();
  await expect(page.getByRole("tabpanel", { name: "Graph" })).toBeVisible();
  expect(problems).toEqual([]);
});
