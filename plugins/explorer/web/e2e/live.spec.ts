import { connect, createServer, type AddressInfo, type Socket } from "node:net";
import { join } from "node:path";

import { expect, open, startService, test, writeQuery } from "./fixtures";
import { inspector, ROOM, selectTwin, send } from "./inspecting";
import { Service } from "./processes";

/** Hands bytes on between a browser and a service, until the streams of changes freeze. */
class Wire {
  private readonly sockets = new Set<Socket>();
  private readonly streams = new Set<Socket>();
  private readonly server = createServer((near) => {
    const far = connect(this.target, "127.0.0.1");
    near.on("data", (part) => {
      if (part.toString("latin1").startsWith("GET /events")) this.streams.add(near).add(far);
    });
    for (const [one, other] of [
      [near, far],
      [far, near],
    ] as const) {
      this.sockets.add(one);
      one.pipe(other);
      one.on("error", () => other.destroy());
    }
  });

  constructor(private readonly target: number) {}

  async start(): Promise<number> {
    await new Promise<void>((done) => this.server.listen(0, "127.0.0.1", done));
    return (this.server.address() as AddressInfo).port;
  }

  /** Nothing comes through any more, and nobody is told: as where a router has forgotten them. */
  freeze(): void {
    for (const one of this.streams) one.unpipe().pause();
    this.streams.clear();
  }

  stop(): void {
    for (const one of this.sockets) one.destroy();
    this.server.close();
  }
}

test("a connection that is dead without a word is made anew, and nothing is missed", async ({
  page,
  folder,
}, { testId }) => {
  const service = await startService(join(folder, testId), { Events__Heartbeat: "1" });
  const wire = new Wire(service.port);
  const through = new Service(service.folder, await wire.start());
  try {
    await selectTwin(page, through, ROOM);
    await expect(page.getByRole("button", { name: /^Live:/ })).toBeVisible();
    const name = inspector(page).getByRole("textbox", { name: "name", exact: true });
    const write = (value: string) =>
      send(service, "PATCH", `/digitaltwins/${ROOM}`, [{ op: "replace", path: "/name", value }]);
    await write("While it was alive");
    await expect(name).toHaveValue("While it was alive");
    wire.freeze();
    await write("While it was dead");
    await expect(name).toHaveValue("While it was dead");
    await expect(page.getByRole("button", { name: /^Live:/ })).toBeVisible();
  } finally {
    wire.stop();
    await service.stop();
  }
  expect(service.failures()).toBe("");
});

test("a result says that the graph has changed since, until it is asked for again", async ({
  page,
  folder,
}, { testId }) => {
  const service = await startService(join(folder, testId));
  const area = (value: number) =>
    send(service, "PATCH", `/digitaltwins/${ROOM}`, [{ op: "replace", path: "/area", value }]);
  try {
    await open(page, service, "~own/query");
    await expect(page.getByRole("button", { name: /^Live:/ })).toBeVisible();
    await writeQuery(page, `MATCH (t:Twin) WHERE t.$dtId = '${ROOM}' RETURN t.area AS area`);
    await area(17.25);
    await page.getByRole("button", { name: /^Run/ }).click();
    const cell = page.getByRole("gridcell").last();
    await expect(cell).toHaveText("17.25");
    const again = page.getByRole("button", { name: /^Run again/ });
    await expect(again).toHaveCount(0);
    await area(18.5);
    await area(19.75);
    await expect(again).toHaveText("Run again (2 changes)");
    await expect(cell).toHaveText("17.25");
    await page.getByRole("link", { name: "Models" }).click();
    await expect(page.getByRole("treegrid")).toBeVisible();
    await send(service, "POST", `/digitaltwins/${ROOM}/telemetry`, { temperature: 1 });
    await area(20);
    await page.getByRole("link", { name: "Query" }).click();
    await expect(again).toHaveText("Run again (3 changes)");
    // A query that fails gives no other rows, and takes back none of it.
    await writeQuery(page, "RETRUN 1");
    await page.getByRole("button", { name: /^Run$|^Run C/ }).click();
    await expect(page.getByRole("alert")).toContainText("The query failed");
    await expect(again).toHaveText("Run again (3 changes)");
    await again.click();
    await expect(cell).toHaveText("20");
    await expect(again).toHaveCount(0);
  } finally {
    await service.stop();
  }
  expect(service.failures()).toBe("");
});

test("a page stays as it is where the service goes away before all of it is read anew", async ({
  page,
  folder,
}, { testId }) => {
  const service = await startService(join(folder, testId));
  try {
    await open(page, service, "~own/query");
    await writeQuery(page, "RETURN 1 AS one");
    await expect(page.getByRole("button", { name: /^Live:/ })).toBeVisible();
    await page.route("**/explorer/configuration.json", (route) => route.abort());
    await service.stop();
    await expect(page.getByRole("button", { name: /^Connecting/ })).toBeVisible();
    await service.start();
    // After a cut without any event all is read anew, what the page is told of the service too.
    for (let tries = 0; tries < 3; tries++) {
      await page.waitForEvent("requestfailed", (one) => one.url().endsWith("/configuration.json"));
    }
    await expect(page.getByRole("button", { name: /^Live:/ })).toBeVisible();
    await expect(page.getByRole("textbox", { name: "Query", exact: true })).toContainText(
      "RETURN 1",
    );
    await expect(page.getByRole("alert")).toHaveCount(0);
  } finally {
    await service.stop();
  }
});

test("what is deleted is struck out in the rows, leads nowhere and is in no picture, until it is made again", async ({
  page,
  folder,
}, { testId }) => {
  const service = await startService(join(folder, testId));
  const body = { $metadata: { $model: "dtmi:com:example:building:Level;1" } };
  const make = (id: string) => send(service, "PUT", `/digitaltwins/${id}`, body);
  try {
    await make("short-lived");
    await make("lasting");
    await open(page, service, "~own/query");
    await expect(page.getByRole("button", { name: /^Live:/ })).toBeVisible();
    await writeQuery(
      page,
      "MATCH (t:Level) WHERE t.$dtId IN ['short-lived', 'lasting'] RETURN t, t.$dtId AS id ORDER BY id DESC",
    );
    await page.getByRole("button", { name: /^Run/ }).click();
    const cells = page.getByRole("gridcell");
    const links = page.getByRole("grid").getByRole("button", { name: "short-lived" });
    await expect(links).toHaveCount(2);
    // Nor is it missed where no rows are looked at.
    await page.getByRole("link", { name: "Models" }).click();
    await expect(page.getByRole("treegrid")).toBeVisible();
    await fetch(`${service.url}/digitaltwins/short-lived`, { method: "DELETE" });
    await page.getByRole("link", { name: "Query" }).click();
    await expect(page.getByRole("grid").getByRole("deletion")).toHaveText([
      "short-lived",
      "short-lived",
    ]);
    await expect(links).toHaveCount(0);
    await expect(cells.nth(2).getByRole("button", { name: "lasting" })).toBeVisible();
    await page.getByRole("tab", { name: "Graph" }).click();
    await expect(page.getByText("1 twin, 0 relationships")).toBeVisible();
    await page.getByRole("tab", { name: "Table" }).click();
    await make("short-lived");
    await expect(links).toHaveCount(2);
  } finally {
    await service.stop();
  }
  expect(service.failures()).toBe("");
});
