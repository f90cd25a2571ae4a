import { expect, findBarriers, open, signIn, test, writeQuery } from "./fixtures";

for (const theme of ["light", "dark"] as const) {
  test.describe(`in the ${theme} theme`, () => {
    test.use({ colorScheme: theme, reducedMotion: "reduce" });

    test("no view of the navigation has a serious barrier", async ({ page, hosted }) => {
      // The navigation says which views there are, so one that is new is looked at, too.
      test.slow();
      await page.goto(`${hosted.service.url}/explorer/`);
      await signIn(page, "Ada Lovelace");
      const links = page.getByRole("navigation", { name: "Views" }).getByRole("link");
      await expect(links.filter({ hasText: "Control plane" })).toBeVisible();
      const names = await links.allTextContents();
      expect(names.length).toBeGreaterThan(1);
      for (const name of names) {
        await links.filter({ hasText: name }).click();
        await expect(page.getByRole("main", { name, exact: true })).toBeVisible();
        await expect(page.getByRole("progressbar")).toHaveCount(0);
        expect.soft(await findBarriers(page), name).toEqual([]);
      }
    });

    test("the query view has no serious barrier, before and after a query", async ({
      page,
      demo,
    }) => {
      await open(page, demo, "~own/query");
      await expect(page.getByRole("button", { name: /^Run/ })).toBeVisible();
      expect(await findBarriers(page)).toEqual([]);
      await writeQuery(page, "MATCH (a)-[r]->(b) RETURN a, r, b.name AS name LIMIT 20");
      await page.getByRole("button", { name: /^Run/ }).click();
      await expect(page.getByText("20 rows")).toBeVisible();
      expect(await findBarriers(page)).toEqual([]);
    });

    test("results as JSON, their export and the plan have no serious barrier", async ({
      page,
      demo,
    }) => {
      await open(page, demo, "~own/query");
      await writeQuery(page, "MATCH (a)-[r]->(b) RETURN a, r, 1 AS one LIMIT 20");
      await page.getByRole("button", { name: /^Run/ }).click();
      await expect(page.getByText("20 rows")).toBeVisible();
      await page.getByRole("tab", { name: "JSON" }).click();
      await expect(page.getByLabel("Rows as JSON")).toBeVisible();
      expect(await findBarriers(page)).toEqual([]);
      await page.getByRole("button", { name: "Export" }).click();
      await expect(page.getByRole("dialog")).toBeVisible();
      expect(await findBarriers(page)).toEqual([]);
      await page.keyboard.press("Escape");
      await page.getByRole("button", { name: "Explain" }).click();
      await expect(page.getByRole("img", { name: /Plan of \d+ operators/ })).toBeVisible();
      expect(await findBarriers(page)).toEqual([]);
    });

    test("a query with warnings, and one that fails, have no serious barrier", async ({
      page,
      demo,
    }) => {
      await open(page, demo, "~own/query");
      await writeQuery(page, "MATCH (r:Rom) RETURN r.nme");
      await page.getByRole("button", { name: /^Run/ }).click();
      await expect(page.getByRole("list", { name: "Warnings" })).toBeVisible();
      expect(await findBarriers(page)).toEqual([]);
      await writeQuery(page, "MATCH (r:Room) RETRUN r");
      await page.getByRole("button", { name: /^Run/ }).click();
      await expect(page.getByRole("alert")).toContainText("The query failed");
      expect(await findBarriers(page)).toEqual([]);
    });

    test("no tab of the inspector has a serious barrier, nor the form of a twin", async ({
      page,
      demo,
    }) => {
      test.slow(); // it looks at six views
      await open(page, demo, "~own/query");
      await writeQuery(page, "MATCH (r:Office)-[x:adjacentTo]->(o) RETURN r, x, 1 AS one LIMIT 1");
      await page.getByRole("button", { name: /^Run/ }).click();
      const cells = page.getByRole("gridcell");
      await cells.first().getByRole("button").last().click();
      const inspector = page.getByRole("complementary", { name: "Inspector" });
      for (const name of ["Properties", "Relationships", "Telemetry", "JSON"]) {
        await inspector.getByRole("tab", { name }).click();
        await expect(inspector.getByRole("tabpanel", { name })).toBeVisible();
        expect(await findBarriers(page)).toEqual([]);
      }
      await cells.nth(1).getByRole("button", { name: "adjacentTo" }).click();
      await expect(inspector.getByRole("heading", { name: "adjacentTo" })).toBeVisible();
      expect(await findBarriers(page)).toEqual([]);
      await inspector.getByRole("button", { name: "New twin" }).click();
      await expect(page.getByRole("dialog", { name: "New twin" })).toBeVisible();
      expect(await findBarriers(page)).toEqual([]);
    });

    test("the graph of a result has no serious barrier, as a picture, as lists and with a filter", async ({
      page,
      demo,
    }) => {
      await open(page, demo, "~own/query");
      await writeQuery(page, "MATCH (l {$dtId: 'b1-l0'})-[c:contains]->(r) RETURN l, c, r");
      await page.getByRole("button", { name: /^Run/ }).click();
      await page.getByRole("tab", { name: "Graph" }).click();
      await expect(page.getByRole("button", { name: "Lay out again" })).toBeVisible();
      await expect(page.getByRole("complementary", { name: "Legend" })).toBeVisible();
      expect(await findBarriers(page)).toEqual([]);
      await page.getByRole("searchbox", { name: "Filter the graph" }).fill("aera>10");
      await expect(page.getByText("Did you mean area?")).toBeVisible();
      expect(await findBarriers(page)).toEqual([]);
      await page.getByRole("button", { name: "List", exact: true }).click();
      const twins = page.getByRole("grid", { name: "Twins" });
      await twins.getByRole("row").nth(1).click();
      expect(await findBarriers(page)).toEqual([]);
    });

    test("the models view has no serious barrier", async ({ page, demo }) => {
      await open(page, demo, "~own/models");
      await expect(page.getByRole("treegrid").getByRole("row").first()).toBeVisible();
      await page.getByRole("treegrid").getByRole("row").first().click();
      expect(await findBarriers(page)).toEqual([]);
    });

    test("what a phone's bar has no room for has no serious barrier", async ({ page, demo }) => {
      await page.setViewportSize({ width: 390, height: 844 });
      await open(page, demo, "~own/models");
      await page.getByRole("banner").getByRole("button", { name: /^More/ }).click();
      await expect(page.getByRole("dialog", { name: "More" })).toBeVisible();
      expect(await findBarriers(page)).toEqual([]);
    });

    test("the sign-in page has no serious barrier", async ({ page, secured }) => {
      await page.goto(`${secured.service.url}/explorer/`);
      await expect(page.getByRole("button", { name: /^Sign in at/ })).toBeVisible();
      expect(await findBarriers(page)).toEqual([]);
    });

    test("the control plane has no serious barrier", async ({ page, hosted }) => {
      await page.goto(`${hosted.service.url}/explorer/~own/control`);
      await signIn(page, "Ada Lovelace");
      await page.getByRole("row", { name: "acme" }).click();
      await page.getByRole("tab", { name: "Changes" }).click();
      await expect(
        page.getByRole("list", { name: "Changes" }).getByRole("article"),
      ).not.toHaveCount(0);
      expect(await findBarriers(page)).toEqual([]);
      await page.getByRole("tab", { name: "Access" }).click();
      await expect(page.getByRole("grid", { name: "Who holds which role" })).toBeVisible();
      expect(await findBarriers(page)).toEqual([]);
      await page.getByRole("button", { name: "Grant a role" }).click();
      await expect(page.getByRole("dialog")).toBeVisible();
      expect(await findBarriers(page)).toEqual([]);
    });
  });
}
