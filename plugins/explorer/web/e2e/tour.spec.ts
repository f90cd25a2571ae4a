import { join } from "node:path";

import { expect, open, startService, test, watchConsole, writeQuery } from "./fixtures";
import type { Service } from "./processes";

/** The models and twins of `docs/tutorial/sdk.md`, whose tour through the explorer this is. */
const NAMES = "dtmi:com:example:tutorial";
const CONTEXT = "dtmi:dtdl:context;3";
const MODELS = [
  {
    "@context": CONTEXT,
    "@id": `${NAMES}:Lamp;1`,
    "@type": "Interface",
    displayName: "Lamp",
    contents: [
      { "@type": "Property", name: "level", schema: "integer" },
      { "@type": "Relationship", name: "lights", target: `${NAMES}:Desk;1` },
      { "@type": "Component", name: "driver", schema: `${NAMES}:Driver;1` },
    ],
  },
  {
    "@context": CONTEXT,
    "@id": `${NAMES}:Desk;1`,
    "@type": "Interface",
    contents: [{ "@type": "Property", name: "owner", schema: "string" }],
  },
  {
    "@context": CONTEXT,
    "@id": `${NAMES}:Driver;1`,
    "@type": "Interface",
    contents: [{ "@type": "Property", name: "firmware", schema: "string" }],
  },
];

async function send(
  service: Service,
  method: string,
  path: string,
  body: unknown,
  type = "application/json",
): Promise<void> {
  const answer = await fetch(service.url + path, {
    method,
    headers: { "Content-Type": type },
    body: JSON.stringify(body),
  });
  if (!answer.ok) throw new Error(await answer.text());
}

test("the tour of the tutorial goes as it is told", async ({ page, folder }, { testId }) => {
  const problems = watchConsole(page);
  const service = await startService(join(folder, testId));
  try {
    await send(service, "POST", "/models", MODELS);
    await send(service, "PUT", "/digitaltwins/desk-1", {
      $metadata: { $model: `${NAMES}:Desk;1` },
      owner: "Ada",
    });
    await send(service, "PUT", "/digitaltwins/lamp-1", {
      $metadata: { $model: `${NAMES}:Lamp;1` },
      level: 75,
      driver: { $metadata: {}, firmware: "1.3.0" },
    });
    await send(service, "PUT", "/digitaltwins/lamp-1/relationships/over-desk", {
      $relationshipName: "lights",
      $targetId: "desk-1",
    });

    await open(page, service);
    await page.getByRole("link", { name: "Models" }).click();
    await page.getByRole("searchbox", { name: "Search models" }).fill("Lamp");
    await page.getByRole("treegrid").getByRole("row", { name: "Lamp", exact: true }).click();
    const model = page.getByRole("article", { name: "Lamp" });
    await expect(model.getByRole("row", { name: /^level/ })).toContainText("integer");
    await model.getByRole("link", { name: "Query its twins (1)" }).click();
    await expect(page.getByText("1 row", { exact: true })).toBeVisible();

    await writeQuery(page, "MATCH (l:Lampe) RETURN l");
    await page.keyboard.press("ControlOrMeta+Enter");
    await expect(page.getByRole("list", { name: "Warnings" })).toContainText("did you mean 'Lamp'");
    await writeQuery(page, "MATCH (l:Lamp)-[r:lights]->(d:Desk) RETURN l, r, d");
    await page.keyboard.press("ControlOrMeta+Enter");
    await page.getByRole("tab", { name: "Table" }).click();
    const cells = page.getByRole("gridcell");
    await expect(cells).toHaveCount(3);
    await cells.first().getByRole("button", { name: "lamp-1", exact: true }).click();
    const inspector = page.getByRole("complementary", { name: "Inspector" });
    const level = inspector.getByRole("textbox", { name: "level", exact: true });
    await expect(level).toHaveValue("75");
    await level.fill("80");
    await inspector.getByRole("button", { name: "Save", exact: true }).click();
    await expect(inspector.getByRole("button", { name: "Save", exact: true })).toHaveCount(0);

    await expect(page.getByRole("button", { name: /^Live/ })).toBeVisible();
    const change = [{ op: "replace", path: "/level", value: 100 }];
    await send(service, "PATCH", "/digitaltwins/lamp-1", change, "application/json-patch+json");
    await expect(level).toHaveValue("100");
    await page.getByRole("tab", { name: "Graph" }).click();
    await expect(page.getByText(/^2 twins, 1 relationship/)).toBeVisible();
    await page.getByRole("button", { name: "Explain" }).click();
    await expect(page.getByText(/The store runs .* in one statement/)).toBeVisible();
    expect(problems).toEqual([]);
  } finally {
    await service.stop();
  }
});
