import type { UsageSample } from "../api/control";

/** What a quota or meter counts, in words. */
export function nameMeter(meter: string): string {
  const words = meter.replaceAll("_", " ");
  return words.charAt(0).toUpperCase() + words.slice(1);
}

/** A number of bytes, in the unit that reads best. */
export function renderBytes(bytes: number): string {
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let rest = bytes;
  let unit = 0;
  while (rest >= 1024 && unit < units.length - 1) {
    rest /= 1024;
    unit += 1;
  }
  return `${rest.toLocaleString("en", { maximumFractionDigits: unit === 0 ? 0 : 1 })} ${units[unit]}`;
}

/** An amount of a meter, as people read it. */
export function renderAmount(meter: string, amount: number): string {
  if (meter === "storage_bytes") return renderBytes(amount);
  if (meter === "query_charge") return (amount / 100).toLocaleString("en");
  return amount.toLocaleString("en");
}

/** An amount of money in minor units of a currency. */
export function renderMoney(amount: number, currency: string): string {
  const format = new Intl.NumberFormat("en", { style: "currency", currency });
  const digits = format.resolvedOptions().maximumFractionDigits ?? 2;
  return format.format(amount / 10 ** digits);
}

export interface Day {
  day: string;
  /** The most that there was at any moment. */
  twins: number;
  storage_bytes: number;
  /** What was counted, in all. */
  operations: number;
  query_charge: number;
}

/** The samples of a month by day (UTC), the latest first. */
export function sumByDay(samples: readonly UsageSample[]): Day[] {
  const days = new Map<string, Day>();
  for (const one of samples) {
    const day = one.to.slice(0, 10);
    const before = days.get(day);
    days.set(day, {
      day,
      twins: Math.max(before?.twins ?? 0, one.twins),
      storage_bytes: Math.max(before?.storage_bytes ?? 0, one.storage_bytes),
      operations: (before?.operations ?? 0) + one.operations,
      query_charge: (before?.query_charge ?? 0) + one.query_charge,
    });
  }
  return [...days.values()].sort((one, other) => other.day.localeCompare(one.day));
}
