import { spawn, type ChildProcess } from "node:child_process";
import { createWriteStream, mkdirSync, readFileSync } from "node:fs";
import { createServer } from "node:net";
import { join, resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

/** The command of the service: that of the checkout unless TWINFRAME_COMMAND names another. */
const COMMAND =
  process.env["TWINFRAME_COMMAND"] ??
  resolve(import.meta.dirname, "../../../../.venv/bin/twinframe");

/** Settings as the service reads them from its environment. */
export type Settings = Record<string, string>;

/** A port of this machine that nobody listens at. */
export function findPort(): Promise<number> {
  return new Promise((done, fail) => {
    const server = createServer();
    server.on("error", fail);
    server.listen(0, "127.0.0.1", () => {
      const address = server.address();
      server.close(() => {
        if (address === null || typeof address === "string") fail(new Error("no port"));
        else done(address.port);
      });
    });
  });
}

/** Run `twinframe` with these words to its end; its output. Fails unless it ends well. */
export async function runCommand(words: string[], settings: Settings): Promise<string> {
  const child = spawn(COMMAND, words, { env: { ...process.env, ...settings } });
  let output = "";
  child.stdout.on("data", (part: Buffer) => (output += part.toString()));
  child.stderr.on("data", (part: Buffer) => (output += part.toString()));
  const code = await new Promise<number | null>((done) => child.on("close", done));
  if (code !== 0) throw new Error(`twinframe ${words.join(" ")} ended with ${code}:\n${output}`);
  return output;
}

/** A `twinframe` command that serves, with its workers a process group of its own. */
export class Service {
  private child: ChildProcess | null = null;

  constructor(
    readonly folder: string,
    readonly port: number,
    readonly settings: Settings = {},
  ) {}

  get url(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  get log(): string {
    return join(this.folder, `serve-${this.port}.log`);
  }

  get environment(): Settings {
    return {
      Server__Bind: `127.0.0.1:${this.port}`,
      Server__Workers: "1",
      Storage__Sqlite__Directory: join(this.folder, "data"),
      ...this.settings,
    };
  }

  /** Start it, and wait until it says that it is ready. */
  async start(): Promise<this> {
    mkdirSync(this.folder, { recursive: true });
    const log = createWriteStream(this.log, { flags: "a" });
    this.child = spawn(COMMAND, ["serve"], {
      cwd: this.folder,
      env: { ...process.env, ...this.environment },
      detached: true,
      stdio: ["ignore", "pipe", "pipe"],
    });
    // NOTE: whichever of the two ends first is not the end of the log.
    this.child.stdout?.pipe(log, { end: false });
    this.child.stderr?.pipe(log, { end: false });
    this.child.once("close", () => log.end());
    const end = Date.now() + 90_000;
    while (Date.now() < end && this.child.exitCode === null) {
      const answer = await fetch(`${this.url}/health/ready`).catch(() => null);
      if (answer?.status === 200) return this;
      await sleep(100);
    }
    await this.stop();
    throw new Error(`The service did not get ready:\n${readFileSync(this.log, "utf-8")}`);
  }

  /** End it the polite way, and its group in any case. */
  async stop(): Promise<void> {
    const child = this.child;
    this.child = null;
    if (child === null || child.pid === undefined) return;
    const ended = new Promise((done) => child.once("exit", done));
    if (child.exitCode === null && child.signalCode === null) {
      child.kill("SIGTERM");
      await Promise.race([ended, sleep(15_000, undefined, { ref: false })]);
    }
    try {
      process.kill(-child.pid, "SIGKILL");
    } catch {
      // The whole group has gone already.
    }
  }

  /** What went wrong in it, from its output; empty where nothing did. */
  failures(): string {
    const text = readFileSync(this.log, "utf-8");
    return text.includes("Traceback") ? text.slice(-4000) : "";
  }
}
