import { Http } from "../api/http";
import type { Configuration } from "../api/types";
import { besidePage } from "../app/addresses";

/** What the service tells the page about itself. Throws `ApiError`. */
export function loadConfiguration(): Promise<Configuration> {
  return new Http("", () => Promise.resolve(null)).json(besidePage("configuration.json"));
}
