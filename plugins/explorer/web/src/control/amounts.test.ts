import { describe, expect, it } from "vitest";

import { nameMeter, renderAmount, renderBytes, renderMoney, sumByDay } from "./amounts";

const sample = (to: string, twins: number, operations: number) => ({
  from: "2026-01-01T00:00:00Z",
  to,
  twins,
  storage_bytes: twins * 10,
  operations,
  query_charge: operations * 2,
});

describe("amounts", () => {
  it("are read in the unit that fits", () => {
    expect(renderBytes(0)).toBe("0 B");
    expect(renderBytes(1023)).toBe("1,023 B");
    expect(renderBytes(268_435_456)).toBe("256 MiB");
    expect(renderBytes(1.5 * 1024 ** 3)).toBe("1.5 GiB");
    expect(renderAmount("query_charge", 250)).toBe("2.5");
    expect(renderAmount("twins", 10_000)).toBe("10,000");
    expect(nameMeter("operations_per_day")).toBe("Operations per day");
  });

  it("of money have as many digits as the currency", () => {
    expect(renderMoney(4900, "EUR")).toBe("€49.00");
    expect(renderMoney(4900, "JPY")).toBe("¥4,900");
  });

  it("of a day are the most of levels and the sum of what is counted", () => {
    const days = sumByDay([
      sample("2026-01-01T10:00:00Z", 5, 1),
      sample("2026-01-02T01:00:00Z", 1, 1),
      sample("2026-01-01T11:00:00Z", 3, 4),
    ]);
    expect(days).toEqual([
      { day: "2026-01-02", twins: 1, storage_bytes: 10, operations: 1, query_charge: 2 },
      { day: "2026-01-01", twins: 5, storage_bytes: 50, operations: 5, query_charge: 10 },
    ]);
  });
});
