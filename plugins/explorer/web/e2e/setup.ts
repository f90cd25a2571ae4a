import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";

import { findPort, Service } from "./processes";

const WEB = resolve(import.meta.dirname, "..");

/**
 * Build the page and load the sample building once; every service of the tests gets a copy.
 * TWINFRAME_EXPLORER_ASSETS names a page that is built already.
 */
export default async function setUp(): Promise<() => void> {
  const folder = mkdtempSync(join(tmpdir(), "twinframe-explorer-e2e-"));
  const tearDown = (): void => rmSync(folder, { recursive: true, force: true });
  process.env["TWINFRAME_E2E_FOLDER"] = folder;
  try {
    await prepare(folder);
  } catch (error) {
    tearDown();
    throw error;
  }
  return tearDown;
}

async function prepare(folder: string): Promise<void> {
  if (process.env["TWINFRAME_EXPLORER_ASSETS"] === undefined) {
    const assets = join(folder, "assets");
    run("npx", ["vite", "build", "--outDir", assets, "--logLevel", "warn"], WEB);
    process.env["TWINFRAME_EXPLORER_ASSETS"] = assets;
  }
  const template = join(folder, "template");
  mkdirSync(template);
  const service = await new Service(template, await findPort()).start();
  try {
    run(pythonOf(), ["-m", "twinframe.demo", service.url], template);
  } finally {
    await service.stop();
  }
}

/** The Python beside the service's command. */
function pythonOf(): string {
  const command = process.env["TWINFRAME_COMMAND"];
  return command === undefined
    ? resolve(WEB, "../../../.venv/bin/python")
    : join(dirname(command), "python");
}

function run(command: string, words: string[], cwd: string): void {
  const { status, stdout, stderr } = spawnSync(command, words, { cwd, encoding: "utf-8" });
  if (status !== 0) throw new Error(`${command} ${words.join(" ")}:\n${stdout}${stderr}`);
}
