import { Component, type ErrorInfo, type ReactNode } from "react";
import { Button } from "react-aria-components";

interface Props {
  /** What is inside, for the message, such as `The view Query`. */
  name: string;
  children: ReactNode;
}

/** Holds an error of what is inside, so that the rest of the page stays in use. */
export class Boundary extends Component<Props, { error: unknown }> {
  override state: { error: unknown } = { error: null };

  static getDerivedStateFromError(error: unknown): { error: unknown } {
    return { error };
  }

  override componentDidCatch(error: unknown, info: ErrorInfo): void {
    // Where it happened is in the browser's console too, for whoever reports it.
    reportError(
      new Error(`${this.props.name} failed${info.componentStack ?? ""}`, { cause: error }),
    );
  }

  override render(): ReactNode {
    const { error } = this.state;
    if (error === null) return this.props.children;
    return (
      <div className="boundary" role="alert">
        <h2>{this.props.name} has failed</h2>
        <p>{error instanceof Error ? error.message : String(error)}</p>
        <p className="muted">What you have written is kept. Nothing was changed at the service.</p>
        <Button className="button" onPress={() => this.setState({ error: null })}>
          Show it again
        </Button>
      </div>
    );
  }
}
