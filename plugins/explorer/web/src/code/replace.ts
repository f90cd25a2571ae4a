import { EditorView } from "@codemirror/view";

/**
 * Writes over a selection without the browser's help.
 *
 * SEC: browsers keep the look of text that is written over in style attributes, which the page's
 * Content-Security-Policy refuses and reports at each such key.
 */
export const writeOver = EditorView.domEventHandlers({
  beforeinput: (event, view) => {
    const { data, inputType, isComposing } = event;
    const { main, ranges } = view.state.selection;
    const isTyped = inputType === "insertText" && data !== null && !isComposing;
    if (!isTyped || main.empty || ranges.length > 1 || view.state.readOnly) return false;
    event.preventDefault();
    const insert = () =>
      view.state.update(view.state.replaceSelection(data), {
        userEvent: "input.type",
        scrollIntoView: true,
      });
    const handlers = view.state.facet(EditorView.inputHandler);
    const { from, to } = main;
    if (!handlers.some((one) => one(view, from, to, data, insert))) view.dispatch(insert());
    return true;
  },
});
