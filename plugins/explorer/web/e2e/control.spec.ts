import type { Page, Route } from "@playwright/test";

import { expect, signIn, test, watchConsole, type Secured } from "./fixtures";
import { takeScreenshot } from "./screenshots";

async function openControl(page: Page, hosted: Secured, name: string): Promise<void> {
  await page.goto(`${hosted.service.url}/explorer/~own/control`);
  await signIn(page, name);
}

/** Something that Ada makes past the page. */
async function create(
  { service, authority }: Secured,
  path: string,
  body: Record<string, unknown>,
): Promise<void> {
  const answer = await fetch(`${service.url}/api/v1/${path}`, {
    method: "POST",
    headers: {
      Authorization: `Bearer ${authority.issue("ada")}`,
      "Content-Type": "application/json",
    },
    body: JSON.stringify(body),
  });
  expect(answer.status).toBe(201);
}

/** Ada's project `id`. */
function createProject(hosted: Secured, id: string): Promise<void> {
  return create(hosted, "projects", { id, organization_id: "acme", name: `Project ${id}` });
}

test("from nothing to a graph that is looked at, and back", async ({ page, hosted }) => {
  const problems = watchConsole(page);
  await openControl(page, hosted, "Ada Lovelace");
  await page.getByRole("row", { name: "acme" }).click();
  await page.getByRole("button", { name: "New project" }).click();
  await page.getByLabel("Name", { exact: true }).fill("Campus North");
  await expect(page.getByLabel("Id", { exact: true })).toHaveValue("campus-north");
  await page.getByRole("button", { name: "Create" }).click();
  await expect(page.getByRole("heading", { name: "Campus North" })).toBeVisible();

  await page.getByRole("button", { name: "New graph" }).click();
  await page.getByLabel("Name", { exact: true }).fill("Tower One");
  await page.getByText("Keep a log of all changes").click();
  await page.getByRole("button", { name: "Create" }).click();
  await expect(page.getByRole("heading", { name: "Tower One" })).toBeVisible();
  const places = page.getByRole("treegrid", { name: "Organizations, projects and resources" });
  await expect(places.getByRole("row", { name: "Tower One" })).toBeVisible();
  await places.getByRole("button", { name: "Collapse Campus North" }).click();
  await expect(places.getByRole("row", { name: "Tower One" })).toHaveCount(0);
  await places.getByRole("button", { name: "Expand Campus North" }).click();
  await expect(page.getByRole("link", { name: "Open the graph" })).toBeVisible();
  await expect(page.locator(".control-settings")).toContainText('"enable_audit_logging": true');
  await page.getByRole("tab", { name: "Operations" }).click();
  await expect(page.getByRole("article").first()).toContainText("creating → running");
  await page.getByRole("tab", { name: "Usage" }).click();
  await expect(page.getByText("Operations per minute")).toBeVisible();
  await takeScreenshot(page, "control-plane");

  await page.getByRole("link", { name: "Open the graph" }).click();
  await expect(page).toHaveURL(`${hosted.service.url}/explorer/tower-one/query`);
  await page.getByRole("button", { name: /^Graph: Tower One/ }).click();
  await page.getByRole("menuitemradio", { name: /This service/ }).click();
  await expect(page).toHaveURL(`${hosted.service.url}/explorer/~own/query`);

  await page.getByRole("link", { name: "Control plane" }).click();
  await page.getByRole("row", { name: "Tower One" }).first().click();
  await page.getByRole("button", { name: "Delete" }).click();
  const confirm = page.getByRole("button", { name: "Delete it and all its data" });
  await expect(confirm).toBeDisabled();
  await page.getByLabel("Write tower-one to go on").fill("tower-one");
  await confirm.click();
  await expect(page.getByText("There is no resource yet.")).toBeVisible();
  expect(problems).toEqual([]);
});

test("a role is granted and revoked, and counts at once", async ({ page, hosted, browser }) => {
  await createProject(hosted, "shared");
  await openControl(page, hosted, "Ada Lovelace");
  await page.getByRole("row", { name: "Project shared" }).click();
  await page.getByRole("tab", { name: "Access" }).click();
  await page.getByRole("button", { name: "Grant a role" }).click();
  await page.getByLabel("Who", { exact: true }).fill("rob");
  await page.getByRole("button", { name: /Role/ }).click();
  await page.getByRole("option", { name: "Viewer" }).first().click();
  await page.getByRole("button", { name: /How long/ }).click();
  await page.getByRole("option", { name: "For a week" }).click();
  await page.getByRole("button", { name: "Grant", exact: true }).click();
  const row = page.getByRole("row").filter({ hasText: "rob" });
  await expect(row).toContainText(/Viewer.*20\d\d/);

  const other = await browser.newPage();
  await openControl(other, hosted, "Rob Reader");
  await expect(other.getByRole("heading", { name: "Project shared" })).toBeVisible();
  await expect(other.getByRole("button", { name: "New graph" })).toHaveCount(0);
  await expect(other.getByRole("tab", { name: "Access" })).toHaveCount(0);

  await row.getByRole("button", { name: "Revoke" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Revoke" }).click();
  await expect(row).toHaveCount(0);
  await other.getByRole("link", { name: "Query" }).click();
  await other.goto(`${hosted.service.url}/explorer/~own/control`);
  await expect(other.getByText("You have no role at any organization")).toBeVisible();
  await other.close();
});

test("who holds roles at the platform sees its page, grants there, and nobody else does", async ({
  page,
  hosted,
  browser,
}) => {
  await page.goto(`${hosted.service.url}/explorer/~own/control?at=platform`);
  await signIn(page, "Ada Lovelace");
  await expect(page.getByRole("heading", { name: "Platform" })).toBeVisible();
  const held = page.getByRole("grid", { name: "Who holds which role" });
  await expect(held.getByRole("row", { name: /^ada/ })).toContainText("Owner");

  const other = await browser.newPage();
  await openControl(other, hosted, "Rob Reader");
  await expect(other.getByText("You have no role at any organization")).toBeVisible();
  await expect(other.getByRole("row", { name: "Platform" })).toHaveCount(0);

  await page.getByRole("button", { name: "Grant a role" }).click();
  await page.getByLabel("Who", { exact: true }).fill("rob");
  await page.getByRole("button", { name: /Role/ }).click();
  await page.getByRole("option", { name: "Owner" }).first().click();
  await page.getByRole("button", { name: "Grant", exact: true }).click();
  const row = held.getByRole("row", { name: /^rob/ });
  await expect(row).toBeVisible();
  await other.goto(`${hosted.service.url}/explorer/~own/control`);
  await other.getByRole("row", { name: "Platform" }).click();
  await expect(other).toHaveURL(/at=platform/);
  await expect(other.getByRole("row", { name: /^rob/ })).toBeVisible();
  await other.close();

  await row.getByRole("button", { name: "Revoke" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Revoke" }).click();
  await expect(row).toHaveCount(0);
  await page.getByRole("tab", { name: "Changes" }).click();
  await expect(
    page.getByRole("list", { name: "Changes" }).getByRole("article").first(),
  ).toContainText("role-assignments/delete");
});

test("what the service refuses is shown in the form, which stays as it was", async ({
  page,
  hosted,
}) => {
  await createProject(hosted, "taken");
  await openControl(page, hosted, "Ada Lovelace");
  await page.getByRole("row", { name: "acme" }).click();
  await page.getByRole("button", { name: "New project" }).click();
  await page.getByLabel("Name", { exact: true }).fill("Taken");
  await page.getByRole("button", { name: "Create" }).click();
  await expect(page.getByRole("dialog").getByRole("alert")).toContainText("taken");
  await expect(page.getByLabel("Name", { exact: true })).toHaveValue("Taken");
  await page.getByLabel("Id", { exact: true }).fill("Not An Id");
  await expect(page.getByText("An id is made of lower-case letters")).toBeVisible();
  await expect(page.getByRole("button", { name: "Create" })).toBeDisabled();
  await page.keyboard.press("Escape");
  await expect(page.getByRole("dialog")).toHaveCount(0);
});

test("a form of the control plane stays as it is when a window is made narrower", async ({
  page,
  hosted,
}) => {
  await openControl(page, hosted, "Ada Lovelace");
  await page.getByRole("row", { name: "acme" }).click();
  await page.getByRole("button", { name: "New project" }).click();
  const name = page.getByRole("dialog").getByLabel("Name", { exact: true });
  await name.fill("Half written");
  for (const width of [600, 1280]) {
    await page.setViewportSize({ width, height: 800 });
    await expect(name).toHaveValue("Half written");
  }
});

test("a place of the control plane has an address that a reload keeps", async ({
  page,
  hosted,
}) => {
  await createProject(hosted, "kept");
  await openControl(page, hosted, "Ada Lovelace");
  await page.getByRole("row", { name: "Project kept" }).click();
  await expect(page).toHaveURL(/at=project(%3A|:)kept/);
  await page.reload();
  await expect(page.getByRole("heading", { name: "Project kept" })).toBeVisible();
});

test("organizations, projects and graphs are renamed, and who did it stands in the changes", async ({
  page,
  hosted,
}) => {
  await createProject(hosted, "renamed");
  await create(hosted, "projects/renamed/resources", {
    id: "renamed-graph",
    name: "First name",
    type: "Platform.Graph",
  });
  await openControl(page, hosted, "Ada Lovelace");
  const rename = async (what: string, name: string): Promise<void> => {
    await page.getByRole("button", { name: `Rename the ${what}` }).click();
    const dialog = page.getByRole("dialog");
    await expect(dialog.getByRole("button", { name: "Rename" })).toBeDisabled();
    await dialog.getByLabel("Name").fill(name);
    await dialog.getByRole("button", { name: "Rename" }).click();
    await expect(dialog).toHaveCount(0);
    await expect(page.getByRole("heading", { name, level: 1 })).toBeVisible();
    await expect(page.getByRole("row", { name, exact: true })).toBeVisible();
  };
  await page.getByRole("row", { name: "Project renamed" }).click();
  await rename("project", "The north");
  await page.getByRole("grid", { name: "Resources" }).getByText("First name").click();
  await expect(page.getByRole("link", { name: "Open the graph" })).toBeVisible();
  await rename("resource", "Second name");
  await page.getByRole("tab", { name: "Changes" }).click();
  const changes = page.getByRole("list", { name: "Changes" }).getByRole("article");
  const last = changes.filter({ hasText: "resources/update" }).first();
  await expect(last).toContainText(/by ada/);
  await expect(last.locator("del").filter({ hasText: "First name" })).toBeVisible();
  await expect(last.locator("ins").filter({ hasText: "Second name" })).toBeVisible();
  await expect(page.getByRole("img", { name: "running" })).toHaveCount(2);
  await takeScreenshot(page, "control-changes");
  await page.getByRole("row", { name: /^acme/i }).click();
  await rename("organization", "Acme & Sons");
  await page.getByRole("tab", { name: "Changes" }).click();
  await expect(changes.filter({ hasText: "organizations/update" }).first()).toContainText(
    "Acme & Sons",
  );
  await rename("organization", "acme");
});

test("a hosted graph of the id own and the graph of the service have an address each", async ({
  page,
  hosted,
}) => {
  const { url } = hosted.service;
  await page.goto(`${url}/explorer/own/models`);
  await signIn(page, "Ada Lovelace");
  // There is none yet: the link of old leads to what it has meant.
  await expect(page).toHaveURL(`${url}/explorer/~own/models`);
  await createProject(hosted, "names");
  await create(hosted, "projects/names/resources", {
    id: "own",
    name: "A graph called own",
    type: "Platform.Graph",
  });
  await page.goto(`${url}/explorer/~own/control?at=resource:names/own`);
  await page.getByRole("link", { name: "Open the graph" }).click();
  await expect(page).toHaveURL(`${url}/explorer/own/query`);
  await expect(page.getByRole("button", { name: /^Graph: A graph called own/ })).toBeVisible();
  await page.reload();
  await page.getByRole("button", { name: /^Graph: A graph called own/ }).click();
  await page.getByRole("menuitemradio", { name: /This service/ }).click();
  await expect(page).toHaveURL(`${url}/explorer/~own/query`);
});

function failWith(message: string) {
  return (route: Route) =>
    route.fulfill({ status: 500, contentType: "application/json", body: `{"error":"${message}"}` });
}

test("a project whose resources cannot be read hides nothing of the others", async ({
  page,
  hosted,
}) => {
  await createProject(hosted, "broken");
  await createProject(hosted, "whole");
  await create(hosted, "projects/broken/resources", {
    id: "in-broken",
    name: "In broken",
    type: "Platform.Graph",
  });
  await page.route("**/projects/broken/resources?*", failWith("The disk is full."));
  await page.goto(`${hosted.service.url}/explorer/~own/control?at=project:whole`);
  await signIn(page, "Ada Lovelace");
  await expect(page.getByRole("heading", { name: "Project whole" })).toBeVisible();
  await expect(page.getByText("There is no resource yet.")).toBeVisible();
  await page.getByRole("row", { name: "Project broken" }).click();
  const failure = page.getByRole("tabpanel").getByRole("alert");
  await expect(failure).toContainText("The disk is full.");
  await page.unroute("**/projects/broken/resources?*");
  await failure.getByRole("button", { name: "Try again" }).click();
  const resources = page.getByRole("grid", { name: "Resources" });
  await expect(resources.getByRole("row", { name: "In broken" })).toBeVisible();
  await expect(page.getByRole("alert")).toHaveCount(0);
});

test("what could not be read of usage, bills and changes is asked for again", async ({
  page,
  hosted,
}) => {
  await createProject(hosted, "retried");
  await create(hosted, "projects/retried/resources", {
    id: "retried-graph",
    name: "Retried graph",
    type: "Platform.Graph",
  });
  const retry = async (tab: string, address: string): Promise<void> => {
    await page.route(address, failWith("Not just now."));
    await page.getByRole("tab", { name: tab }).click();
    const failure = page.getByRole("tabpanel").getByRole("alert");
    await expect(failure).toContainText("Not just now.");
    await page.unroute(address);
    await failure.getByRole("button", { name: "Try again" }).click();
    await expect(failure).toHaveCount(0);
  };
  await page.goto(`${hosted.service.url}/explorer/~own/control?at=project:retried`);
  await signIn(page, "Ada Lovelace");
  await retry("Billing", "**/billing-account");
  await retry("Changes", "**/audit-log?*");
  await page.getByRole("tab", { name: "Resources" }).click();
  await page.getByRole("grid", { name: "Resources" }).getByText("Retried graph").click();
  await expect(page.getByRole("link", { name: "Open the graph" })).toBeVisible();
  await retry("Usage", "**/quotas");
});

test("where it is not known what one may do, that is said and asked again", async ({
  page,
  hosted,
}) => {
  await createProject(hosted, "untold");
  await page.route("**/permissions/check?*", failWith("Nobody answers here."));
  await page.goto(`${hosted.service.url}/explorer/~own/control?at=project:untold`);
  await signIn(page, "Ada Lovelace");
  const failure = page.getByRole("alert");
  await expect(failure).toContainText("Nobody answers here.");
  await expect(page.getByRole("button", { name: "New graph" })).toHaveCount(0);
  await page.unroute("**/permissions/check?*");
  await failure.getByRole("button", { name: "Try again" }).click();
  await expect(page.getByRole("button", { name: "New graph" })).toBeVisible();
  await expect(failure).toHaveCount(0);
});

test("what others make, and what one may see no more, shows without a reload", async ({
  page,
  hosted,
}) => {
  await page.clock.install();
  await createProject(hosted, "there");
  await openControl(page, hosted, "Ada Lovelace");
  await expect(page.getByRole("row", { name: "Project there" })).toBeVisible();
  await createProject(hosted, "made-later");
  await page.clock.runFor("00:20");
  await expect(page.getByRole("row", { name: "Project made-later" })).toBeVisible();
});

test("who holds a role at one graph alone is led to it", async ({ page, hosted }) => {
  await createProject(hosted, "closed");
  await create(hosted, "projects/closed/resources", {
    id: "only-this",
    name: "Only this",
    type: "Platform.Graph",
  });
  await create(hosted, "projects/closed/resources/only-this/role-assignments", {
    user_id: "rob",
    role_id: "viewer",
  });
  await openControl(page, hosted, "Rob Reader");
  await expect(page.getByText("You have no role at any organization")).toBeVisible();
  await page.getByRole("link", { name: "only-this" }).click();
  await expect(page).toHaveURL(`${hosted.service.url}/explorer/only-this/query`);
  await page.getByRole("button", { name: /^Graph: only-this/ }).click();
  await expect(page.getByRole("menuitemradio", { name: /^only-this/ })).toBeVisible();
});

test("a name as long as it may be leaves the room for all else, and is no hurdle to deleting", async ({
  page,
  hosted,
}) => {
  await createProject(hosted, "wide");
  const name = `👩‍🚀\u00a0${"W".repeat(190)}`;
  await create(hosted, "projects/wide/resources", { id: "wide-one", name, type: "Platform.Graph" });
  await page.goto(`${hosted.service.url}/explorer/~own/control?at=project:wide`);
  await signIn(page, "Ada Lovelace");
  const row = page.getByRole("grid", { name: "Resources" }).getByRole("row").last();
  const state = row.locator(".control-status");
  await expect(state).toContainText("running");
  for (const width of [1280, 390]) {
    await page.setViewportSize({ width, height: 800 });
    const lines = await state.evaluate(
      (one) => one.getBoundingClientRect().height / parseFloat(getComputedStyle(one).lineHeight),
    );
    expect(lines).toBeLessThan(1.5);
  }
  await row.getByText("wide-one").click();
  await page.getByRole("button", { name: "Delete" }).click();
  const dialog = page.getByRole("dialog");
  await expect(dialog).toBeVisible();
  expect(await dialog.evaluate((one) => one.scrollWidth - one.clientWidth)).toBeLessThanOrEqual(0);
  await dialog.getByLabel("Write wide-one to go on").fill("wide-one");
  await page.mouse.click(2, 700); // beside it
  await dialog.getByRole("button", { name: "Delete it and all its data" }).click();
  await expect(page.getByText("There is no resource yet.")).toBeVisible();
});

test("a link to one of many projects shows it in the tree as well", async ({ page, hosted }) => {
  const ids = Array.from({ length: 55 }, (_, place) => `zz-many-${String(place).padStart(2, "0")}`);
  for (const id of ids) await createProject(hosted, id);
  await page.goto(`${hosted.service.url}/explorer/~own/control?at=project:${ids.at(-1) ?? ""}`);
  await signIn(page, "Ada Lovelace");
  await expect(page.getByRole("row", { name: "Project zz-many-54" })).toBeInViewport();
});
