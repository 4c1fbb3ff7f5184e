import { Component, type ReactNode } from 'react';
import { ProblemNotice } from '../ui/problem-notice.tsx';

interface Props {
  readonly children: ReactNode;
}

/** Shows an error of the console itself instead of an empty page. */
export class ErrorBoundary extends Component<Props, { readonly error: Error | null }> {
  override state: { readonly error: Error | null } = { error: null };

  static getDerivedStateFromError(error: Error) {
    return { error };
  }

  override render() {
    const { error } = this.state;
    if (error === null) return this.props.children;
    return (
      <main>
        <ProblemNotice error={error} onRetry={() => window.location.reload()} />
      </main>
    );
  }
}
