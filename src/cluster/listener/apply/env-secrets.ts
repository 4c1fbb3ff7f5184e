import type { ApplyWork } from '../../../contract/protocol/work-protocol.ts';
import { envSecretName, LABELS, MANAGED_BY } from '../../../contract/resource/names.ts';
import type { Logger } from '../../../domain/core/logger.ts';
import { finalizerHold } from '../../../domain/deployment/deletion-hold.ts';
import type { KubeClient } from '../../kube/client/client.ts';
import type { KubeObject } from '../../kube/client/object.ts';
import { RESOURCES } from '../../kube/client/resources.ts';
import { Refusal } from '../refusal.ts';
import type { Resource } from '../resource-view.ts';
import { createSecret, deleteSecret, secretLabels } from './secret-writes.ts';

/**
 * The Secrets with the environment of each revision. The Secrets are immutable and created before the custom resource
 * refers to them. The listener reads these Secrets only to check their owner, and deletes them by name, because it may
 * not list Secrets. The name contains the number of the revision and a label contains its id, because a hub that was
 * restored from a backup reuses numbers.
 */

export interface EnvSecretOptions {
  client: Pick<KubeClient, 'create' | 'find' | 'delete'>;
  logger: Logger;
}

type Environment = ApplyWork['env_secrets'][number];

interface Owner {
  deployment_id: string;
  tenant_id: string;
  namespace: string;
}

/** Annotation of cert-manager: the Certificate that the Secret belongs to. */
const CERTIFICATE_NAME = 'cert-manager.io/certificate-name';
/** Annotation of cert-manager: the hosts of the certificate, separated by commas. */
const CERTIFICATE_HOSTS = 'cert-manager.io/alt-names';

/** Size of the cache of existing Secrets. An evicted entry costs one call. */
const MAX_CACHED = 20_000;

export function belongsToDeployment(object: KubeObject, deploymentId: string): boolean {
  const { labels = {} } = object.metadata;
  return labels[LABELS.managedBy] === MANAGED_BY && labels[LABELS.deploymentId] === deploymentId;
}

function secretObject(item: ApplyWork, { name, revision_id: revisionId, data }: Environment) {
  return {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: {
      name,
      namespace: item.namespace,
      labels: {
        ...secretLabels(item),
        [LABELS.revisionId]: revisionId,
      },
    },
    type: 'Opaque',
    immutable: true,
    data: Object.fromEntries(
      Object.entries(data).map(([key, value]) => [key, Buffer.from(value).toString('base64')]),
    ),
  };
}

/** @param found the object with this name; undefined: it was just deleted, or never read */
export function secretBeingDeleted(name: string, found?: KubeObject): Refusal {
  const hold = found === undefined ? null : finalizerHold({ ...found, kind: 'Secret' });
  const message = hold?.message ?? `the Secret ${name} is being deleted`;
  return new Refusal(hold?.reason ?? 'ApplyRefused', message, true);
}

export class EnvSecrets {
  readonly #options: EnvSecretOptions;
  /** Ids of the revisions whose Secrets are known to exist, by namespace and name. The cache only saves calls. */
  readonly #there = new Map<string, string>();

  constructor(options: EnvSecretOptions) {
    this.#options = options;
  }

  /**
   * Creates the missing Secrets of the item, and replaces those of another revision that had the same number.
   * @param repair also check the Secrets that existed before
   * @param guard called before each write
   * @returns the names of the Secrets that did not exist before this call
   * @throws Refusal Conflict when a Secret of another owner has the name; KubeError
   */
  async ensure(item: ApplyWork, repair: boolean, guard: () => void, signal: AbortSignal): Promise<string[]> {
    const created: string[] = [];
    for (const secret of item.env_secrets) {
      const key = `${item.namespace}/${secret.name}`;
      if (!repair && this.#there.get(key) === secret.revision_id) continue;
      if (await this.#make(item, secret, guard, signal)) created.push(secret.name);
      if (this.#there.size >= MAX_CACHED) this.#there.clear();
      this.#there.set(key, secret.revision_id);
    }
    return created;
  }

  /** Drops the cached knowledge that the Secret of this resource exists. */
  forget({ metadata, spec }: Resource): void {
    this.#there.delete(`${metadata.namespace}/${spec?.revision?.envSecretName}`);
  }

  /** @returns whether no Secret of this name existed before */
  async #make(
    item: ApplyWork,
    secret: Environment,
    guard: () => void,
    signal: AbortSignal,
  ): Promise<boolean> {
    guard();
    if (await createSecret(this.#options.client, secretObject(item, secret), signal)) return true;
    const at = { namespace: item.namespace, name: secret.name };
    const found = await this.#options.client.find(RESOURCES.Secret, at, { signal });
    if (found === undefined || found.metadata.deletionTimestamp !== undefined) {
      throw secretBeingDeleted(secret.name, found);
    }
    if (!belongsToDeployment(found, item.deployment_id)) {
      throw new Refusal('Conflict', `a Secret named ${secret.name} exists that Berth did not create`, true);
    }
    if (found.metadata.labels?.[LABELS.revisionId] === secret.revision_id) return false;
    const fields = { deploymentId: item.deployment_id, name: secret.name, revisionId: secret.revision_id };
    this.#options.logger.warn(
      fields,
      'replaced the environment of another revision that had the same number',
    );
    guard();
    await deleteSecret(this.#options.client, at, found.metadata.uid, signal);
    guard();
    if (await createSecret(this.#options.client, secretObject(item, secret), signal)) return false;
    throw secretBeingDeleted(secret.name);
  }

  /**
   * Removes Secrets of this deployment by name. Missing Secrets and those of other owners are skipped.
   * @returns the Secrets that have finalizers. A Secret disappears when its last finalizer is removed
   * @throws KubeError
   */
  async remove(
    owner: Owner,
    names: readonly string[],
    guard: () => void,
    signal: AbortSignal,
  ): Promise<KubeObject[]> {
    const kept: KubeObject[] = [];
    for (const name of names) {
      const at = { namespace: owner.namespace, name };
      this.#there.delete(`${owner.namespace}/${name}`);
      const found = await this.#options.client.find(RESOURCES.Secret, at, { signal });
      if (found === undefined || !belongsToDeployment(found, owner.deployment_id)) continue;
      if ((found.metadata.finalizers ?? []).length > 0) kept.push(found);
      if (found.metadata.deletionTimestamp !== undefined) continue;
      guard();
      await deleteSecret(this.#options.client, at, found.metadata.uid, signal);
    }
    return kept;
  }

  /**
   * Removes the Secret that cert-manager keeps of a deleted Certificate. The Secret has no label of Berth, but only the
   * route of this deployment could request a Certificate of this name.
   * @param host a certificate for this host is kept, and also a certificate whose hosts are unknown; null: no
   * certificate is kept
   * @returns the Secret that was removed, or that finalizers keep; undefined: no such Secret existed
   * @throws KubeError
   */
  async removeCertificate(
    { namespace }: Pick<Owner, 'namespace'>,
    name: string,
    guard: () => void,
    signal: AbortSignal,
    host: string | null = null,
  ): Promise<KubeObject | undefined> {
    const at = { namespace, name };
    const found = await this.#options.client.find(RESOURCES.Secret, at, { signal });
    const { annotations = {} } = found?.metadata ?? {};
    if (found === undefined || annotations[CERTIFICATE_NAME] !== name) return undefined;
    const hosts = annotations[CERTIFICATE_HOSTS]?.split(',');
    if (host !== null && (hosts === undefined || hosts.includes(host))) return undefined;
    if (found.metadata.deletionTimestamp !== undefined) return found;
    guard();
    await deleteSecret(this.#options.client, at, found.metadata.uid, signal);
    return found;
  }

  /**
   * Removes the environments of revisions that are no longer needed. A failure is logged and retried with the next
   * item.
   * @returns the revisions whose environments are gone
   */
  async prune(
    item: ApplyWork,
    revisions: readonly number[],
    guard: () => void,
    signal: AbortSignal,
  ): Promise<number[]> {
    const gone: number[] = [];
    try {
      for (const number of revisions) {
        const kept = await this.remove(item, [envSecretName(item.name, number)], guard, signal);
        if (kept.length === 0) gone.push(number);
      }
    } catch (error) {
      signal.throwIfAborted();
      const fields = { deploymentId: item.deployment_id, err: String(error) };
      this.#options.logger.warn(fields, 'failed to remove old environments');
    }
    return gone;
  }
}
