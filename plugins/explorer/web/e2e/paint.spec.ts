import { expect, test } from "./fixtures";

const ROUNDS = 5;
/** The first useful paint is to come within a second; a machine with other work gets some more. */
const GENEROUS = 4000;

test("the first useful paint comes soon", async ({ browser, demo }) => {
  const found: number[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    const context = await browser.newContext();
    const page = await context.newPage();
    // Useful is the shell with its navigation and the editor to write a query in.
    await page.addInitScript(() => {
      const look = (): void => {
        const editor = document.querySelector("main .query-editor")?.shadowRoot;
        if (editor?.querySelector(".cm-content")) setTimeout(() => performance.mark("useful"));
        else requestAnimationFrame(look);
      };
      look();
    });
    await page.goto(`${demo.url}/explorer/~own/query`);
    // NOTE: waitForFunction would evaluate text in the page, which its policy does not allow.
    const read = (): Promise<number> =>
      page.evaluate(() => performance.getEntriesByName("useful")[0]?.startTime ?? 0);
    await expect.poll(read).toBeGreaterThan(0);
    found.push(await read());
    await context.close();
  }
  found.sort((one, other) => one - other);
  const median = found[Math.floor(ROUNDS / 2)] ?? 0;
  console.log(`first useful paint, empty cache: ${found.map(Math.round).join(", ")} ms`);
  expect(median).toBeLessThan(GENEROUS);
});
