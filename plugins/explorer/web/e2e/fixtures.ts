import { cpSync } from "node:fs";
import { join } from "node:path";

import AxeBuilder from "@axe-core/playwright";
import { test as base, expect, type Page } from "@playwright/test";

import { AUDIENCE, CLIENT, TestAuthority } from "./authority";
import { findPort, runCommand, Service, type Settings } from "./processes";

export { expect };

/** A service that asks callers who they are, and who signs for them. */
export interface Secured {
  service: Service;
  authority: TestAuthority;
}

interface WorkerFixtures {
  /** A folder of this worker, gone after the run. */
  folder: string;
  /** The sample campus (1,978 twins over 20 interfaces), where nobody is asked. */
  demo: Service;
  /** The sample campus for Ada, who may do all, and Rob, who may only read. */
  secured: Secured;
  /** Beside it a control plane, whose organization `acme` Ada owns; Rob is nobody there. */
  hosted: Secured;
}

const ALL = ["digitaltwins/*", "models/*", "query/*", "jobs/*", "eventroutes/*", "workspaces/*"];
const READ = [
  "digitaltwins/read",
  "digitaltwins/relationships/read",
  "models/read",
  "query/read",
  "workspaces/read",
];

interface TestFixtures {
  /** A service of an empty graph, of one test alone. */
  empty: Service;
}

export const test = base.extend<TestFixtures, WorkerFixtures>({
  empty: async ({ folder }, use, { testId }) => {
    const service = await startEmpty(join(folder, testId));
    await use(service);
    await service.stop();
    expect(service.failures()).toBe("");
  },
  folder: [
    async ({}, use, { workerIndex }) => {
      await use(join(process.env["TWINFRAME_E2E_FOLDER"] ?? "", `worker-${workerIndex}`));
    },
    { scope: "worker" },
  ],
  demo: [
    async ({ folder }, use) => {
      const service = await startService(join(folder, "demo"));
      await use(service);
      await service.stop();
      expect(service.failures()).toBe("");
    },
    { scope: "worker", timeout: 120_000 },
  ],
  secured: [
    async ({ folder }, use) => {
      const authority = await startAuthority();
      const service = await startService(join(folder, "secured"), signedBy(authority));
      await use({ service, authority });
      await service.stop();
      authority.stop();
      expect(service.failures()).toBe("");
    },
    { scope: "worker", timeout: 120_000 },
  ],
  hosted: [
    async ({ folder }, use) => {
      const authority = await startAuthority();
      const own = join(folder, "hosted");
      const settings = (url: string): Settings => ({
        ...signedBy(authority),
        Control__Enabled: "true",
        Control__PollInterval: "0.2",
        Control__RetryDelay: "0.2",
        Hosting__Enabled: "true",
        Hosting__DrainSeconds: "0.5",
        Hosting__Directory: join(own, "hosting"),
        Hosting__PublicUrl: url,
      });
      const service = await startService(own, settings, async (made) => {
        const words = ["control", "init", "--owner", "ada", "--organization", "acme"];
        await runCommand(words, made.environment);
      });
      await use({ service, authority });
      await service.stop();
      authority.stop();
      expect(service.failures()).toBe("");
    },
    { scope: "worker", timeout: 120_000 },
  ],
});

/** A service with a copy of the sample campus in `folder`; whoever starts it stops it. */
export async function startService(
  folder: string,
  settings: Settings | ((url: string) => Settings) = {},
  prepare: (service: Service) => Promise<void> = () => Promise.resolve(),
): Promise<Service> {
  const template = join(process.env["TWINFRAME_E2E_FOLDER"] ?? "", "template", "data");
  cpSync(template, join(folder, "data"), { recursive: true });
  const service = new Service(folder, await findPort(), (url) => ({
    Explorer__Directory: process.env["TWINFRAME_EXPLORER_ASSETS"] ?? "",
    ...(typeof settings === "function" ? settings(url) : settings),
  }));
  await prepare(service);
  return service.start();
}

/** A service of an empty graph. */
export function startEmpty(folder: string, settings: Settings = {}): Promise<Service> {
  return findPort().then((port) =>
    new Service(folder, port, {
      Explorer__Directory: process.env["TWINFRAME_EXPLORER_ASSETS"] ?? "",
      ...settings,
    }).start(),
  );
}

export function startAuthority(): Promise<TestAuthority> {
  return new TestAuthority({
    ada: { name: "Ada Lovelace", claims: { permissions: ALL } },
    rob: { name: "Rob Reader", claims: { permissions: READ } },
  }).start();
}

/** The settings of a service whose callers this authority signs for. */
export function signedBy(authority: TestAuthority): Settings {
  return {
    Authentication__Enabled: "true",
    Authentication__Authority: authority.issuer,
    Authentication__Audience: AUDIENCE,
    Explorer__ClientId: CLIENT,
  };
}

/** Open a route of the explorer, such as `~own/query`, and wait until its view is there. */
export async function open(page: Page, service: Service, path = "~own/query"): Promise<void> {
  await page.goto(`${service.url}/explorer/${path}`);
  await expect(page.getByRole("navigation", { name: "Views" })).toBeVisible();
}

/** Sign in by the sign-in page, as somebody whom the authority shows by this name. */
export async function signIn(page: Page, name: string): Promise<void> {
  await page.getByRole("button", { name: /^Sign in at/ }).click();
  await page.getByRole("link", { name }).click();
  await expect(page.getByRole("navigation", { name: "Views" })).toBeVisible();
}

/** Run a query of the service's own graph, past the page. */
export async function ask(service: Service, query: string): Promise<Record<string, unknown>[]> {
  const answer = await fetch(`${service.url}/query`, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ query }),
  });
  if (!answer.ok) throw new Error(await answer.text());
  return ((await answer.json()) as { value: Record<string, unknown>[] }).value;
}

/** Fail where the page runs into errors or breaks its content policy; call it before opening. */
export function watchConsole(page: Page): string[] {
  const problems: string[] = [];
  page.on("pageerror", (error) => problems.push(error.message));
  page.on("console", (message) => {
    if (message.type() === "error") problems.push(message.text());
  });
  return problems;
}

/** Write a query into the editor of the query view, in place of what is there. */
export async function writeQuery(page: Page, text: string): Promise<void> {
  await page.getByRole("textbox", { name: "Query", exact: true }).click();
  await page.keyboard.press("ControlOrMeta+a");
  await page.keyboard.insertText(text);
  await page.keyboard.press("Escape"); // closes what is offered to complete it
}

/** What axe finds that keeps people out, of the page as it is now. */
export async function findBarriers(page: Page): Promise<string[]> {
  // React Aria announces a button that waits by its id, and takes the announcement back after seven
  // seconds, though the button went with its dialog: the page is judged once nothing is announced.
  await expect(page.locator("[data-live-announcer] [role=img]")).toHaveCount(0);
  // Transitions at half-way have contrasts that nobody reads.
  await page.evaluate(() =>
    Promise.all(document.getAnimations().map((one) => one.finished)).catch(() => null),
  );
  const { violations } = await new AxeBuilder({ page }).analyze();
  return violations
    .filter((one) => one.impact === "serious" || one.impact === "critical")
    .map((one) => `${one.id}: ${one.help}\n${one.nodes.map((node) => node.html).join("\n")}`);
}

/** Choose a file for a button that asks for one. */
export async function give(
  page: Page,
  button: string,
  name: string,
  text: string | Buffer,
): Promise<void> {
  const chooser = page.waitForEvent("filechooser");
  await page.getByRole("button", { name: button }).click();
  const buffer = Buffer.from(text);
  await (await chooser).setFiles({ name, mimeType: "application/x-ndjson", buffer });
}
