import type { WorkItem } from '../../../contract/protocol/work-protocol.ts';
import { type IdentityState, identitySecretName, LABELS } from '../../../contract/resource/names.ts';
import type { KubeClient } from '../../kube/client/client.ts';
import type { KubeObject } from '../../kube/client/object.ts';
import { RESOURCES } from '../../kube/client/resources.ts';
import { Refusal } from '../refusal.ts';
import { createSecret, deleteSecret, secretLabels } from './secret-writes.ts';

/**
 * The listener's records of identities (decision 0061): Secrets without data, one for each name. The operator trusts
 * these records, because an account that may only write custom resources cannot create them. The listener writes a
 * record when the operator has blocked a resource of the hub because of its identity, and when a deployment is deleted
 * with its workloads kept.
 */

type Place = Pick<WorkItem, 'deployment_id' | 'tenant_id' | 'namespace' | 'name'>;

function record(item: Place, state: IdentityState) {
  return {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: {
      name: identitySecretName(item.name),
      namespace: item.namespace,
      labels: {
        ...secretLabels(item),
        [LABELS.identity]: state,
      },
    },
    type: 'Opaque',
    immutable: true,
  };
}

export class IdentityRecords {
  readonly #client: Pick<KubeClient, 'create' | 'find' | 'delete'>;

  constructor(client: Pick<KubeClient, 'create' | 'find' | 'delete'>) {
    this.#client = client;
  }

  /**
   * Records that the name belongs to this deployment, and replaces another record of the name.
   * @param guard called before each write
   * @throws Refusal Conflict when a Secret that Berth did not create has the name; KubeError
   */
  async put(item: Place, state: IdentityState, guard: () => void, signal: AbortSignal): Promise<void> {
    const wanted = record(item, state);
    guard();
    if (await createSecret(this.#client, wanted, signal)) return;
    const at = { namespace: item.namespace, name: wanted.metadata.name };
    const found = await this.#client.find<KubeObject>(RESOURCES.Secret, at, { signal });
    const { labels = {}, uid } = found?.metadata ?? {};
    if (labels[LABELS.identity] === state && labels[LABELS.deploymentId] === item.deployment_id) return;
    if (found !== undefined && labels[LABELS.identity] === undefined) {
      throw new Refusal('Conflict', `a Secret named ${at.name} exists that Berth did not create`, true);
    }
    guard();
    await deleteSecret(this.#client, at, uid, signal);
    guard();
    if (await createSecret(this.#client, wanted, signal)) return;
    throw new Refusal('ApplyRefused', `the Secret ${at.name} is being deleted`, true);
  }
}
