import { SeriesPicker } from "./SeriesPicker";
import { useAddToChart } from "./useChartAddress";

/** Adds a value of a twin to the chart. */
export function AddSeries() {
  const add = useAddToChart();
  return <SeriesPicker onAdd={(one) => add([one])} />;
}
