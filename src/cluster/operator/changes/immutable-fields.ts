import type { KubeObject } from '../../kube/client/object.ts';
import type { Difference } from '../../kube/compare/compare.ts';

/** Fields that the API server does not let change after creation. */
const IMMUTABLE: Readonly<Record<string, RegExp>> = {
  Deployment: /^spec\.selector\b/,
  StatefulSet: /^spec\.(?:selector|serviceName|podManagementPolicy|volumeClaimTemplates)\b/,
};

/** Whether the field can change only by recreating the object. */
export function isImmutable({ kind }: Pick<KubeObject, 'kind'>, { path }: Pick<Difference, 'path'>): boolean {
  return IMMUTABLE[kind]?.test(path) === true;
}
