import fc from "fast-check";
import { describe, expect, test } from "vitest";

import type { JsonObject, ModelEntry, Twin } from "../api/types";
import { ModelIndex } from "../models/index";
import { EMPTY } from "./model";
import { listModelsWith, readScalars } from "./scalars";
import {
  captionOf,
  colorByRules,
  describeRule,
  mixColors,
  PLAIN,
  readStyle,
  type Rule,
  type Style,
} from "./style";
import { useStyle } from "./styleStore";

function twin(members: object, model = "dtmi:x:Room;1"): Twin {
  return { $dtId: "r1", $etag: "1", $metadata: { $model: model }, ...members } as Twin;
}

const SCALE: Rule = {
  kind: "scale",
  property: "climate.temperature",
  model: null,
  from: 18,
  to: 26,
  low: "#0000ff",
  high: "#ff0000",
};
const ALARM: Rule = {
  kind: "value",
  property: "alarm",
  model: "dtmi:x:Room;1",
  operator: "=",
  value: "true",
  color: "#e04040",
};
const isSame = (model: string, base: string): boolean => model === base;

describe("rules", () => {
  const color = (members: object, rules: readonly Rule[], model?: string) =>
    colorByRules(rules, twin(members, model), isSame);

  test("of a scale give the colours of its ends there and beyond, and others between", () => {
    const at = (temperature: unknown) => color({ climate: { temperature } }, [SCALE]);
    expect([at(10), at(18), at(26), at(99n)]).toEqual(["#0000ff", "#0000ff", "#ff0000", "#ff0000"]);
    expect(at(22)).toBe(mixColors("#0000ff", "#ff0000", 0.5));
    expect([at("22"), at(null), color({}, [SCALE])]).toEqual([null, null, null]);
  });

  test("of a value compare numbers, texts and booleans as such", () => {
    const holds = (value: unknown, operator: string, wanted: string): boolean =>
      color({ v: value }, [{ ...ALARM, property: "v", operator, value: wanted } as Rule]) !== null;
    expect(holds(9, "<", "10")).toBe(true);
    expect(holds("9", "<", "10")).toBe(false);
    expect(holds(true, "=", "true")).toBe(true);
    expect(holds(false, "=", "true")).toBe(false);
    expect(holds("on", "!=", "off")).toBe(true);
    expect(holds(3, ">=", "three")).toBe(false);
    expect(holds(undefined, "!=", "off")).toBe(false);
  });

  test("hold in their order, and for twins of their model only", () => {
    const hot = { alarm: true, climate: { temperature: 26 } };
    expect(color(hot, [ALARM, SCALE])).toBe("#e04040");
    expect(color(hot, [SCALE, ALARM])).toBe("#ff0000");
    expect(color(hot, [ALARM, SCALE], "dtmi:x:Hall;1")).toBe("#ff0000");
  });

  test("say in words what they are", () => {
    expect(describeRule(SCALE, String)).toBe("climate.temperature from 18 to 26");
    expect(describeRule(ALARM, () => "Room")).toBe("Room: alarm = true");
  });
});

test("a caption is a property, or the name where there is none", () => {
  const room = twin({ name: "Hall", area: 40 });
  expect(captionOf("r1", room, undefined)).toBe("Hall");
  expect(captionOf("r1", room, "area")).toBe("40");
  expect(captionOf("r1", room, "$dtId")).toBe("r1");
  expect(captionOf("r1", room, "gone.at.all")).toBe("Hall");
  expect(captionOf("r1", null, "area")).toBe("r1");
});

describe("a style that was kept", () => {
  const style: Style = {
    version: 1,
    models: { "dtmi:x:Room;1": { color: "#123456", icon: "cog", size: 1.5, caption: "area" } },
    relationships: { constructor: { color: "#abcdef" } },
    rules: [SCALE, ALARM],
  };

  test("is read again as it was", () => {
    expect(readStyle(JSON.parse(JSON.stringify(style)))).toEqual(style);
  });

  test("of anything else is what can be read of it", () => {
    fc.assert(
      fc.property(fc.jsonValue(), (kept) => {
        expect(readStyle(kept).version).toBe(1);
      }),
    );
    expect(readStyle({ ...style, version: 2 })).toBe(PLAIN);
    const broken = {
      version: 1,
      models: { a: { color: "red; background: url(x)", size: 1e9, icon: 4 }, b: 1 },
      rules: [{ ...SCALE, to: "hot" }, { ...ALARM, operator: "~" }, ALARM],
    };
    expect(readStyle(broken)).toEqual({
      ...PLAIN,
      models: { a: { size: 4 } },
      rules: [ALARM],
    });
  });

  test("loses what is taken back, with the entry that nothing is left of", () => {
    const { take, styleModel, styleRelationship } = useStyle.getState();
    take(style);
    styleModel("dtmi:x:Room;1", { color: undefined, size: undefined });
    expect(useStyle.getState().style.models).toEqual({
      "dtmi:x:Room;1": { icon: "cog", caption: "area" },
    });
    styleModel("dtmi:x:Room;1", { icon: undefined, caption: undefined });
    styleRelationship("constructor", undefined);
    expect(useStyle.getState().style).toEqual({ ...PLAIN, rules: [SCALE, ALARM] });
    take(PLAIN);
  });
});

test("properties with one value are found in components and objects too", () => {
  const entry = (id: string, contents: object[], base?: string): ModelEntry => {
    const model = {
      "@id": id,
      "@type": "Interface",
      contents,
      ...(base === undefined ? {} : { extends: base }),
    } as unknown as JsonObject;
    return { id, uploadTime: "2026-01-01T00:00:00Z", decommissioned: false, model };
  };
  const index = new ModelIndex([
    entry("dtmi:x:Climate;1", [{ "@type": "Property", name: "temperature", schema: "double" }]),
    entry("dtmi:x:Room;1", [
      { "@type": "Property", name: "label", schema: "string" },
      {
        "@type": "Property",
        name: "address",
        schema: { "@type": "Object", fields: [{ name: "street", schema: "string" }] },
      },
      {
        "@type": "Property",
        name: "tags",
        schema: { "@type": "Map", mapKey: {}, mapValue: {} },
      },
      { "@type": "Component", name: "climate", schema: "dtmi:x:Climate;1" },
      { "@type": "Relationship", name: "has" },
    ]),
    entry("dtmi:x:Office;1", [], "dtmi:x:Room;1"),
    entry("dtmi:x:Pump;1", [{ "@type": "Property", name: "temperature", schema: "double" }]),
  ]);
  const listWith = (path: string): string[] => {
    const [office, pump] = ["dtmi:x:Office;1", "dtmi:x:Pump;1"].map((model) => twin({}, model));
    const nodes = new Map([
      ["office", office ?? null],
      ["pump", pump ?? null],
    ]);
    return listModelsWith(path, { ...EMPTY, nodes }, index);
  };
  expect(listWith("climate.temperature")).toEqual(["dtmi:x:Office;1", "dtmi:x:Room;1"]);
  expect(listWith("temperature")).toEqual(["dtmi:x:Pump;1"]);
  expect(readScalars(index, "dtmi:x:Room;1")).toEqual([
    { path: "label", isNumber: false },
    { path: "address.street", isNumber: false },
    { path: "climate.temperature", isNumber: true },
  ]);
});
