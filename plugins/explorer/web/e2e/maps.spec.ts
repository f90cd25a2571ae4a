import { join } from "node:path";

import { expect, findBarriers, open, startService, test as base, watchConsole } from "./fixtures";
import { send } from "./inspecting";
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

const PICTURE = `<svg xmlns="http://www.w3.org/2000/svg" width="1200" height="700" viewBox="0 0 1200 700">
<script>document.title = "run"; fetch("https://example.com/")</script>
<rect width="1200" height="700" fill="#fff"/>
<g fill="none" stroke="#444" stroke-width="6"><rect x="40" y="40" width="1120" height="620"/>
<path d="M40 300H1160M40 400H1160M320 40V300M600 40V300M880 40V300M320 400V660M600 400V660M880 400V660"/></g></svg>`;

interface Kept {
  etag: string;
  content: { image: string | null; shapes: Record<string, number[][]> };
}

async function readKept(service: Service, id: string): Promise<Kept> {
  return (await (await fetch(`${service.url}/workspaces/${id}`)).json()) as Kept;
}

test("a floor plan is made of a picture, drawn by mouse and keyboard, and coloured by values", async ({
  page,
  mapped,
}) => {
  const problems = watchConsole(page);
  await page.setViewportSize({ width: 1440, height: 900 });
  await open(page, mapped, "~own/maps?show=plans");
  await expect(page.getByRole("heading", { name: "There is no floor plan yet" })).toBeVisible();
  await page.getByRole("button", { name: "New floor plan" }).click();
  const dialog = page.getByRole("dialog", { name: "New floor plan" });
  await dialog.getByLabel("Name").fill("North Wing, level 0");
  await dialog.getByRole("combobox", { name: "Location" }).fill("b1-l0");
  await page.keyboard.press("Escape");
  const file = dialog.locator("input[type=file]");
  await file.setInputFiles({ name: "a.txt", mimeType: "text/plain", buffer: Buffer.from("x") });
  await dialog.getByRole("button", { name: "Create" }).click();
  await expect(dialog.getByRole("alert")).toContainText("a.txt is no picture");
  const svg = { name: "level.svg", mimeType: "image/svg+xml", buffer: Buffer.from(PICTURE) };
  await file.setInputFiles(svg);
  await dialog.getByRole("button", { name: "Create" }).click();
  await page.getByRole("button", { name: "Draw twins" }).click();
  // By mouse: the first three rooms as rectangles, one after the other.
  const stage = page.getByRole("application", { name: /^Floor plan North Wing, level 0/ });
  const left = page.getByRole("listbox", { name: "Not on the plan yet" });
  const rooms = left.getByRole("option").filter({ hasNotText: "Air handling unit" });
  const ids = await rooms.evaluateAll((some) =>
    some.map((one) => one.getAttribute("data-key") ?? ""),
  );
  expect(ids.length).toBeGreaterThan(10);
  await rooms.first().click();
  const box = await stage.boundingBox();
  if (box === null) throw new Error("The plan is not drawn");
  const scale = Math.min(box.width / 1200, box.height / 700);
  const [x0, y0] = [box.x + (box.width - 1200 * scale) / 2, box.y + (box.height - 700 * scale) / 2];
  const click = (x: number, y: number): Promise<void> =>
    page.mouse.click(x0 + x * scale, y0 + y * scale);
  for (let at = 0; at < 3; at++) {
    await click(45 + at * 280, 45);
    await click(310 + at * 280, 295);
    await expect(page.locator(".plan-shape")).toHaveCount(at + 1);
  }
  // By keyboard: the fourth as a point.
  await page
    .getByRole("radio", { name: "Point" })
    .or(page.getByRole("button", { name: "Point" }))
    .first()
    .click();
  await stage.focus();
  await page.keyboard.press("ArrowRight");
  await page.keyboard.press("Shift+ArrowDown");
  await page.keyboard.press("Enter");
  await expect(page.locator(".plan-shape circle")).toHaveCount(1);
  // The cross goes on from where the mouse was.
  const point = page.locator(".plan-shape circle");
  expect(Number(await point.getAttribute("cx"))).toBeCloseTo(45 + 2 * 280 + 265 + 12, 0);
  expect(Number(await point.getAttribute("cy"))).toBeCloseTo(295 + 60, 0);
  // A button finishes an area, and goes on to the next room, as all else that is drawn does.
  await page
    .getByRole("radio", { name: "Area" })
    .or(page.getByRole("button", { name: "Area" }))
    .first()
    .click();
  for (const [x, y] of [[330, 410], [590, 410], [590, 640]] as const) await click(x, y); // prettier-ignore
  await page.getByRole("button", { name: "Finish the area" }).click();
  await expect(page.locator(".plan-shape")).toHaveCount(5);
  await expect(left.locator("[aria-selected=true]")).toHaveAttribute("data-key", ids[5] ?? "");
  expect(await findBarriers(page)).toEqual([]);
  // Somebody else saves meanwhile: both are kept.
  const id = "north-wing-level-0";
  const { content, etag } = await readKept(mapped, id);
  expect(content.image).toMatch(/^data:image\/svg\+xml;base64,/);
  const theirs = { ...content, shapes: { "b1-l0-ahu": [[100, 500]] } };
  const put = await fetch(`${mapped.url}/workspaces/${id}`, {
    method: "PUT",
    headers: { "Content-Type": "application/json", "If-Match": etag },
    body: JSON.stringify({ name: "North Wing, level 0", content: theirs }),
  });
  expect(put.ok).toBe(true);
  await page.getByRole("button", { name: "Save", exact: true }).click();
  const conflict = page.getByRole("alertdialog");
  await expect(conflict).toContainText("Somebody else changed North Wing, level 0");
  await conflict.getByRole("button", { name: "Save mine on top" }).click();
  await expect(page.getByRole("button", { name: "Draw twins" })).toBeVisible();
  expect(Object.keys((await readKept(mapped, id)).content.shapes).sort()).toEqual(
    [...ids.slice(0, 5), "b1-l0-ahu"].sort(),
  );
  // Values give colours, as in pictures, and follow the graph.
  await page.getByRole("button", { name: "Colours" }).click();
  await page.getByRole("button", { name: "Add a rule" }).click();
  const rule = page.getByRole("dialog", { name: "Colour by value" });
  await rule.getByLabel("Property").selectOption("climate.temperature");
  await rule.getByLabel("From", { exact: true }).fill("18");
  await rule.getByLabel("To", { exact: true }).fill("30");
  await rule.getByRole("button", { name: "Add" }).click();
  await page.keyboard.press("Escape");
  const room = page.locator(`.plan-shape[data-twin="${ids[0]}"] polygon`);
  const before = await room.getAttribute("fill");
  const patched = await fetch(`${mapped.url}/digitaltwins/${ids[0]}`, {
    method: "PATCH",
    headers: { "Content-Type": "application/json-patch+json" },
    body: JSON.stringify([{ op: "replace", path: "/climate/temperature", value: 30 }]),
  });
  expect(patched.ok).toBe(true);
  await expect(room).toHaveAttribute("fill", "#c32d00");
  expect(before).not.toBe("#c32d00");
  // What is clicked is selected, in the list and in the inspector too.
  await room.click();
  await expect(page).toHaveURL(new RegExp(`twin=${ids[0]}`));
  const list = page.getByRole("listbox", { name: "Twins on the plan" });
  await expect(list.locator("[aria-selected=true]")).toHaveAttribute("data-key", ids[0] ?? "");
  await page.waitForTimeout(3000);
  await takeScreenshot(page, "floor-plan");
  await page.emulateMedia({ colorScheme: "dark" });
  await takeScreenshot(page, "floor-plan-dark");
  expect(await findBarriers(page)).toEqual([]);
  await page.setViewportSize({ width: 390, height: 800 });
  await page.reload();
  await page.keyboard.press("Escape");
  await expect(page.locator(".plan-shape")).toHaveCount(6);
  expect(await page.title()).not.toBe("run");
  // A scan is encoded anew.
  await page.getByRole("button", { name: "New floor plan" }).click();
  await dialog.getByLabel("Name").fill("Scan");
  const png = await page.screenshot();
  await file.setInputFiles({ name: "scan.png", mimeType: "image/png", buffer: png });
  await dialog.getByRole("button", { name: "Create" }).click();
  await expect(dialog).toHaveCount(0);
  expect((await readKept(mapped, "scan")).content.image).toMatch(/^data:image\/webp;base64,/);
  await page.getByRole("button", { name: "Delete the floor plan" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Delete" }).click();
  await expect(page.locator(".plan-shape")).toHaveCount(6);
  // The conflict is an answer of 412, which browsers log.
  expect(problems.filter((one) => !one.includes("412"))).toEqual([]);
});
