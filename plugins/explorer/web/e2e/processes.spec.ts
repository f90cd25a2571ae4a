import { createServer, type AddressInfo } from "node:net";
import { join } from "node:path";

import { expect, test } from "./fixtures";
import { Service } from "./processes";

test("a service whose port somebody else has taken meanwhile starts at another one", async ({
  folder,
}, { testId }) => {
  const other = createServer((socket) =>
    // It even says that it is ready.
    socket.on("error", () => undefined).end("HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n"),
  );
  await new Promise<void>((done) => other.listen(0, "127.0.0.1", done));
  const taken = (other.address() as AddressInfo).port;
  const told: string[] = [];
  const service = new Service(join(folder, testId), taken, (url) => {
    told.push(url);
    return {};
  });
  try {
    await service.start();
    expect(service.port).not.toBe(taken);
    expect(told.at(-1)).toBe(service.url);
    const answer = await fetch(`${service.url}/permissions`);
    expect(await answer.json()).toHaveProperty("permissions");
  } finally {
    await service.stop();
    other.close();
  }
});
