import { CsvWriter } from "../results/csv";
import { saveFile } from "../results/download";
import { colorAt } from "./colors";
import { joinSeries, nameColumn } from "./join";
import type { ShownSeries } from "./useSeries";
import { summarize, writeNumber } from "./values";

export function saveSeries(shown: readonly ShownSeries[]): void {
  const writer = new CsvWriter({ spread: false, guard: true });
  writer.add(joinSeries(shown));
  saveFile(writer.parts(), "chart.csv", "text/csv");
}

const LINE = 20;

/** The drawing of a chart with what its lines are, on the ground of the page, as a PNG. */
export async function saveChart(
  drawing: HTMLCanvasElement,
  shown: readonly ShownSeries[],
): Promise<void> {
  const scale = devicePixelRatio;
  const image = document.createElement("canvas");
  image.width = drawing.width;
  image.height = drawing.height + (shown.length + 1) * LINE * scale;
  const context = image.getContext("2d");
  if (context === null) throw new Error("The browser gave no canvas to draw the image on.");
  const style = getComputedStyle(document.body);
  context.fillStyle = style.backgroundColor;
  context.fillRect(0, 0, image.width, image.height);
  context.drawImage(drawing, 0, 0);
  context.scale(scale, scale);
  context.font = `13px ${style.fontFamily}`;
  shown.forEach((one, at) => {
    const y = drawing.height / scale + (at + 1) * LINE;
    context.fillStyle = colorAt(document.body, at);
    context.fillRect(12, y - 10, 11, 11);
    context.fillStyle = style.color;
    const { last } = summarize(one.values);
    context.fillText(`${nameColumn(one)}${last === null ? "" : `: ${writeNumber(last)}`}`, 32, y);
  });
  const blob = await new Promise<Blob | null>((resolve) => image.toBlob(resolve, "image/png"));
  if (blob === null) throw new Error("The browser could not make an image of this chart.");
  saveFile([blob], "chart.png", "image/png");
}
