import { join } from "node:path";

import type { Page } from "@playwright/test";

import { AUDIENCE, CONTROL_AUDIENCE } from "./authority";
import {
  expect,
  signedBy,
  signIn,
  startAuthority,
  startService,
  test,
  watchConsole,
  writeQuery,
} from "./fixtures";
import { field, ROOM, saveButton } from "./inspecting";
import { runCommand } from "./processes";
import { takeScreenshot } from "./screenshots";

/** Whatever the service is asked now is refused as if the token had ended. */
async function refuseTokens(page: Page): Promise<void> {
  await page.route(/\/(query|models|permissions|digitaltwins)/, (route) =>
    route.fulfill({
      status: 401,
      contentType: "application/json",
      body: JSON.stringify({ error: { code: "Unauthorized", message: "The token has expired." } }),
    }),
  );
}

async function acceptTokens(page: Page): Promise<void> {
  await page.unroute(/\/(query|models|permissions|digitaltwins)/);
}

test("one signs in at the authority and comes back to where one was", async ({ page, secured }) => {
  const problems = watchConsole(page);
  await page.goto(`${secured.service.url}/explorer/~own/models?q=room`);
  await expect(page.getByRole("button", { name: /^Sign in at/ })).toBeVisible();
  await takeScreenshot(page, "sign-in");
  await signIn(page, "Ada Lovelace");
  await expect(page).toHaveURL(`${secured.service.url}/explorer/~own/models?q=room`);
  await page.getByRole("button", { name: "Signed in as Ada Lovelace" }).click();
  await expect(page.getByRole("menu")).toContainText("Ada Lovelace");
  // A query in the address is not sent along, and is there again.
  await page.goto(`${secured.service.url}/explorer/~own/query#query=RETURN+1%0A%2B+1+AS+two`);
  await expect(page.getByRole("gridcell")).toHaveText(["2"]);
  await page.reload();
  await expect(page.getByRole("gridcell")).toHaveText(["2"]);
  expect(problems).toEqual([]);
});

test("no token is kept anywhere but in memory", async ({ page, secured }) => {
  await page.goto(`${secured.service.url}/explorer/`);
  await signIn(page, "Ada Lovelace");
  const kept = await page.evaluate(() =>
    JSON.stringify([{ ...localStorage }, { ...sessionStorage }]),
  );
  expect(kept).not.toContain("eyJ");
  expect(page.url()).not.toContain("code=");
});

test("a reload signs in again without a question, as long as the authority knows the browser", async ({
  page,
  secured,
}) => {
  await page.goto(`${secured.service.url}/explorer/~own/models`);
  await signIn(page, "Ada Lovelace");
  await page.reload();
  await expect(page.getByRole("button", { name: "Signed in as Ada Lovelace" })).toBeVisible();
  await expect(page).toHaveURL(`${secured.service.url}/explorer/~own/models`);

  await page.context().clearCookies();
  await page.reload();
  await expect(page.getByRole("button", { name: /^Sign in at/ })).toBeVisible();
  await expect(page).toHaveURL(`${secured.service.url}/explorer/~own/models`);
});

test("a token that has ended is renewed with the next call, once", async ({ page, secured }) => {
  const { authority, service } = secured;
  authority.lifetime = 20; // below the time ahead of its end at which a token is renewed
  try {
    await page.goto(`${service.url}/explorer/~own/query`);
    await signIn(page, "Ada Lovelace");
    authority.lifetime = 3600;
    authority.grants.length = 0;
    await page.getByRole("link", { name: "Models" }).click();
    await expect(page.getByRole("main", { name: "Models" })).toBeVisible();
    await expect.poll(() => authority.grants).toEqual(["refresh_token"]);
  } finally {
    authority.lifetime = 3600;
  }
});

test("when the token is refused one signs in again beside the page, and loses nothing of it", async ({
  page,
  secured,
}) => {
  const { authority, service } = secured;
  const text = "MATCH (s:Site) RETURN s.name AS site";
  authority.refreshes = false;
  try {
    await page.goto(`${service.url}/explorer/~own/query`);
    await signIn(page, "Ada Lovelace");
    await writeQuery(page, text);
    await refuseTokens(page);
    await page.keyboard.press("ControlOrMeta+Enter");
    const dialog = page.getByRole("alertdialog", { name: "Sign in again" });
    await expect(dialog).toContainText("of Ada Lovelace");
    await acceptTokens(page);
    const popup = page.waitForEvent("popup");
    await dialog.getByRole("button", { name: "Sign in again" }).click();
    await popup;
    await expect(dialog).toBeHidden();
    const editor = page.getByRole("textbox", { name: "Query", exact: true });
    await expect(editor).toContainText(text);
    await page.getByRole("button", { name: /^Run/ }).click();
    await expect(page.getByText("1 row", { exact: true })).toBeVisible();
  } finally {
    authority.refreshes = true;
  }
});

test("a sign-in beside the page whose window was closed is begun anew", async ({
  page,
  secured,
}) => {
  const { authority, service } = secured;
  authority.refreshes = false;
  try {
    await page.goto(`${service.url}/explorer/~own/query`);
    await signIn(page, "Ada Lovelace");
    await writeQuery(page, "MATCH (s:Site) RETURN s.name AS site");
    await refuseTokens(page);
    await page.keyboard.press("ControlOrMeta+Enter");
    const dialog = page.getByRole("alertdialog", { name: "Sign in again" });
    await page.context().clearCookies(); // so that the authority asks who it is
    const first = page.waitForEvent("popup");
    await dialog.getByRole("button", { name: "Sign in again" }).click();
    const closed = await first;
    await expect(closed.getByRole("link", { name: "Ada Lovelace" })).toBeVisible();
    await closed.close();
    await acceptTokens(page);
    const second = page.waitForEvent("popup");
    await dialog.getByRole("button", { name: "Open the window again" }).click();
    await (await second).getByRole("link", { name: "Ada Lovelace" }).click();
    await expect(dialog).toBeHidden();
  } finally {
    authority.refreshes = true;
  }
});

test("a control plane that asks for a token of its own gets one by a press, and stops nothing else", async ({
  page,
  folder,
}, { testId }) => {
  const authority = await startAuthority();
  const settings = {
    ...signedBy(authority),
    Control__Enabled: "true",
    Control__Audience: CONTROL_AUDIENCE,
  };
  const service = await startService(join(folder, testId), settings, async (made) => {
    const words = ["control", "init", "--owner", "ada", "--organization", "acme"];
    await runCommand(words, made.environment);
  });
  try {
    await page.goto(`${service.url}/explorer/~own/models`);
    await signIn(page, "Ada Lovelace");
    await expect(page.getByRole("treegrid").getByRole("row").first()).toBeVisible();
    await page.getByRole("link", { name: "Control plane" }).click();
    await expect(page.getByRole("alert")).toContainText(
      `The control plane asks for a token for the audience ${CONTROL_AUDIENCE}; yours is for ${AUDIENCE}.`,
    );
    await expect(page.getByRole("alertdialog")).toHaveCount(0);
    const popup = page.waitForEvent("popup");
    await page.getByRole("button", { name: `Sign in for ${CONTROL_AUDIENCE}` }).click();
    await popup;
    await expect(page.getByRole("row", { name: "acme" })).toBeVisible();
    await page.getByRole("link", { name: "Query" }).click();
    await writeQuery(page, "MATCH (s:Site) RETURN s.name AS site");
    await page.getByRole("button", { name: /^Run/ }).click();
    await expect(page.getByText("1 row", { exact: true })).toBeVisible();
  } finally {
    await service.stop();
    authority.stop();
  }
  expect(service.failures()).toBe("");
});

test("who signs out is asked before what is not saved is lost, and may stay signed in", async ({
  page,
  secured,
}) => {
  const asked: string[] = [];
  page.on("dialog", (dialog) => {
    asked.push(dialog.type());
    void dialog.accept();
  });
  const query = `MATCH (t:Twin) WHERE t.\`$dtId\` = '${ROOM}' RETURN t`;
  const search = new URLSearchParams({ query });
  await page.goto(`${secured.service.url}/explorer/~own/query?${search.toString()}`);
  await signIn(page, "Ada Lovelace");
  await page.getByRole("grid").locator(`[data-twin="${ROOM}"]`).click();
  const name = field(page, "name");
  await name.fill("Not saved");
  const leave = async (): Promise<void> => {
    await page.getByRole("button", { name: /^Signed in as/ }).click();
    await page.getByRole("menuitem", { name: "Sign out" }).click();
  };
  await leave();
  const question = page.getByRole("alertdialog", { name: /^Sign out and lose/ });
  await question.getByRole("button", { name: "Stay" }).click();
  await expect(question).toBeHidden();
  await saveButton(page).click();
  await expect(saveButton(page)).toHaveCount(0);

  await name.fill("Lost");
  await leave();
  await question.getByRole("button", { name: "Sign out and lose them" }).click();
  await expect(page.getByRole("button", { name: /^Sign in at/ })).toBeVisible();
  expect(asked).toEqual([]); // the browser does not ask the same once more
});

test("a pasted token is tried before it is taken", async ({ page, secured }) => {
  const { authority, service } = secured;
  await page.goto(`${service.url}/explorer/~own/models`);
  const field = page.getByLabel("Access token");
  await field.fill("Bearer no.such.token");
  await page.getByRole("button", { name: "Use this token" }).click();
  await expect(field).toHaveAttribute("aria-invalid", "true");
  await field.fill(authority.issue("ada", -60));
  await page.getByRole("button", { name: "Use this token" }).click();
  await expect(page.getByText("This token has expired")).toBeVisible();
  await field.fill(`Bearer ${authority.issue("rob")}`);
  await page.getByRole("button", { name: "Use this token" }).click();
  await expect(page.getByRole("button", { name: "Signed in as Rob Reader" })).toBeVisible();
  await expect(page).toHaveURL(`${service.url}/explorer/~own/models`);
  // A reload of the tab does not ask again; another tab does, and so does signing out.
  await page.reload();
  await expect(page.getByRole("button", { name: "Signed in as Rob Reader" })).toBeVisible();
  const other = await page.context().newPage();
  await other.goto(`${service.url}/explorer/~own/models`);
  await expect(other.getByLabel("Access token")).toBeVisible();
  await page.getByRole("button", { name: "Signed in as Rob Reader" }).click();
  await page.getByRole("menuitem", { name: "Sign out" }).click();
  await expect(page.getByLabel("Access token")).toBeVisible();
  expect(await page.evaluate(() => JSON.stringify(sessionStorage))).not.toContain("eyJ");
});

test("who signs out is out at the authority too", async ({ page, secured }) => {
  await page.goto(`${secured.service.url}/explorer/`);
  await signIn(page, "Ada Lovelace");
  await page.getByRole("button", { name: /^Signed in as/ }).click();
  await page.getByRole("menuitem", { name: "Sign out" }).click();
  await page.getByRole("button", { name: /^Sign in at/ }).click();
  await expect(page.getByRole("link", { name: "Rob Reader" })).toBeVisible();
});

test("what the authority refuses is said in its words", async ({ page, secured }) => {
  await page.goto(`${secured.service.url}/explorer/`);
  await page.route("**/token", (route) =>
    route.fulfill({
      status: 400,
      contentType: "application/json",
      headers: { "Access-Control-Allow-Origin": "*" },
      body: JSON.stringify({ error: "invalid_grant", error_description: "The clock is wrong." }),
    }),
  );
  await page.getByRole("button", { name: /^Sign in at/ }).click();
  await page.getByRole("link", { name: "Ada Lovelace" }).click();
  await expect(page.getByRole("alert")).toContainText("invalid_grant. The clock is wrong.");
  await page.unroute("**/token");
  await page.getByRole("button", { name: "Try again" }).click();
  await expect(page.getByRole("button", { name: /^Sign in at/ })).toBeVisible();
});

test("an answer that nobody here has asked for signs nobody in", async ({ page, secured }) => {
  await page.goto(`${secured.service.url}/explorer/signed-in?code=stolen&state=forged`);
  await expect(page.getByText("You may close this window")).toBeVisible();
  await page.goto(`${secured.service.url}/explorer/`);
  await expect(page.getByRole("button", { name: /^Sign in at/ })).toBeVisible();
});

test("an answer that is an error is not called a sign-in, and shows no words of others", async ({
  page,
  secured,
}) => {
  const { url } = secured.service;
  await page.goto(`${url}/explorer/signed-in?error=access_denied&state=x`);
  const alert = page.getByRole("alert");
  await expect(alert).toContainText("The authority has signed nobody in: access_denied.");
  await page.goto(`${url}/explorer/signed-in?error=Call+0800+now&state=x`);
  await expect(alert).toContainText("The authority has signed nobody in.");
  await expect(page.getByText("0800")).toHaveCount(0);
});

test("who may only read is offered nothing that would be refused", async ({ page, secured }) => {
  await page.goto(`${secured.service.url}/explorer/~own/models`);
  await signIn(page, "Rob Reader");
  await expect(page.getByRole("main", { name: "Models" })).toBeVisible();
  const offers = page.getByRole("button", { name: /upload|delete|decommission|create|new twin/i });
  await expect(page.getByRole("treegrid").or(page.getByRole("tree")).first()).toBeVisible();
  await expect(offers).toHaveCount(0);
});
