import type { Page } from "@playwright/test";

import { expect, open, test, watchConsole, writeQuery } from "./fixtures";
import { takeScreenshot } from "./screenshots";

const LEVEL = "MATCH (l {$dtId: 'b1-l0'})-[c:contains]->(r)<-[o:observes]-(s) RETURN l, c, r, o, s";

async function picture(page: Page, query: string): Promise<void> {
  await writeQuery(page, query);
  await page.keyboard.press("ControlOrMeta+Enter");
  await page.getByRole("tab", { name: "Graph" }).click();
}

function legend(page: Page) {
  return page.getByRole("complementary", { name: "Legend" });
}

test("models and relationships are styled, values give colours, and all of it stays", async ({
  page,
  demo,
}) => {
  const problems = watchConsole(page);
  await page.setViewportSize({ width: 1440, height: 1000 });
  await open(page, demo, "own/query");
  await picture(page, LEVEL);
  await legend(page).getByRole("button", { name: "Style of Office" }).click();
  const office = page.getByRole("dialog", { name: "Style of Office" });
  await office.getByLabel("Colour").fill("#aa3377");
  await office.getByLabel("Icon").selectOption("user");
  await office.getByLabel("Size").selectOption("large");
  await office.getByLabel("Caption").selectOption("climate.temperature");
  await page.keyboard.press("Escape");
  await legend(page).getByRole("button", { name: "Style of contains" }).click();
  const contains = page.getByRole("dialog", { name: "Style of contains" });
  await contains.getByLabel("Colour").fill("#007300");
  await page.keyboard.press("Escape");
  await legend(page).getByRole("button", { name: "Add a rule" }).click();
  const rule = page.getByRole("dialog", { name: "Colour by value" });
  await rule.getByLabel("Property").selectOption("climate.temperature");
  await expect(rule.getByLabel("From", { exact: true })).not.toHaveValue("");
  await rule.getByLabel("From", { exact: true }).fill("18");
  await rule.getByLabel("To", { exact: true }).fill("25");
  await rule.getByRole("button", { name: "Add" }).click();
  const rules = legend(page).getByRole("list", { name: "Colours by value" });
  await expect(rules).toContainText("climate.temperature from 18 to 25");
  await page.waitForTimeout(1500);
  await takeScreenshot(page, "style");
  await page.emulateMedia({ colorScheme: "dark" });
  await takeScreenshot(page, "style-dark");
  await page.reload();
  await page.getByRole("tab", { name: "Graph" }).click();
  await expect(rules).toContainText("climate.temperature from 18 to 25");
  await legend(page).getByRole("button", { name: "Style of Office" }).click();
  await expect(office.getByLabel("Colour")).toHaveValue("#aa3377");
  await expect(office.getByLabel("Icon")).toHaveValue("user");
  await office.getByRole("button", { name: "Reset" }).click();
  await expect(office.getByLabel("Colour")).not.toHaveValue("#aa3377");
  await page.keyboard.press("Escape");
  await rules.getByRole("button", { name: /^Remove climate/ }).click();
  await expect(rules.getByRole("listitem")).toHaveCount(0);
  expect(problems).toEqual([]);
});

test("a rule is for the twins of a model where it says so, and is edited by a click", async ({
  page,
  demo,
}) => {
  await open(page, demo, "own/query");
  await picture(page, LEVEL);
  await legend(page).getByRole("button", { name: "Add a rule" }).click();
  const form = page.getByRole("dialog", { name: "Colour by value" });
  const rules = legend(page).getByRole("list", { name: "Colours by value" });
  await form.getByLabel("Property").selectOption("climate.temperature");
  await form.getByLabel(/^As/).selectOption("One colour");
  await expect(form.getByLabel("Compares")).toHaveValue(">");
  // No choice is wider than the room that it has, with the arrow that opens it.
  const cut = await form.locator("select").evaluateAll((all) => {
    const context = document.createElement("canvas").getContext("2d");
    return all.flatMap((one) => {
      const select = one as HTMLSelectElement;
      const said = select.selectedOptions[0]?.text ?? "";
      if (context === null) return ["no canvas"];
      context.font = getComputedStyle(select).font;
      return context.measureText(said).width > select.clientWidth - 24 ? [said] : [];
    });
  });
  expect(cut).toEqual([]);
  await expect(form.getByRole("button", { name: "Add" })).toBeDisabled();
  await form.getByLabel("With").fill("24");
  await form.getByRole("button", { name: "Add" }).click();
  await rules.getByRole("button", { name: "Edit climate.temperature > 24" }).click();
  await expect(form.getByLabel("With")).toHaveValue("24");
  await expect(form.getByLabel(/^Of/).locator("option")).toContainText(["All models", "Office"]);
  await form.getByLabel(/^Of/).selectOption("Office");
  await form.getByLabel("With").fill("23");
  await form.getByRole("button", { name: "Save" }).click();
  await expect(rules.getByRole("listitem")).toHaveText(["Office: climate.temperature > 23"]);
  await rules.getByRole("button", { name: /^Edit/ }).click();
  await expect(form.getByLabel(/^Of/).locator("option:checked")).toHaveText("Office");
});

test("a picture of a part of the rows says so and takes the rest, and a filter that leaves nothing", async ({
  page,
  demo,
}) => {
  await open(page, demo, "own/query");
  await picture(
    page,
    "MATCH (s:TemperatureSensor)-[r:observes]->(o) RETURN s, r, o UNION ALL MATCH (s:PresenceSensor)-[r:observes]->(o) RETURN s, r, o",
  );
  const stage = page.getByRole("region", { name: "Graph of the result" });
  await expect(stage).toContainText("The first 500 rows are drawn; the query has more.");
  await stage.getByRole("button", { name: "Draw 5,000 more" }).click();
  await expect(stage).not.toContainText("rows are drawn");
  await expect(page.getByText(/^1,224 twins, 816 relationships/)).toBeVisible();
  const filter = page.getByRole("searchbox", { name: "Filter the graph" });
  await filter.fill("nothing like this");
  await expect(stage.getByText("No twin here passes “nothing like this”.")).toBeVisible();
  await expect(legend(page)).toContainText("0 of 408");
  await stage.getByRole("button", { name: "Show all", exact: true }).click();
  await expect(page.getByText(/^1,224 twins, 816 relationships/)).toBeVisible();
});
