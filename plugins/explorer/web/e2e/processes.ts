import { spawn, type ChildProcess } from "node:child_process";
import { createWriteStream, existsSync, mkdirSync, readFileSync } from "node:fs";
import { createServer } from "node:net";
import { join, resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

/** The command of the service: that of the checkout unless TWINFRAME_COMMAND names another. */
const COMMAND =
  process.env["TWINFRAME_COMMAND"] ??
  resolve(import.meta.dirname, "../../../../.venv/bin/twinframe");

/** Settings as the service reads them from its environment. */
export type Settings = Record<string, string>;

/** How often another port is tried, where somebody else has taken the one that was free. */
const PORTS = 5;

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
  private at: number;

  /** `settings` may depend on the address, which is another one where the port is taken. */
  constructor(
    readonly folder: string,
    port: number,
    readonly settings: Settings | ((url: string) => Settings) = {},
  ) {
    this.at = port;
  }

  get port(): number {
    return this.at;
  }

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
      ...(typeof this.settings === "function" ? this.settings(this.url) : this.settings),
    };
  }

  /** Start it, at another port if its own is taken, and wait until it says that it is ready. */
  async start(): Promise<this> {
    for (let tries = 1; ; tries++) {
      const problem = await this.attempt();
      if (problem === null) return this;
      // NOTE: between the look for a free port and its use another process may have taken it.
      const taken = /Address already in use|Connection in use/.test(problem);
      if (!taken || tries === PORTS) throw new Error(`The service did not get ready:\n${problem}`);
      this.at = await findPort();
    }
  }

  /** Start it; null once it is ready, else what it said. */
  private async attempt(): Promise<string | null> {
    mkdirSync(this.folder, { recursive: true });
    const from = this.read().length;
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
      await sleep(100);
      // NOTE: who answers at the port may be the one that has taken it.
      if (!this.read(from).includes("Application startup complete")) continue;
      const answer = await fetch(`${this.url}/health/ready`).catch(() => null);
      if (answer?.status === 200) return null;
    }
    await this.stop();
    return this.read(from);
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

  /** What it has said since its log was so long. */
  private read(from = 0): string {
    return existsSync(this.log) ? readFileSync(this.log, "utf-8").slice(from) : "";
  }

  /** What went wrong in it, from its output; empty where nothing did. */
  failures(): string {
    const text = this.read();
    return text.includes("Traceback") ? text.slice(-4000) : "";
  }
}
