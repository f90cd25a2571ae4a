import { Plus } from "lucide-react";
import { Button, Group, Tooltip, TooltipTrigger } from "react-aria-components";

import { showText } from "../app/showText";
import { drawSpark, HEIGHT, WIDTH } from "./drawSpark";
import { useSparks, useSparksOf } from "./sparks";
import { useAddToChart, useShowChart } from "./useChartAddress";
import "./spark.css";
import { summarize, writeNumber, type Values } from "./values";

/** The values of a field over time as a line, which leads to a chart of it; nothing of one value. */
export function SparkOf({ path }: { path: string }) {
  const found = useSparks(path);
  const sparks = useSparksOf();
  if (sparks === null) return null;
  return found.map((one) => (
    <Spark
      key={one.path}
      twin={sparks.twin}
      path={one.path}
      values={one.values}
      unit={sparks.units.get(one.path) ?? ""}
      span={sparks.span}
      isNamed={one.path !== path}
    />
  ));
}

interface Props {
  twin: string;
  path: string;
  values: Values;
  unit: string;
  span: string;
  /** Whether its name has to be said, as it stands beside others. */
  isNamed: boolean;
}

export function Spark({ twin, path, values, unit, span, isNamed }: Props) {
  const show = useShowChart();
  const add = useAddToChart();
  const { lowest, highest } = summarize(values);
  const name = path.replaceAll("/", ".");
  // Averages have many digits that nobody reads.
  const write = (value: number | null): string => writeNumber(Number((value ?? 0).toPrecision(4)));
  const bounds = `${write(lowest)} to ${write(highest)} ${showText(unit)}`.trimEnd();
  return (
    <Group aria-label={`${name} over time`} className="spark">
      <TooltipTrigger delay={400}>
        <Button
          className="spark-line"
          aria-label={`${name}, last ${span}: ${bounds}. Show as a chart`}
          onPress={() => show([{ twin, path }])}
        >
          <svg width={WIDTH} height={HEIGHT} viewBox={`0 0 ${WIDTH} ${HEIGHT}`} aria-hidden>
            <path d={drawSpark(values)} />
          </svg>
        </Button>
        <Tooltip>
          {showText(name)} of the last {span}: {bounds}. Press for a chart.
        </Tooltip>
      </TooltipTrigger>
      <span className="muted">
        {isNamed && `${showText(name)} `}
        {bounds}
      </span>
      <TooltipTrigger delay={400}>
        <Button
          className="button button-quiet button-icon button-small spark-add"
          aria-label={`Add ${name} to the chart`}
          onPress={() => add([{ twin, path }])}
        >
          <Plus size={13} aria-hidden />
        </Button>
        <Tooltip>Add to the chart</Tooltip>
      </TooltipTrigger>
    </Group>
  );
}
