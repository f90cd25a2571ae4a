import { expect, type Page } from "@playwright/test";

import { open } from "./fixtures";
import type { Service } from "./processes";

/** An office with a component, properties that are set and ones that are not. */
export const ROOM = "b1-l0-r02";

/** The panel at the right, or in the sheet of a phone. */
export function inspector(page: Page) {
  return page.getByRole("complementary", { name: "Inspector" });
}

/** A property's row in the inspector. */
export function property(page: Page, name: string) {
  return inspector(page).getByRole("group", { name, exact: true });
}

export function field(page: Page, name: string) {
  return inspector(page).getByRole("textbox", { name, exact: true });
}

export function saveButton(page: Page) {
  return inspector(page).getByRole("button", { name: "Save", exact: true });
}

/** Select a twin by a query for it and a click on its id. */
export async function selectTwin(page: Page, service: Service, id: string): Promise<void> {
  const query = new URLSearchParams({
    query: `MATCH (t:Twin) WHERE t.\`$dtId\` = '${id}' RETURN t`,
  });
  await open(page, service, `~own/query?${query.toString()}`);
  await page.getByRole("grid").locator(`[data-twin="${id}"]`).click();
  await expect(inspector(page).getByRole("heading", { name: id })).toBeVisible();
}

export async function send(
  service: Service,
  method: string,
  path: string,
  body: unknown,
  more: Record<string, string> = {},
) {
  const type = method === "PATCH" ? "application/json-patch+json" : "application/json";
  const answer = await fetch(service.url + path, {
    method,
    headers: { "Content-Type": type, ...more },
    body: JSON.stringify(body),
  });
  if (!answer.ok) throw new Error(await answer.text());
}

export async function readTwin(service: Service, id: string): Promise<Record<string, unknown>> {
  const answer = await fetch(`${service.url}/digitaltwins/${id}`);
  return (await answer.json()) as Record<string, unknown>;
}
