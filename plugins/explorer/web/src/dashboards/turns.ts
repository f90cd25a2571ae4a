/** So many tiles ask at once; the others wait for their turn. */
export const MOST_AT_ONCE = 4;

let running = 0;
const waiting: (() => void)[] = [];

/** Asks once there is a turn. Whoever aborts meanwhile leaves the line. */
export async function inTurn<Answer>(
  ask: () => Promise<Answer>,
  signal: AbortSignal,
): Promise<Answer> {
  if (running >= MOST_AT_ONCE) await waitForTurn(signal);
  else running += 1;
  try {
    signal.throwIfAborted();
    return await ask();
  } finally {
    // The turn goes to the next in the line.
    const next = waiting.shift();
    if (next === undefined) running -= 1;
    else next();
  }
}

function waitForTurn(signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const take = (): void => {
      signal.removeEventListener("abort", leave);
      resolve();
    };
    const leave = (): void => {
      waiting.splice(waiting.indexOf(take), 1);
      reject(signal.reason as Error);
    };
    waiting.push(take);
    signal.addEventListener("abort", leave, { once: true });
  });
}
