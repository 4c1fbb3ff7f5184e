import { withFields } from '../../domain/core/logger.ts';
import type { MarkerKey } from './access/marker-key.ts';
import type { SecretCheck } from './access/secret-use.ts';
import type { OrphanGuard } from './act/orphan-guard.ts';
import type { Remembered } from './memory.ts';
import type { Gathered } from './observe/gather.ts';
import type { ReconcilerOptions } from './reconciler-options.ts';
import type { Patience } from './rollout/failure-rules.ts';

/** The data that all steps of one reconcile use. */
export interface ReconcileContext {
  /** The options of the reconciler. The logger adds the reconcile id and the change of the hub. */
  readonly options: ReconcilerOptions;
  readonly patience: Patience;
  readonly markerKey: MarkerKey;
  /** The parts of the rule about Secrets that do not depend on the resource. */
  readonly secretRules: SecretCheck['rules'];
  readonly remembered: Remembered;
  readonly orphanGuard: OrphanGuard;
  /** Fires when the operator stops leading or stops. */
  readonly signal: AbortSignal;
  readonly reconcileId: string | undefined;
}

/** The options with a logger for one reconcile. Hub and listener log a change with the same fields. */
export function withReconcileLogger(
  options: ReconcilerOptions,
  gathered: Gathered,
  reconcileId: string | undefined,
): ReconcilerOptions {
  return { ...options, logger: withFields(options.logger, { reconcileId, ...changeOf(gathered) }) };
}

function changeOf(gathered: Gathered): object {
  if (gathered.kind !== 'found') return {};
  const { deploymentId, recordGeneration: generation, revision } = gathered.observed.resource.spec;
  return { deploymentId, generation, revisionId: revision?.id };
}
