import { join } from "node:path";

import { expect, open, startService, test as base, watchConsole } from "./fixtures";
import type { Service } from "./processes";
import { takeScreenshot } from "./screenshots";

const PLANT = "dtmi:com:example:maps:Plant;1";
const CANAL = "dtmi:com:example:maps:Canal;1";

/** Models whose properties hold geometries, in each of the ways that are found. */
const MODELS = [
  {
    "@id": PLANT,
    "@type": "Interface",
    "@context": "dtmi:dtdl:context;3",
    displayName: "Plant",
    contents: [
      { "@type": "Property", name: "name", schema: "string" },
      { "@type": "Property", name: "load", schema: "double", writable: true },
      { "@type": "Property", name: "outline", schema: "polygon", writable: true },
    ],
  },
  {
    "@id": CANAL,
    "@type": "Interface",
    "@context": "dtmi:dtdl:context;3",
    displayName: "Canal",
    contents: [
      { "@type": "Property", name: "name", schema: "string" },
      { "@type": "Property", name: "course", schema: "string", comment: "GeoJSON of its course" },
    ],
  },
];

function square(longitude: number, latitude: number, size = 0.002): number[][][] {
  const [west, south, east, north] = [longitude, latitude, longitude + size, latitude + size];
  return [
    [
      [west, south],
      [east, south],
      [east, north],
      [west, north],
      [west, south],
    ],
  ];
}

const test = base.extend<object, { mapped: Service }>({
  mapped: [
    async ({ folder }, use) => {
      const service = await startService(join(folder, "maps"));
      await send(service, "POST", "/models", MODELS);
      for (const [id, name, load, at] of [
        ["plant-east", "Plant East", 20, 9.99],
        ["plant-west", "Plant West", 90, 9.98],
      ] as const) {
        await send(service, "PUT", `/digitaltwins/${id}`, {
          $metadata: { $model: PLANT },
          name,
          load,
          outline: { type: "Polygon", coordinates: square(at, 53.54) },
        });
      }
      const course = {
        type: "Feature",
        properties: {},
        geometry: {
          type: "LineString",
          coordinates: [
            [9.975, 53.538],
            [9.995, 53.545],
          ],
        },
      };
      await send(service, "PUT", "/digitaltwins/canal", {
        $metadata: { $model: CANAL },
        name: "Old Canal",
        course: JSON.stringify(course),
      });
      await send(service, "PUT", "/digitaltwins/canal-lost", {
        $metadata: { $model: CANAL },
        name: "Lost Canal",
        course: '{"type": "Point", "coordinates": [53.5, 191]}',
      });
      await use(service);
      await service.stop();
      expect(service.failures()).toBe("");
    },
    { scope: "worker", timeout: 120_000 },
  ],
});

async function send(service: Service, method: string, path: string, body: object): Promise<void> {
  const answer = await fetch(`${service.url}${path}`, {
    method,
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify(body),
  });
  if (!answer.ok) throw new Error(await answer.text());
}

test("twins are on the map by what their models say, and follow the graph", async ({
  page,
  mapped,
}) => {
  const problems = watchConsole(page);
  const requests: string[] = [];
  page.on("request", (request) => requests.push(request.url()));
  await page.setViewportSize({ width: 1440, height: 900 });
  await open(page, mapped, "~own/maps");
  const list = page.getByRole("listbox", { name: "Twins on the map" });
  await expect(list.getByRole("option", { name: /Plant East/ })).toBeVisible();
  await expect(list.getByRole("option", { name: /Old Canal/ })).toBeVisible();
  // The five addresses of the sample are points.
  await expect(page.locator(".maps-map")).toHaveAttribute("data-drawn", "8");
  await page.getByRole("button", { name: "1 value is no geometry" }).click();
  await expect(page.getByRole("dialog")).toContainText("canal-lost course");
  await expect(page.getByRole("dialog")).toContainText("is not on the earth");
  await page.keyboard.press("Escape");
  await list.getByRole("option", { name: /Plant East/ }).click();
  const inspector = page.getByRole("complementary", { name: "Inspector" });
  await expect(inspector.getByRole("heading", { name: "Plant East" })).toBeVisible();
  await expect(page).toHaveURL(/twin=plant-east/);
  // What gets a geometry comes to the map, what is deleted goes.
  await send(mapped, "PUT", "/digitaltwins/plant-new", {
    $metadata: { $model: PLANT },
    name: "Plant New",
    outline: { type: "Polygon", coordinates: square(9.985, 53.545) },
  });
  await expect(list.getByRole("option", { name: /Plant New/ })).toBeVisible();
  const gone = await fetch(`${mapped.url}/digitaltwins/plant-new`, { method: "DELETE" });
  expect(gone.ok).toBe(true);
  await expect(list.getByRole("option", { name: /Plant New/ })).toHaveCount(0);
  await expect(page.locator(".maps-map")).toHaveAttribute("data-drawn", "8");
  await takeScreenshot(page, "map");
  expect(
    requests.filter((url) => !/^(?:blob|data):/.test(url) && !url.startsWith(mapped.url)),
  ).toEqual([]);
  expect(problems).toEqual([]);
});
