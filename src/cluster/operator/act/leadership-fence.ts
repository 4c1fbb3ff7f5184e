import { KubeError } from '../../kube/client/errors.ts';

export interface LeadershipFence {
  readonly signal: AbortSignal;
  readonly mayAct: () => boolean;
}

/** @throws KubeError of the kind `aborted` when the call was cancelled or this process has lost the lease */
export function assertLeading({ signal, mayAct }: LeadershipFence): void {
  if (signal.aborted) throw notLeading();
  // guard: operator-checks-lease-before-writes
  if (!mayAct()) throw notLeading();
}

const notLeading = () =>
  new KubeError({ kind: 'aborted', message: 'failed to act: this process is no longer the leader' });
