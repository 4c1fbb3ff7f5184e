import { KubeError } from '../../kube/client/errors.ts';

export interface MayAct {
  readonly signal: AbortSignal;
  readonly mayAct: () => boolean;
}

/** @throws KubeError aborted, when the time is over or another process leads by now */
export function assertMayAct({ signal, mayAct }: MayAct): void {
  if (!signal.aborted && mayAct()) return;
  throw new KubeError({ kind: 'aborted', message: 'failed to act: this process no longer leads' });
}
