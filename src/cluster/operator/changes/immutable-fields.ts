import type { KubeObject } from '../../kube/client/object.ts';
import type { Difference } from '../../kube/compare/compare.ts';

/** Fields that the API server refuses to change once the object is there. */
const IMMUTABLE: Readonly<Record<string, RegExp>> = {
  Deployment: /^spec\.selector\b/,
  StatefulSet: /^spec\.(?:selector|serviceName|podManagementPolicy|volumeClaimTemplates)\b/,
};

/** Whether only another object can have the field as it is wanted. */
export function isImmutable({ kind }: Pick<KubeObject, 'kind'>, { path }: Pick<Difference, 'path'>): boolean {
  return IMMUTABLE[kind]?.test(path) === true;
}
