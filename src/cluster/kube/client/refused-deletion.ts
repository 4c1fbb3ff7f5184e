import type { DeletionHold } from '../../../domain/deployment/deletion-hold.ts';
import { isKubeError, type KubeError, type KubeErrorKind } from './errors.ts';

/** Converts a rejection of a deletion call by the API server to a report of what blocks the deletion. */

const NO_RIGHT = /is forbidden: User "/;
const OF_ONE_OBJECT = /^(\w+) (\w+) (?:[^/ ]+\/)?(\S+)$/;

const FOR_GOOD: ReadonlySet<KubeErrorKind> = new Set(['forbidden', 'invalid', 'bad_request']);

/** A permanent rejection by the API server: a missing right, or an admission rule. */
function isRefused(error: KubeError): boolean {
  return FOR_GOOD.has(error.kind) || (error.kind === 'server' && error.said().includes('webhook'));
}

/** Converts the rejection of a call of a purge to a hold. null: the error is not a rejection, and may be transient. */
export function refusedHold(error: unknown, namespace: string): DeletionHold | null {
  if (!isKubeError(error) || !isRefused(error)) return null;
  const reason = NO_RIGHT.test(error.said()) ? 'DeletionForbidden' : 'DeletionRefused';
  const [, verb, kind, name] = OF_ONE_OBJECT.exec(error.action ?? '') ?? [];
  const said = error.message.replace(`failed to ${error.action}: `, '');
  if (kind === undefined || name === undefined) {
    return { reason, message: `Namespace ${namespace}: ${error.message}` };
  }
  return { reason, message: `${kind} ${name} cannot be ${verb === 'delete' ? 'deleted' : 'read'}: ${said}` };
}
