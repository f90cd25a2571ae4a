import type { Page } from "@playwright/test";

import { expect, open, test } from "./fixtures";

const NODES = 5000;
const EDGES = 10_000;
/** Milliseconds: two frames of a screen of 60 Hz. */
const BUDGET = 33;
const WHILE = 4000;

// What it measures hangs on what else the machine does, so it is run by itself (one worker).
test.skip(process.env["TWINFRAME_BENCH"] === undefined, "TWINFRAME_BENCH asks for measurements");

/** A graph as large as the goal says, with hubs; the same each time. */
function buildRows(): object[] {
  const model = (at: number) => `dtmi:com:example:building:${at % 7 === 0 ? "Room" : "Sensor"};1`;
  const rows: object[] = Array.from({ length: NODES }, (_, at) => ({
    t: { $dtId: `n${at}`, $etag: 'W/"1"', $metadata: { $model: model(at) }, name: `Twin ${at}` },
  }));
  for (let at = 0; at < EDGES; at++) {
    const source = at % NODES;
    const target = at < NODES ? Math.floor(source / 4) : (source * 7919 + at) % NODES;
    rows.push({
      r: {
        $relationshipId: `r${at}`,
        $relationshipName: at < NODES ? "contains" : "feeds",
        $sourceId: `n${source}`,
        $targetId: `n${target}`,
        $etag: 'W/"1"',
      },
    });
  }
  return rows;
}

async function showLarge(page: Page): Promise<void> {
  const body = JSON.stringify({ value: buildRows(), continuationToken: null });
  await page.route("**/query", async (route) => {
    const asked = route.request().postData() ?? "";
    if (!asked.includes("bench") || asked.includes("EXPLAIN")) return route.fallback();
    await route.fulfill({ contentType: "application/json", body });
  });
  await page.getByRole("textbox", { name: "Query", exact: true }).click();
  await page.keyboard.insertText("MATCH (bench) RETURN bench");
  await page.keyboard.press("Escape");
  await page.keyboard.press("ControlOrMeta+Enter");
  await page.getByRole("tab", { name: "Graph" }).click();
  await expect(page.getByText("5,000 twins, 10,000 relationships")).toBeVisible();
}

// A trace takes a picture of the page with every move of the mouse, which is what would be measured.
test.use({ trace: "off" });

interface Frames {
  deltas: number[];
  longTasks: number[];
}

/** Times between frames, and tasks over 50 ms, while `act` goes on. */
async function measure(page: Page, act: () => Promise<void>): Promise<Frames> {
  await page.evaluate(() => {
    const frames: Frames & { going: boolean } = { deltas: [], longTasks: [], going: true };
    (window as unknown as { frames: Frames }).frames = frames;
    let last = performance.now();
    const tick = (now: number): void => {
      frames.deltas.push(now - last);
      last = now;
      if (frames.going) requestAnimationFrame(tick);
    };
    requestAnimationFrame(tick);
    new PerformanceObserver((list) => {
      if (frames.going) frames.longTasks.push(...list.getEntries().map((one) => one.duration));
    }).observe({ type: "longtask" });
  });
  await act();
  return page.evaluate(() => {
    const { frames } = window as unknown as { frames: Frames & { going: boolean } };
    frames.going = false;
    return { deltas: frames.deltas.slice(1), longTasks: frames.longTasks };
  });
}

function percentile(values: number[], share: number): number {
  const sorted = [...values].sort((one, other) => one - other);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
}

function tell(what: string, { deltas, longTasks }: Frames): void {
  const [half, most] = [percentile(deltas, 0.5), percentile(deltas, 0.95)];
  const worst = Math.max(...deltas);
  process.stdout.write(
    `${what}: ${deltas.length} frames, median ${half.toFixed(1)} ms, 95th percentile ` +
      `${most.toFixed(1)} ms, worst ${worst.toFixed(0)} ms, ${longTasks.length} long tasks\n`,
  );
}

test("5,000 twins and 10,000 relationships pan and zoom without stutter", async ({
  page,
  demo,
}) => {
  test.setTimeout(180_000);
  await open(page, demo, "own/query");
  await showLarge(page);
  await expect(page.getByRole("button", { name: "Stop the layout" })).toBeVisible();
  await expect(page.getByRole("button", { name: "Lay out again" })).toBeVisible({
    timeout: 80_000,
  });
  const canvas = page.getByRole("application", { name: "Graph" });
  const box = await canvas.boundingBox();
  if (box === null) throw new Error("the graph has no place on the page");
  // From a corner: in the middle one would drag a twin, and not the picture.
  const [x, y] = [box.x + 30, box.y + 30];
  const pan = async (): Promise<void> => {
    await page.mouse.move(x, y);
    await page.mouse.down();
    const end = Date.now() + WHILE;
    for (let at = 0; Date.now() < end; at++) {
      await page.mouse.move(
        x + 200 * Math.abs(Math.sin(at / 12)),
        y + 120 * Math.abs(Math.sin(at / 7)),
      );
    }
    await page.mouse.up();
  };
  const zoom = async (): Promise<void> => {
    for (let at = 0; at < 24; at++) {
      await page.mouse.wheel(0, at % 8 < 4 ? -120 : 120);
      await page.waitForTimeout(60);
    }
  };
  // The picture moves into view, and its edges come back.
  await page.waitForTimeout(1500);
  const panned = await measure(page, pan);
  tell("pan", panned);
  const zoomed = await measure(page, zoom);
  tell("zoom", zoomed);
  expect(Math.round(percentile(panned.deltas, 0.95))).toBeLessThanOrEqual(BUDGET);
});
