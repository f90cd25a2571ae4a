import { create } from "zustand";

import { ApiError } from "../api/errors";
import type { TransferClient, Upload } from "../api/transfer";
import { isPictureText } from "./graphFile";

/** The import that this page hands over to the service, or has handed over. */
export interface Importing {
  /** `sending`: the file goes to the service; `over`: the job goes on there. */
  phase: "none" | "sending" | "over" | "failed";
  graphId: string;
  name: string;
  sent: number;
  bytes: number;
  jobId: string | null;
  error: unknown;
}

const NONE: Importing = {
  phase: "none",
  graphId: "",
  name: "",
  sent: 0,
  bytes: 0,
  jobId: null,
  error: null,
};

/** It goes on while other views are shown. */
export const useImporting = create<Importing>(() => NONE);

let controller: AbortController | null = null;

/** What the service takes: the lines of exports, which are those of the vendor's jobs, or the
 * document of the vendor's explorer; gzip or not. */
export const ACCEPTED = [".ndjson", ".jsonl", ".json", ".gz"];

/** So many bytes tell what a file is. */
const HEAD = 1000;
const PICTURE =
  "This file is a picture, with twins and their places alone, and no graph. Open it in Query: " +
  "picture a result with its twins, then press the folder in the bar of the picture.";

/** A piece whose way was interrupted is sent again, after so many milliseconds. */
const PAUSES = [500, 2000, 5000, 10_000];

/**
 * Hands a file over in pieces and lets a job read it. What the service has of the same file already
 * is not sent again, so that an upload goes on where it was. Gives the id of the job.
 */
export async function importFile(
  client: TransferClient,
  graphId: string,
  file: File,
  history: boolean,
): Promise<string | null> {
  controller?.abort();
  const own = new AbortController();
  controller = own;
  const set = (part: Partial<Importing>): void => {
    if (controller === own) useImporting.setState(part);
  };
  set({ ...NONE, phase: "sending", graphId, name: file.name, bytes: file.size });
  try {
    if (file.size === 0) throw new Error("This file is empty.");
    if (isPictureText(await file.slice(0, HEAD).text())) throw new Error(PICTURE);
    const upload = await send(client, file, own.signal, (sent) => set({ sent }));
    const jobId = nameJob(file.name, new Date());
    await client.startImport(jobId, upload.inputBlobUri, history);
    set({ phase: "over", jobId, sent: file.size });
    return jobId;
  } catch (error) {
    if (own.signal.aborted) return null;
    set({ phase: "failed", error });
    throw error;
  }
}

/** Stops sending. What the service has stays there for a day, and is not sent again. */
export function stopSending(): void {
  controller?.abort();
  controller = null;
  useImporting.setState(NONE);
}

async function send(
  client: TransferClient,
  file: File,
  signal: AbortSignal,
  onSent: (bytes: number) => void,
): Promise<Upload> {
  let upload = await begin(client, file);
  while (upload.receivedBytes < file.size) {
    signal.throwIfAborted();
    onSent(upload.receivedBytes);
    const { id, receivedPieces: number, receivedBytes: at, pieceBytes } = upload;
    const piece = file.slice(at, at + pieceBytes);
    upload = await insist(() => client.putPiece(id, number, piece, signal), signal);
  }
  onSent(file.size);
  return upload;
}

/** An upload of this name that is still being deleted is left alone. */
async function begin(client: TransferClient, file: File): Promise<Upload> {
  const id = nameUpload(file);
  try {
    return await client.beginUpload(id, file.name, file.size);
  } catch (error) {
    if (!(error instanceof ApiError) || error.code !== "UploadAlreadyExists") throw error;
    return client.beginUpload(`${id}-${Date.now().toString(36)}`, file.name, file.size);
  }
}

/** Does it again where the service did not answer: the same piece twice is stored once. */
async function insist<T>(act: () => Promise<T>, signal: AbortSignal): Promise<T> {
  for (const pause of PAUSES) {
    try {
      return await act();
    } catch (error) {
      const isPassing = error instanceof ApiError && [0, 429, 502, 503, 504].includes(error.status);
      if (!isPassing || signal.aborted) throw error;
      await new Promise((resolve) => setTimeout(resolve, pause));
    }
  }
  return act();
}

/** The same for the same file, so that it is found again after a reload of the page. */
export function nameUpload(file: Pick<File, "name" | "size" | "lastModified">): string {
  const text = `${file.name}|${file.size}|${file.lastModified}`;
  let hash = 0xcbf29ce484222325n;
  for (const unit of text) {
    hash = ((hash ^ BigInt(unit.codePointAt(0) ?? 0)) * 0x100000001b3n) & 0xffffffffffffffffn;
  }
  return `file-${hash.toString(16)}`;
}

/** The name of the file and when it was started, as plain letters. */
export function nameJob(name: string, at: Date): string {
  const plain = name.replace(/(\.ndjson|\.jsonl|\.json)?(\.gz)?$/i, "").replace(/[^\w.-]+/g, "-");
  const trimmed = plain.slice(0, 80).replace(/^[-.]+|[-.]+$/g, "");
  const time = at.toISOString().slice(0, 19).replace(/[-:]/g, "").replace("T", "-");
  return `${trimmed || "graph"}-${time}`;
}
