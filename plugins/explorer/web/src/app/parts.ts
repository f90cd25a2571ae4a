import { lazy, type ComponentType, type LazyExoticComponent } from "react";

import { isAnswering, waitForAnswer } from "./outage";

const RELOADED = "twinframe-explorer-reloaded";
/** Sooner than this the page is not loaded anew once more, in milliseconds. */
const APART = 60_000;

/**
 * A part of the page that is got when it is needed. While the service is away it is waited for.
 * Where the service no longer has the part, as after an upgrade, the page is loaded anew, once.
 */
export async function getPart<Part>(get: () => Promise<Part>): Promise<Part> {
  for (;;) {
    try {
      return await get();
    } catch (error) {
      if (!(await isAnswering())) {
        await waitForAnswer();
        continue;
      }
      const last = Number(sessionStorage.getItem(RELOADED) ?? 0);
      if (Date.now() - last < APART) {
        throw new Error(
          "A part of this page could not be loaded, though the service answers. It may have been " +
            "upgraded: load the page again.",
          { cause: error },
        );
      }
      sessionStorage.setItem(RELOADED, String(Date.now()));
      window.location.reload();
      return new Promise(() => undefined);
    }
  }
}

/** A component that is a part of its own. */
// eslint-disable-next-line @typescript-eslint/no-explicit-any -- whatever its properties are
export function latePart<Shown extends ComponentType<any>>(
  get: () => Promise<{ default: Shown }>,
): LazyExoticComponent<Shown> {
  return lazy(() => getPart(get));
}
