/** A picture as it is kept in a workspace. */
export interface Picture {
  /** A `data:` URL. */
  image: string;
  width: number;
  height: number;
}

/**
 * So many characters a picture has at most: with what is drawn on it, it fits into a workspace of
 * the usual size (`Graph__MaxWorkspaceBytes`, 2 MiB).
 */
export const MOST_LENGTH = 1_800_000;
const MOST_FILE = 50_000_000;
const TYPES = ["image/png", "image/jpeg", "image/webp", "image/svg+xml"];
/** Longer sides and better qualities come first: the first that fits is taken. */
const TRIALS = [
  [4000, 0.85],
  [3000, 0.8],
  [2400, 0.7],
  [1800, 0.6],
  [1200, 0.5],
] as const;
/** The sides of a drawing that says none. */
const USUAL = { width: 1600, height: 1200 };

/**
 * The picture in a file, small enough to be kept: a photograph or scan is encoded anew, an SVG is
 * kept as it is. Throws with a sentence for people.
 */
export async function readPicture(file: File): Promise<Picture> {
  if (!TYPES.includes(file.type)) {
    throw new Error(
      `${file.name} is no picture that can be a plan: choose a PNG, JPEG, WebP or SVG.`,
    );
  }
  if (file.size > MOST_FILE) {
    throw new Error(
      `${file.name} has more than ${MOST_FILE / 1_000_000} MB. Make it smaller first.`,
    );
  }
  const url = URL.createObjectURL(file);
  try {
    const found = await loadImage(url, file.name);
    const width = found.naturalWidth || USUAL.width;
    const height = found.naturalHeight || USUAL.height;
    if (file.type !== "image/svg+xml") return await encode(found, width, height, file.name);
    const image = await readDataUrl(file);
    if (image.length > MOST_LENGTH) {
      throw new Error(
        `The drawing ${file.name} has ${file.size.toLocaleString()} bytes; as SVG up to about ` +
          `${((MOST_LENGTH / 4) * 3).toLocaleString()} are kept. Save it as PNG, which is encoded anew.`,
      );
    }
    return { image, width, height };
  } finally {
    URL.revokeObjectURL(url);
  }
}

async function loadImage(url: string, name: string): Promise<HTMLImageElement> {
  // SEC: what is in an <img> runs no script and fetches nothing, whatever an SVG says.
  const image = new Image();
  image.src = url;
  try {
    await image.decode();
  } catch (error) {
    throw new Error(`${name} cannot be read as a picture: it may be damaged.`, { cause: error });
  }
  return image;
}

async function encode(
  found: HTMLImageElement,
  width: number,
  height: number,
  name: string,
): Promise<Picture> {
  for (const [side, quality] of TRIALS) {
    const scale = Math.min(1, side / Math.max(width, height));
    const canvas = document.createElement("canvas");
    canvas.width = Math.max(1, Math.round(width * scale));
    canvas.height = Math.max(1, Math.round(height * scale));
    const context = canvas.getContext("2d");
    if (context === null) throw new Error("This browser cannot encode pictures.");
    // Paper below what is transparent, also where the browser writes a JPEG.
    context.fillStyle = "#ffffff";
    context.fillRect(0, 0, canvas.width, canvas.height);
    context.drawImage(found, 0, 0, canvas.width, canvas.height);
    const blob =
      (await toBlob(canvas, "image/webp", quality)) ??
      (await toBlob(canvas, "image/jpeg", quality));
    if (blob === null) continue;
    const image = await readDataUrl(blob);
    if (image.length <= MOST_LENGTH) return { image, width: canvas.width, height: canvas.height };
  }
  throw new Error(`${name} is too large to be kept, also when it is made smaller.`);
}

/** Null where the browser writes another type than was asked for, as those without WebP do. */
async function toBlob(
  canvas: HTMLCanvasElement,
  type: string,
  quality: number,
): Promise<Blob | null> {
  const blob = await new Promise<Blob | null>((done) => canvas.toBlob(done, type, quality));
  return blob?.type === type ? blob : null;
}

function readDataUrl(blob: Blob): Promise<string> {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => resolve(String(reader.result));
    reader.onerror = () => reject(new Error("The file cannot be read.", { cause: reader.error }));
    reader.readAsDataURL(blob);
  });
}
