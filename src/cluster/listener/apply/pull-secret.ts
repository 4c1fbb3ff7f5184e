import type { ApplyWork } from '../../../contract/protocol/work-protocol.ts';
import { LABELS, pullSecretName } from '../../../contract/resource/names.ts';
import { contentHash } from '../../../domain/core/hash.ts';
import type { KubeClient } from '../../kube/client/client.ts';
import type { KubeObject } from '../../kube/client/object.ts';
import { RESOURCES } from '../../kube/client/resources.ts';
import { Refusal } from '../refusal.ts';
import type { Resource } from '../resource-view.ts';
import { belongsToDeployment, secretBeingDeleted } from './env-secrets.ts';
import { createSecret, deleteSecret } from './secret-writes.ts';

/**
 * The Secret with which the cluster pulls a deployment's images from the platform's registry, one for each deployment.
 * The Secret is created before the custom resource refers to it. The Secret is replaced when the hub sends different
 * content, which happens when the hub has a new key. The Secret is deleted by name with the deployment (purge.ts). The
 * listener may not list Secrets.
 */

type PullSecret = NonNullable<ApplyWork['pull_secret']>;

/** Key and type of the Secret, as Kubernetes defines them. */
const DOCKER_CONFIG = '.dockerconfigjson';
const TYPE = 'kubernetes.io/dockerconfigjson';

/** Size of the cache of existing Secrets. An evicted entry costs one call. */
const MAX_CACHED = 20_000;

interface StoredSecret extends KubeObject {
  type?: string;
  data?: Record<string, string>;
}

function secretObject(item: ApplyWork, { name, docker_config: config }: PullSecret): StoredSecret {
  return {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: {
      name,
      namespace: item.namespace,
      labels: { ...item.labels, [LABELS.partOf]: item.name },
    },
    type: TYPE,
    immutable: true,
    data: { [DOCKER_CONFIG]: Buffer.from(config).toString('base64') },
  } as StoredSecret;
}

export class PullSecrets {
  readonly #client: Pick<KubeClient, 'create' | 'find' | 'delete'>;
  /** Hash of the Secret that is known to exist, by namespace and name. The cache only saves calls. */
  readonly #there = new Map<string, string>();

  constructor(client: Pick<KubeClient, 'create' | 'find' | 'delete'>) {
    this.#client = client;
  }

  /**
   * Creates the Secret of the item, if any, or replaces it when its content differs. The kubelet retries pods that
   * start between the deletion and the creation.
   * @param repair also checks a Secret that existed before
   * @param guard called before each write
   * @returns the name of the Secret if it did not exist before this call
   * @throws Refusal Conflict when a Secret of another owner has the name; KubeError
   */
  async ensure(item: ApplyWork, repair: boolean, guard: () => void, signal: AbortSignal): Promise<string[]> {
    const { pull_secret: secret } = item;
    if (secret === undefined) return [];
    const key = `${item.namespace}/${secret.name}`;
    const hash = contentHash([item.deployment_id, secret.docker_config]);
    if (!repair && this.#there.get(key) === hash) return [];
    const isNew = await this.#make(item, secret, guard, signal);
    if (this.#there.size >= MAX_CACHED) this.#there.clear();
    this.#there.set(key, hash);
    return isNew ? [secret.name] : [];
  }

  /** Drops the cached knowledge that the Secret of this resource exists. */
  forget({ metadata: { namespace, name } }: Resource): void {
    this.#there.delete(`${namespace}/${pullSecretName(name)}`);
  }

  /** @returns whether no Secret of this name existed before */
  async #make(item: ApplyWork, secret: PullSecret, guard: () => void, signal: AbortSignal): Promise<boolean> {
    const wanted = secretObject(item, secret);
    guard();
    if (await createSecret(this.#client, wanted, signal)) return true;
    const at = { namespace: item.namespace, name: secret.name };
    const found = await this.#client.find<StoredSecret>(RESOURCES.Secret, at, { signal });
    if (found !== undefined && !belongsToDeployment(found, item.deployment_id))
      throw new Refusal('Conflict', `a Secret named ${secret.name} exists that Berth did not create`, true);
    const isThere = found !== undefined && found.metadata.deletionTimestamp === undefined;
    if (isThere && found.type === TYPE && found.data?.[DOCKER_CONFIG] === wanted.data?.[DOCKER_CONFIG])
      return false;
    if (isThere) {
      guard();
      await deleteSecret(this.#client, at, found.metadata.uid, signal);
      guard();
      if (await createSecret(this.#client, wanted, signal)) return false;
    }
    throw secretBeingDeleted(secret.name, found);
  }
}
