import { Buffer } from "node:buffer";
import { gzipSync } from "node:zlib";

import type { Page } from "@playwright/test";

import { renderBoxes, type Location } from "../src/maps/scenes/boxes";
import {
  expect,
  findBarriers,
  open,
  signIn,
  startService,
  test as base,
  watchConsole,
  type Secured,
} from "./fixtures";
import { inspector, send } from "./inspecting";
import type { Service } from "./processes";
import { takeScreenshot } from "./screenshots";

/** The sample campus, to which scenes are added. */
const test = base.extend<object, { built: Service }>({
  built: [
    async ({ folder }, use) => {
      const service = await startService(`${folder}/scenes`);
      await use(service);
      await service.stop();
      expect(service.failures()).toBe("");
    },
    { scope: "worker", timeout: 120_000 },
  ],
});

/** Three levels of the north wing with ten rooms each, and a box that is called as no twin. */
function renderWing(): Buffer {
  const levels = [0, 1, 2].map((level) => ({
    id: `b1-l${level}`,
    isLevel: true,
    parts: [
      ...Array.from({ length: 10 }, (_, at) =>
        roomOf(`b1-l${level}-r${String(at + 1).padStart(2, "0")}`),
      ),
      ...(level === 2 ? [roomOf("Machine 7")] : []),
    ],
  }));
  return Buffer.from(renderBoxes({ id: "b1", isLevel: false, parts: levels }));
}

function roomOf(id: string): Location {
  return { id, isLevel: false, parts: [] };
}

const WING = { name: "north-wing.glb", mimeType: "model/gltf-binary", buffer: renderWing() };

const stageOf = (page: Page) => page.getByRole("application", { name: /^3D scene/ });
const listOf = (page: Page) => page.getByRole("listbox", { name: "Twins in the scene" });

/** A place of the scene where the pointer is at what is called so. */
async function findPlace(page: Page, label: string | RegExp): Promise<[number, number]> {
  const box = await stageOf(page).boundingBox();
  if (box === null) throw new Error("The scene is not drawn");
  const tip = page.locator(".scene-tip");
  for (let down = 0.2; down < 0.95; down += 0.07) {
    for (let across = 0.2; across < 0.95; across += 0.07) {
      const [x, y] = [box.x + across * box.width, box.y + down * box.height];
      await page.mouse.move(x, y);
      // A place is looked up with the next picture.
      await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => setTimeout(done)))); // prettier-ignore
      if ((await tip.count()) === 0) continue;
      const said = (await tip.textContent()) ?? "";
      if (typeof label === "string" ? said === label : label.test(said)) return [x, y];
    }
  }
  throw new Error(`Nothing in the scene is called ${String(label)}`);
}

/** Select a twin of the list, which is found by its name. */
async function choose(page: Page, name: string): Promise<void> {
  await page.getByRole("searchbox", { name: "Search twins in the scene" }).fill(name);
  await listOf(page).getByRole("option", { name }).click();
}

/** The red and the blue of what is drawn at a place of the page. */
async function readColor(page: Page, [x, y]: [number, number]): Promise<[number, number]> {
  await page.mouse.move(1, 1);
  const png = await page.screenshot({ clip: { x, y, width: 1, height: 1 } });
  return page.evaluate(async (text) => {
    const image = new Image();
    image.src = `data:image/png;base64,${text}`;
    await image.decode();
    const context = document.createElement("canvas").getContext("2d");
    context?.drawImage(image, 0, 0);
    const [red = 0, , blue = 0] = context?.getImageData(0, 0, 1, 1).data ?? [];
    return [red, blue] as [number, number];
  }, png.toString("base64"));
}

async function makeScene(page: Page, name: string, file: typeof WING): Promise<void> {
  await page.getByRole("button", { name: "New 3D scene" }).click();
  const dialog = page.getByRole("dialog", { name: "New 3D scene" });
  await dialog.locator("input[type=file]").setInputFiles(file);
  await dialog.getByLabel("Name").fill(name);
  await dialog.getByRole("button", { name: "Create" }).click();
  await expect(dialog).toHaveCount(0);
}

test("a scene is uploaded, bound by names, coloured by values and bound by hand", async ({
  page,
  built,
}) => {
  test.slow();
  const problems = watchConsole(page);
  const requests: string[] = [];
  page.on("request", (request) => requests.push(request.url()));
  await page.setViewportSize({ width: 1440, height: 900 });
  await open(page, built, "~own/maps?show=scenes");
  await expect(page.getByRole("heading", { name: "There is no 3D scene yet" })).toBeVisible();
  // What cannot be read is refused with what would do.
  await page.getByRole("button", { name: "New 3D scene" }).click();
  const dialog = page.getByRole("dialog", { name: "New 3D scene" });
  const file = dialog.locator("input[type=file]");
  const create = dialog.getByRole("button", { name: "Create" });
  for (const [name, text, said] of [
    ["a.glb", "solid cube", "a.glb cannot be used. The file is neither a GLB nor the JSON"],
    ["b.gltf", '{"asset":{"version":"2.0"},"buffers":[{"uri":"b.bin"}]}', "needs the file b.bin"],
    [
      "c.gltf",
      '{"asset":{"version":"2.0"},"extensionsRequired":["KHR_draco_mesh_compression"]}',
      "Export it without compression",
    ],
  ] as const) {
    await file.setInputFiles({ name, mimeType: "model/gltf+json", buffer: Buffer.from(text) });
    await create.click();
    await expect(dialog.getByRole("alert")).toContainText(said);
  }
  await dialog.getByRole("button", { name: "Cancel" }).click();
  await makeScene(page, "North Wing", WING);
  await expect(page).toHaveURL(/id=north-wing/);
  await expect(stageOf(page)).toHaveAttribute("data-drawn", "34");
  // A building, three levels and thirty rooms are called by the ids of their twins.
  await expect(listOf(page).getByRole("option")).not.toHaveCount(0);
  await expect(page.getByRole("region", { name: "Twins in the scene" })).toContainText("34");
  // A click selects.
  await page.mouse.click(...(await findPlace(page, "Office 2.02")));
  await expect(page).toHaveURL(/twin=b1-l2-r02/);
  await expect(inspector(page).getByRole("heading", { name: "Office 2.02" })).toBeVisible();
  await expect(listOf(page).locator("[aria-selected=true]")).toHaveText(/Office 2.02/);
  // A click beside it selects nothing; rules give colours, and changes change them.
  await page.getByRole("button", { name: "Colours" }).click();
  await page.getByRole("button", { name: "Add a rule" }).click();
  const rule = page.getByRole("dialog", { name: "Colour by value" });
  await rule.getByLabel("Property").selectOption("climate.temperature");
  await rule.getByLabel("From", { exact: true }).fill("18");
  await rule.getByLabel("To", { exact: true }).fill("30");
  await rule.getByRole("button", { name: "Add" }).click();
  await page.keyboard.press("Escape");
  await page.keyboard.press("Escape");
  await expect(page.locator(".scene-legend")).toContainText("climate.temperature from 18 to 30");
  await choose(page, "Level 0");
  // The inspector has taken room from the scene.
  const place = await findPlace(page, "Office 2.02");
  const setTemperature = (value: number): Promise<void> =>
    send(built, "PATCH", "/digitaltwins/b1-l2-r02", [
      { op: "replace", path: "/climate/temperature", value },
    ]);
  await setTemperature(18);
  await expect
    .poll(async () => {
      const [red, blue] = await readColor(page, place);
      return blue - red;
    })
    .toBeGreaterThan(80);
  await setTemperature(30);
  await expect
    .poll(async () => {
      const [red, blue] = await readColor(page, place);
      return red - blue;
    })
    .toBeGreaterThan(80);
  await page.waitForTimeout(3000);
  await page.mouse.click(...place);
  expect(await findBarriers(page)).toEqual([]);
  await takeScreenshot(page, "scene");
  await page.emulateMedia({ colorScheme: "dark" });
  await page.waitForTimeout(500);
  await takeScreenshot(page, "scene-dark");
  expect(await findBarriers(page)).toEqual([]);
  // What has no twin is bound by hand, and stays so.
  await page.getByRole("button", { name: "Bindings" }).click();
  const side = page.getByRole("region", { name: "Bindings" });
  await expect(side).toContainText("34 of 35 have a twin");
  await side.getByLabel("Shown").selectOption("unbound");
  await side.getByRole("option", { name: /Machine 7/ }).click();
  await side.getByRole("combobox", { name: "Twin of Machine 7" }).fill("b1-l0-ahu");
  await page.getByRole("option", { name: /b1-l0-ahu/ }).click();
  await expect(side).toContainText("35 of 35 have a twin");
  await takeScreenshot(page, "scene-bindings");
  expect(await findBarriers(page)).toEqual([]);
  await page.reload();
  await expect(stageOf(page)).toHaveAttribute("data-drawn", "34", { timeout: 60_000 });
  await expect(page.getByRole("region", { name: "Twins in the scene" })).toContainText("35");
  const kept = (await (await fetch(`${built.url}/workspaces/north-wing`)).json()) as {
    content: { bindings: object; pieces: string[] };
  };
  expect(kept.content.bindings).toEqual({ "Machine 7": "b1-l0-ahu" });
  expect(requests.filter((url) => !/^(?:blob|data):/.test(url) && !url.startsWith(built.url))).toEqual([]); // prettier-ignore
  // With the scene its pieces go.
  await page.getByRole("button", { name: "Delete the 3D scene" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Delete" }).click();
  await expect(page.getByRole("heading", { name: "There is no 3D scene yet" })).toBeVisible();
  const piece = await fetch(`${built.url}/workspaces/${kept.content.pieces[0] ?? ""}`);
  expect(piece.status).toBe(404);
  expect(problems).toEqual([]);
});

test("a building is begun with boxes, and looked at by keyboard alone", async ({ page, built }) => {
  test.slow();
  const problems = watchConsole(page);
  await page.setViewportSize({ width: 1024, height: 700 });
  await open(page, built, "~own/maps?show=scenes");
  await page.getByRole("button", { name: "New 3D scene" }).click();
  const dialog = page.getByRole("dialog", { name: "New 3D scene" });
  await dialog.getByLabel("Name").fill("South Wing");
  await dialog.getByRole("combobox", { name: "Location" }).fill("b2");
  await page.keyboard.press("Escape");
  await dialog.getByRole("button", { name: "Create" }).click();
  await expect(dialog).toHaveCount(0);
  await expect(stageOf(page)).toHaveAttribute("data-drawn", /^\d{2,}$/);
  await listOf(page).focus();
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("End");
  await expect(page).toHaveURL(/twin=b2/);
  await page.getByRole("button", { name: "Selected alone" }).press("Space");
  await stageOf(page).focus();
  for (const key of ["Enter", "ArrowLeft", "ArrowUp", "Shift+ArrowRight", "+", "-", "0"]) {
    await page.keyboard.press(key);
  }
  await expect(page.locator(".scene-keys")).toBeVisible();
  expect(await findBarriers(page)).toEqual([]);
  await page.setViewportSize({ width: 390, height: 800 });
  await open(page, built, "~own/maps?show=scenes");
  await expect(stageOf(page)).toHaveAttribute("data-drawn", /^\d{2,}$/);
  expect(await findBarriers(page)).toEqual([]);
  expect(problems).toEqual([]);
});

/** Keep the wing as a script does, in two pieces, and a scene of which a piece is missing. */
async function keepWing({ service, authority }: Secured): Promise<void> {
  const headers = {
    Authorization: `Bearer ${authority.issue("ada")}`,
    "Content-Type": "application/json",
  };
  const keep = async (id: string, content: object): Promise<void> => {
    const body = JSON.stringify({ name: id, content });
    const answer = await fetch(`${service.url}/workspaces/${id}`, { method: "PUT", headers, body });
    expect(answer.ok).toBe(true);
  };
  const data = gzipSync(WING.buffer).toString("base64");
  await keep("wing-1", { kind: "scene-piece", version: 1, data: data.slice(0, 400) });
  await keep("wing-2", { kind: "scene-piece", version: 1, data: data.slice(400) });
  await keep("wing", { kind: "scene", version: 1, pieces: ["wing-1", "wing-2"], bindings: {} });
  await keep("lost", { kind: "scene", version: 1, pieces: ["wing-1", "gone"], bindings: {} });
}

test("who may only read looks at a scene, and changes nothing", async ({ page, secured }) => {
  const { service } = secured;
  await keepWing(secured);
  await page.goto(`${service.url}/explorer/~own/maps?show=scenes&id=wing`);
  await signIn(page, "Rob Reader");
  await expect(stageOf(page)).toHaveAttribute("data-drawn", "34");
  await expect(page.getByRole("button", { name: "New 3D scene" })).toHaveCount(0);
  await expect(page.getByRole("button", { name: "Delete the 3D scene" })).toHaveCount(0);
  await page.getByRole("button", { name: "Bindings" }).click();
  const side = page.getByRole("region", { name: "Bindings" });
  await side.getByLabel("Shown").selectOption("unbound");
  await page.getByRole("option", { name: /Machine 7/ }).click();
  await expect(page.getByRole("combobox", { name: /^Twin of/ })).toHaveCount(0);
  await page.getByRole("combobox", { name: /^3D scene/ }).selectOption("lost");
  await expect(page.getByRole("alert")).toContainText("gone");
});

test("without WebGL the list stays, and the page says why nothing is drawn", async ({
  page,
  secured,
}) => {
  const { service } = secured;
  await keepWing(secured);
  await page.addInitScript(() => {
    HTMLCanvasElement.prototype.getContext = () => null;
  });
  await page.goto(`${service.url}/explorer/~own/maps?show=scenes&id=wing`);
  await signIn(page, "Rob Reader");
  await expect(page.getByText("WebGL is missing or switched off")).toBeVisible();
  await choose(page, "Level 0");
  await expect(page).toHaveURL(/twin=b1-l0/);
});
