import type { ApplyWork } from '../../../contract/protocol/work-protocol.ts';
import { envSecretName, LABELS, MANAGED_BY } from '../../../contract/resource/names.ts';
import type { Logger } from '../../../domain/core/logger.ts';
import { finalizerHold } from '../../../domain/deployment/deletion-hold.ts';
import type { KubeClient } from '../../kube/client/client.ts';
import { isKubeError } from '../../kube/client/errors.ts';
import type { KubeObject } from '../../kube/client/object.ts';
import { RESOURCES } from '../../kube/client/resources.ts';
import { Refusal } from '../refusal.ts';
import type { Resource } from '../resource-view.ts';

/**
 * Secrets that hold the environment of one revision each: immutable, made before the custom resource names them, read
 * back only to see whose they are, removed by name. The listener may not list Secrets. The name tells the revision's
 * number, a label its id: a hub that was restored from a backup gives numbers out again.
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

/** cert-manager's note on a Secret: the Certificate that it was made for. */
const CERTIFICATE_NAME = 'cert-manager.io/certificate-name';
/** Its other note: the hosts that the certificate is for, separated by commas. */
const CERTIFICATE_HOSTS = 'cert-manager.io/alt-names';

/** Bounds the memory of what was made; an entry that falls out costs one call. */
const REMEMBERED = 20_000;

export function isOurs(object: KubeObject, deploymentId: string): boolean {
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
        [LABELS.name]: item.name,
        [LABELS.instance]: item.name,
        [LABELS.partOf]: item.name,
        [LABELS.managedBy]: MANAGED_BY,
        [LABELS.deploymentId]: item.deployment_id,
        [LABELS.tenantId]: item.tenant_id,
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

/** @param found what has the name; undefined: it has just gone, or was never read */
export function beingDeleted(name: string, found?: KubeObject): Refusal {
  const hold = found === undefined ? null : finalizerHold({ ...found, kind: 'Secret' });
  const message = hold?.message ?? `the Secret ${name} is being deleted`;
  return new Refusal(hold?.reason ?? 'ApplyRefused', message, true);
}

export class EnvSecrets {
  readonly #options: EnvSecretOptions;
  /** Ids of the revisions whose environments are known to be there, by place. Only saves calls. */
  readonly #there = new Map<string, string>();

  constructor(options: EnvSecretOptions) {
    this.#options = options;
  }

  /**
   * Makes those of the item that are missing, and anew those of another revision that had the number before.
   * @param repair look even at those that were there before
   * @param guard called before each write
   * @returns the names of the Secrets that did not exist before this call
   * @throws Refusal Conflict when somebody else's Secret has the name; KubeError
   */
  async ensure(item: ApplyWork, repair: boolean, guard: () => void, signal: AbortSignal): Promise<string[]> {
    const created: string[] = [];
    for (const secret of item.env_secrets) {
      const key = `${item.namespace}/${secret.name}`;
      if (!repair && this.#there.get(key) === secret.revision_id) continue;
      if (await this.#make(item, secret, guard, signal)) created.push(secret.name);
      if (this.#there.size >= REMEMBERED) this.#there.clear();
      this.#there.set(key, secret.revision_id);
    }
    return created;
  }

  /** Believes no more that the environment which this resource names is there. */
  forget({ metadata, spec }: Resource): void {
    this.#there.delete(`${metadata.namespace}/${spec?.revision?.envSecretName}`);
  }

  /** @returns whether there was no Secret of this name before */
  async #make(
    item: ApplyWork,
    secret: Environment,
    guard: () => void,
    signal: AbortSignal,
  ): Promise<boolean> {
    guard();
    if (await this.#create(item, secret, signal)) return true;
    const at = { namespace: item.namespace, name: secret.name };
    const found = await this.#options.client.find(RESOURCES.Secret, at, { signal });
    if (found === undefined || found.metadata.deletionTimestamp !== undefined) {
      throw beingDeleted(secret.name, found);
    }
    if (!isOurs(found, item.deployment_id)) {
      throw new Refusal('Conflict', `a Secret named ${secret.name} exists that Berth did not make`, true);
    }
    if (found.metadata.labels?.[LABELS.revisionId] === secret.revision_id) return false;
    const fields = { deploymentId: item.deployment_id, name: secret.name, revisionId: secret.revision_id };
    this.#options.logger.warn(fields, 'an environment is of another revision with this number; made anew');
    guard();
    await this.#delete(at, found.metadata.uid, signal);
    guard();
    if (await this.#create(item, secret, signal)) return false;
    throw beingDeleted(secret.name);
  }

  /** @returns false: there is one of this name */
  async #create(item: ApplyWork, secret: Environment, signal: AbortSignal): Promise<boolean> {
    try {
      await this.#options.client.create(secretObject(item, secret), { signal });
      return true;
    } catch (error) {
      if (!isKubeError(error, 'already_exists')) throw error;
      return false;
    }
  }

  /**
   * Removes Secrets of this deployment by name; ones that are missing or somebody else's are passed over.
   * @returns those that finalizers keep: they go when the last finalizer does
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
      if (found === undefined || !isOurs(found, owner.deployment_id)) continue;
      if ((found.metadata.finalizers ?? []).length > 0) kept.push(found);
      if (found.metadata.deletionTimestamp !== undefined) continue;
      guard();
      await this.#delete(at, found.metadata.uid, signal);
    }
    return kept;
  }

  /**
   * Removes the certificate that cert-manager keeps of a Certificate that is gone. It bears none of our labels: it was
   * made for our route, which alone asked for a Certificate of this name.
   * @param host a certificate of it stays, and one of which it is not known; null: none stays
   * @returns the one that was there and is removed, or is kept by its finalizers; undefined: none was
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
    await this.#delete(at, found.metadata.uid, signal);
    return found;
  }

  async #delete(at: { namespace: string; name: string }, uid: string | undefined, signal: AbortSignal) {
    try {
      await this.#options.client.delete(RESOURCES.Secret, at, { uid, signal });
    } catch (error) {
      // Gone, or another one of the name by now.
      if (!isKubeError(error, 'not_found', 'conflict')) throw error;
    }
  }

  /**
   * As `remove`, for environments of revisions that nobody needs any more: a failure is logged and left to the next time.
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
