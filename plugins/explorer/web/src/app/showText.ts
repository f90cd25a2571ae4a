/** Embeddings, overrides and isolates: they turn what follows, until something ends them. */
const TURNING = /[\u202a-\u202e\u2066-\u2069]/g;

/**
 * A text as it may be shown. SEC: letters that turn the direction have one id read like another,
 * so that they are shown as marks. Texts of right-to-left scripts need none of them.
 */
export function showText(text: string): string {
  return text.replace(TURNING, "\ufffd");
}
