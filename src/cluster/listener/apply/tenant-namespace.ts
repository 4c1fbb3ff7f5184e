import type { RenderConfig } from '../../../contract/render/render-config.ts';
import { LABELS, MANAGED_BY } from '../../../contract/resource/names.ts';
import { contentHash } from '../../../domain/core/hash.ts';
import type { TenantQuotas } from '../../../domain/policy/tenant-quotas.ts';
import { CONTAINER_DEFAULTS } from '../../../domain/resource-spec/container-defaults.ts';
import type { KubeClient } from '../../kube/client/client.ts';
import { type Clock, systemClock } from '../../kube/client/clock.ts';
import { isKubeError } from '../../kube/client/errors.ts';
import { RESOURCES } from '../../kube/client/resources.ts';
import { Refusal } from '../refusal.ts';
import { namespaceQuota } from './namespace-quota.ts';
import { namespaceHold } from './purge-holds.ts';

/**
 * Namespaces of tenants (hosting mode `cloud`), one for each tenant: with a Pod Security level, a default-deny
 * NetworkPolicy, a ResourceQuota, and a LimitRange for containers without requests and limits. The namespaces are never
 * deleted, because they may contain objects that tenants created.
 */

export interface TenantNamespaceOptions {
  client: Pick<KubeClient, 'find' | 'create' | 'apply'>;
  podSecurity: RenderConfig['podSecurity'];
  /** Hard limits in addition to those derived from the tenant's quotas; null: no ResourceQuota is created. */
  quota: Readonly<Record<string, string>> | null;
  clock?: Clock;
}

/** The namespace of one tenant. */
export interface TenantNamespace {
  readonly name: string;
  readonly tenantId: string;
  /** The quotas of the tenant; undefined: an older hub does not send them. */
  readonly quotas: TenantQuotas | undefined;
}

const FIELD_MANAGER = 'berth-listener';
/** Interval at which a namespace is set up again, which reverts manual changes. */
const TRUST_MS = 3_600_000;

export class TenantNamespaces {
  readonly #options: TenantNamespaceOptions;
  readonly #clock: Clock;
  /** Time and quota of the last set-up of each namespace. */
  readonly #ensured = new Map<string, { readonly at: number; readonly quota: string }>();
  /** Current set-ups. The set-ups in progress. Two deployments of a tenant share one set-up. */
  readonly #underWay = new Map<string, Promise<void>>();

  constructor(options: TenantNamespaceOptions) {
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
  }

  /**
   * Creates or updates the namespace of a tenant.
   * @throws Refusal Conflict when the namespace does not belong to Berth and this tenant; KubeError
   */
  async ensure(namespace: TenantNamespace, guard: () => void, signal: AbortSignal): Promise<void> {
    const { name, quotas } = namespace;
    const quota = contentHash(quotas ?? null);
    const known = this.#ensured.get(name);
    if (known?.quota === quota && this.#clock.now() - known.at < TRUST_MS) return;
    const id = `${name} ${quota}`;
    let work = this.#underWay.get(id);
    if (work === undefined) {
      work = this.#setUp(namespace, guard, signal).finally(() => this.#underWay.delete(id));
      this.#underWay.set(id, work);
    }
    await work;
    this.#ensured.set(name, { at: this.#clock.now(), quota });
  }

  /** Called when the namespace is missing. */
  forget(name: string): void {
    this.#ensured.delete(name);
  }

  async #setUp(
    { name, tenantId, quotas }: TenantNamespace,
    guard: () => void,
    signal: AbortSignal,
  ): Promise<void> {
    const { client, quota } = this.#options;
    const desired = this.#namespace(name, tenantId);
    let found = await client.find(RESOURCES.Namespace, { name }, { signal });
    if (found === undefined) {
      guard();
      found = await client.create(desired, { fieldManager: FIELD_MANAGER, signal }).catch((error) => {
        if (!isKubeError(error, 'already_exists')) throw error;
        return client.find(RESOURCES.Namespace, { name }, { signal });
      });
    }
    const { labels = {}, uid, deletionTimestamp } = found?.metadata ?? { name };
    if (found === undefined || deletionTimestamp !== undefined) {
      const hold = await namespaceHold(client, name, signal);
      const message = hold?.message ?? `Namespace ${name} is being deleted`;
      throw new Refusal('NamespaceTerminating', message, true);
    }
    if (labels[LABELS.managedBy] !== MANAGED_BY || labels[LABELS.tenantId] !== tenantId) {
      throw new Refusal(
        'Conflict',
        `a namespace ${name} exists that Berth did not create for this tenant`,
        true,
      );
    }
    if (Object.entries(desired.metadata.labels).some(([key, value]) => labels[key] !== value)) {
      guard();
      const metadata = { ...desired.metadata, uid };
      await client.apply({ ...desired, metadata }, { fieldManager: FIELD_MANAGER, signal });
    }
    guard();
    await client.apply(defaultDeny(name), { fieldManager: FIELD_MANAGER, signal });
    if (quota === null) return;
    await client.apply(containerDefaults(name), { fieldManager: FIELD_MANAGER, signal });
    const hard = { ...quota, ...(quotas === undefined ? {} : namespaceQuota(quotas)) };
    await client.apply(quotaObject(name, hard), { fieldManager: FIELD_MANAGER, signal });
  }

  #namespace(name: string, tenantId: string) {
    const level = this.#options.podSecurity;
    return {
      apiVersion: 'v1',
      kind: 'Namespace',
      metadata: {
        name,
        labels: {
          [LABELS.managedBy]: MANAGED_BY,
          [LABELS.tenantId]: tenantId,
          'pod-security.kubernetes.io/enforce': level,
          'pod-security.kubernetes.io/warn': level,
        },
      },
    };
  }
}

const labels = { [LABELS.managedBy]: MANAGED_BY };

/** Denies all traffic except what the NetworkPolicies of the apps allow. */
function defaultDeny(namespace: string) {
  return {
    apiVersion: 'networking.k8s.io/v1',
    kind: 'NetworkPolicy',
    metadata: { name: 'berth-default-deny', namespace, labels },
    spec: { podSelector: {}, policyTypes: ['Ingress', 'Egress'] },
  };
}

function containerDefaults(namespace: string) {
  return {
    apiVersion: 'v1',
    kind: 'LimitRange',
    metadata: { name: 'berth-container-defaults', namespace, labels },
    spec: {
      limits: [
        {
          type: 'Container',
          defaultRequest: CONTAINER_DEFAULTS.requests,
          default: CONTAINER_DEFAULTS.limits,
        },
      ],
    },
  };
}

function quotaObject(namespace: string, hard: Readonly<Record<string, string>>) {
  return {
    apiVersion: 'v1',
    kind: 'ResourceQuota',
    metadata: { name: 'berth-tenant', namespace, labels },
    spec: { hard },
  };
}
