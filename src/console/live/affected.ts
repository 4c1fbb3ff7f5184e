import { subjectOf } from '../api/keys.ts';
import type { Hint } from './watch-items.ts';

/**
 * Whether a query may show something else after a change. Lists of deployments are left out if one deployment has changed: they request
 * its row only (fleet/use-fleet.ts).
 */
export function isAffected(key: readonly unknown[], tenantId: string, hint: Hint): boolean {
  const subject = subjectOf(key);
  if (subject === null || subject.tenantId !== tenantId) return false;
  if (hint.type === 'reset') return true;
  if (hint.deployment_id === null) return subject.deploymentId === null;
  return subject.deploymentId === hint.deployment_id;
}

/** Hints that arrived together, each once. A reset includes all changes. */
export function combined(hints: readonly Hint[]): readonly Hint[] {
  const reset = hints.find(({ type }) => type === 'reset');
  if (reset !== undefined) return [reset];
  const byDeployment = new Map(hints.map((hint) => [hint.type === 'change' ? hint.deployment_id : '', hint]));
  return [...byDeployment.values()];
}
