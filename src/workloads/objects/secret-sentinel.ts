import type { ManagedDeployment } from '../../contract/resource/managed-deployment.ts';
import { pullSecretName } from '../../contract/resource/names.ts';
import { contentHash } from '../../domain/core/hash.ts';
import { APP_CONTAINER_NAME } from '../../domain/deployment/reserved.ts';
import { isSecretOfAnother } from '../../domain/policy/generated-names.ts';
import type { KubeObject, PodTemplates } from '../desired-object.ts';
import { INPUTS_HASH_LABEL, metadata } from '../labels.ts';
import { app } from '../names.ts';

/** Label of a sentinel, which distinguishes it from stored templates. */
export const SENTINEL_LABEL = 'berth.dev/witness';

export interface NamedSecret {
  readonly name: string;
  readonly uid: string;
}

/**
 * Berth does not watch Secrets, because this would require the right to read all of them. Instead, each deployment has
 * a sentinel, which is an empty ControllerRevision that its Secrets own. When a Secret is deleted, the garbage
 * collector removes its owner reference from the sentinel. With the last owner, the garbage collector removes the
 * sentinel. The operator observes both at once.
 */
export function secretSentinel(resource: ManagedDeployment, secrets: readonly NamedSecret[]): KubeObject {
  const owners = [...secrets].sort((a, b) => (a.name < b.name ? -1 : 1));
  const hash = contentHash(owners.map(({ uid }) => uid));
  const base = metadata(resource, `${app(resource)}-secrets-${hash.slice(0, 8)}`, 'app');
  return {
    apiVersion: 'apps/v1',
    kind: 'ControllerRevision',
    metadata: {
      ...base,
      labels: { ...base.labels, [INPUTS_HASH_LABEL]: hash, [SENTINEL_LABEL]: 'secrets' },
      ownerReferences: owners.map(({ name, uid }) => ({ apiVersion: 'v1', kind: 'Secret', name, uid })),
    },
    revision: 0,
    data: {},
  };
}

/** Whether an object is a sentinel, including one that is being deleted. */
export function isSecretSentinel({
  kind,
  metadata: { labels },
}: {
  kind?: string;
  metadata: { labels?: Record<string, string> };
}): boolean {
  return kind === 'ControllerRevision' && labels?.[SENTINEL_LABEL] !== undefined;
}

/**
 * Secrets that pods of these templates need and that only the listener can create: environments and the pull Secret.
 */
export function listenerSecretsOf(resource: ManagedDeployment, templates: PodTemplates): string[] {
  const prefix = `${app(resource)}-env-`;
  const named = Object.values(templates)
    .flatMap((template) => template.spec?.containers ?? [])
    .filter(({ name }) => name === APP_CONTAINER_NAME)
    .flatMap(({ envFrom = [] }) => envFrom.flatMap(({ secretRef }) => secretRef?.name ?? []))
    .filter((name) => name.startsWith(prefix));
  const { envSecretName } = resource.spec.revision;
  const pull = pullSecretName(app(resource));
  const pulls = Object.values(templates).some((template) =>
    template.spec?.imagePullSecrets?.some(({ name }) => name === pull),
  );
  // Other code rejects the Secret of another deployment. This code must not reveal that the Secret of another
  // deployment exists.
  const isOwn = envSecretName !== undefined && !isSecretOfAnother(envSecretName, app(resource));
  return [...new Set([...named, ...(isOwn ? [envSecretName] : []), ...(pulls ? [pull] : [])])];
}
