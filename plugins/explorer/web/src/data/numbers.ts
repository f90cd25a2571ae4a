import type { DeleteJob, ImportJob } from "../api/transfer";

const UNITS = ["bytes", "KiB", "MiB", "GiB", "TiB"];

export function tellBytes(bytes: number): string {
  let [number, unit] = [bytes, 0];
  while (number >= 1024 && unit < UNITS.length - 1) [number, unit] = [number / 1024, unit + 1];
  const digits = unit === 0 || number >= 100 ? 0 : 1;
  return `${number.toLocaleString([], { maximumFractionDigits: digits })} ${UNITS[unit]}`;
}

/** Such as «3 models, 20 twins and 19 relationships»; what there is none of is left out. */
export function tellCounts(counts: readonly (readonly [number, string])[]): string {
  const parts = counts
    .filter(([number]) => number > 0)
    .map(
      ([number, what]) =>
        `${number.toLocaleString()} ${number === 1 ? what.replace(/s$/, "") : what}`,
    );
  const last = parts.pop();
  if (last === undefined) return "nothing";
  return parts.length === 0 ? last : `${parts.join(", ")} and ${last}`;
}

export function tellImported(job: ImportJob): string {
  return tellCounts([
    [job.modelsCreated, "models"],
    [job.twinsCreated, "twins"],
    [job.relationshipsCreated, "relationships"],
    [job.changesCreated, "changes"],
    [job.pointsCreated, "points"],
  ]);
}

/** How many of the twins are new; nothing where none came. */
export function tellReplaced({ twinsCreated, twinsReplaced }: ImportJob): string {
  const fresh = twinsCreated - twinsReplaced;
  if (twinsCreated === 0) return "";
  if (twinsReplaced === 0) return "All twins are new.";
  if (fresh === 0) return "All twins replaced those of the same ids.";
  return `${fresh.toLocaleString()} of the twins are new, ${twinsReplaced.toLocaleString()} replaced those of the same ids.`;
}

export function tellDeleted(job: DeleteJob): string {
  return tellCounts([
    [job.relationshipsDeleted, "relationships"],
    [job.twinsDeleted, "twins"],
    [job.modelsDeleted, "models"],
  ]);
}

/** Rows a second since the job was put; null while there is too little to say. */
export function rateOf(job: ImportJob): number | null {
  const end = Date.parse(job.finishedDateTime ?? job.lastActionDateTime);
  const seconds = (end - Date.parse(job.createdDateTime)) / 1000;
  const rows = job.twinsCreated + job.relationshipsCreated + job.changesCreated;
  return rows === 0 || !(seconds >= 0.5) ? null : rows / seconds;
}
