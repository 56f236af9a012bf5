import { Component } from "react";
import type { ReactNode } from "react";
import { Button } from "@/ui/Button";
import { Problem } from "@/ui/PageState";

const reload = () => window.location.reload();

/** What a page with a bug shows, or one whose chunk is gone after an update of the service. */
export function PageError({ error }: { error: unknown }) {
  return (
    <Problem error={error}>
      <Button kind="primary" onClick={reload}>
        Reload the page
      </Button>
    </Problem>
  );
}

/** Catches what the router does not: a bug in the shell itself. */
export class ErrorBoundary extends Component<{ children: ReactNode }, { error: unknown }> {
  override state: { error: unknown } = { error: null };

  static getDerivedStateFromError(error: unknown) {
    return { error };
  }

  override render(): ReactNode {
    return this.state.error === null ? this.props.children : <PageError error={this.state.error} />;
  }
}
