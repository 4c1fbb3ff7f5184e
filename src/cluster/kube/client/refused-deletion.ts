import type { DeletionHold } from '../../../domain/deployment/deletion-hold.ts';
import { isKubeError, type KubeError, type KubeErrorKind } from './errors.ts';

/** Calls of a deletion that the API server refuses, as what blocks the deletion. */

const NO_RIGHT = /is forbidden: User "/;
const OF_ONE_OBJECT = /^(\w+) (\w+) (?:[^/ ]+\/)?(\S+)$/;

const FOR_GOOD: ReadonlySet<KubeErrorKind> = new Set(['forbidden', 'invalid', 'bad_request']);

/** The API server refuses a call for good: a right is missing, or an admission rule is against it. */
function isRefused(error: KubeError): boolean {
  return FOR_GOOD.has(error.kind) || (error.kind === 'server' && error.said().includes('webhook'));
}

/** A refused call of a purge as what blocks it; null: the error is of another kind, and may pass by itself. */
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
