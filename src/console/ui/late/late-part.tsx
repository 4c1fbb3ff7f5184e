import { Component, type ReactNode, Suspense } from 'react';
import { PartProblem } from './part-problem.tsx';

interface Props {
  readonly children: ReactNode;
}

/** Something that is loaded when it is opened. If this fails, the page around it stays with all that was typed. */
export class LatePart extends Component<Props, { readonly error: Error | null }> {
  override state: { readonly error: Error | null } = { error: null };

  static getDerivedStateFromError(error: Error) {
    return { error };
  }

  override render() {
    const { error } = this.state;
    if (error !== null) return <PartProblem error={error} onRetry={() => this.setState({ error: null })} />;
    return <Suspense>{this.props.children}</Suspense>;
  }
}
