import {
  type DefinitionDifference,
  definitionDifference,
  olderDefinition,
  SERVED_AT,
  upgradeDefinition,
} from '../../contract/crd/served-definition.ts';
import { MANAGED_DEPLOYMENT } from '../../contract/resource/definition.ts';
import type { KubeClient } from '../kube/client/client.ts';
import { type Clock, sleep } from '../kube/client/clock.ts';
import { hasResource } from '../kube/client/discovery.ts';
import { apiVersionOf } from '../kube/client/resources.ts';
import { describeRight, missingRights } from '../kube/client/rights.ts';
import { CHILD_KIND_NAMES, CHILD_KINDS, type ChildKindName } from './kinds.ts';
import { buildRights, leaseRights, markerKeyRights, neededRights } from './rights.ts';

/** The cluster is not prepared for the operator. The message contains the next step. A retry does not help. */
export class OperatorStartError extends Error {
  override readonly name = 'OperatorStartError';
}

export interface PreflightOptions {
  client: Pick<KubeClient, 'request'>;
  /** Namespaces that the operator watches; empty: all namespaces. */
  namespaces: readonly string[];
  leaseNamespace: string;
  /** Namespace of builds; absent: this operator does not build. */
  buildNamespace?: string | undefined;
  clock: Clock;
}

const SHOWN_RIGHTS = 5;

/**
 * Checks at the start whether the cluster has the custom resource and grants the rights that the operator needs.
 * @returns the kinds of children that this cluster has
 * @throws OperatorStartError when the custom resource, a field of it or a right is missing; KubeError when the API server does not respond
 */
export async function preflight(options: PreflightOptions, signal: AbortSignal): Promise<ChildKindName[]> {
  const { client, namespaces, leaseNamespace, buildNamespace } = options;
  const { apiVersion, plural, group } = MANAGED_DEPLOYMENT;
  if (!(await hasResource(client, apiVersion, plural, signal))) {
    throw new OperatorStartError(
      `failed to start the operator: the cluster has no ${plural}.${group}. Install the CustomResourceDefinition: ` +
        `kubectl apply -f crds/`,
    );
  }
  await checkFields(options, signal);
  const kinds = await availableKinds(client, CHILD_KIND_NAMES, signal);
  const wanted = neededRights(kinds);
  const scopes = namespaces.length === 0 ? [undefined] : namespaces;
  const missing = await Promise.all([
    ...scopes.map(async (namespace) =>
      sentences(await missingRights(client, wanted, namespace, signal), namespace),
    ),
    missingRights(client, [...leaseRights(), ...markerKeyRights()], leaseNamespace, signal).then((found) =>
      sentences(found, leaseNamespace),
    ),
    buildNamespace === undefined
      ? []
      : missingRights(client, buildRights(), buildNamespace, signal).then((found) =>
          sentences(found, buildNamespace),
        ),
  ]);
  const [first, ...others] = missing.flat();
  if (first === undefined) return kinds;
  const shown = [first, ...others].slice(0, SHOWN_RIGHTS).join(', ');
  const more = others.length < SHOWN_RIGHTS ? '' : ` and ${others.length + 1 - SHOWN_RIGHTS} more`;
  throw new OperatorStartError(
    `failed to start the operator: its account may not ${shown}${more}. Grant these rights: run helm upgrade, or ` +
      `kubectl apply with the manifests that were rendered for this installation (docs/install.md)`,
  );
}

/** The API server publishes an upgraded CustomResourceDefinition with a short delay. */
const DISCOVERY_DELAY_MS = 5_000;

/**
 * Checks that the CustomResourceDefinition has all fields of the status. The API server rejects a status with an unknown
 * field, and a rollout cannot continue without its status.
 * @throws OperatorStartError
 */
async function checkFields({ client, clock }: PreflightOptions, signal: AbortSignal): Promise<void> {
  if (!isOlder(await difference())) return;
  await sleep(clock, DISCOVERY_DELAY_MS, signal);
  const found = signal.aborted ? null : await difference();
  if (!isOlder(found)) return;
  throw new OperatorStartError(
    `failed to start the operator: ${olderDefinition('this program', statusFields(found))}; ${upgradeDefinition('this program')}`,
  );

  /** null: not known. A cluster that does not publish the fields of the definition may have all of them. */
  async function difference(): Promise<DefinitionDifference | null> {
    try {
      return definitionDifference((await client.request('GET', SERVED_AT, { signal })).body);
    } catch {
      return null;
    }
  }
}

/**
 * A missing field of the spec is not an error here, because users cannot set it, and the listener reports it to the
 * hub.
 */
const statusFields = ({ lacks }: DefinitionDifference) =>
  lacks.filter((field) => field === 'status' || field.startsWith('status.'));

function isOlder(difference: DefinitionDifference | null): difference is DefinitionDifference {
  return difference !== null && statusFields(difference).length > 0;
}

function sentences(
  missing: readonly Parameters<typeof describeRight>[0][],
  namespace: string | undefined,
): string[] {
  const where = namespace === undefined ? '' : ` in ${namespace}`;
  return missing.map((right) => `${describeRight(right)}${where}`);
}

/**
 * Returns the kinds of `all` that the cluster has. Only optional kinds cause a request.
 * @throws KubeError when the API server does not respond
 */
export async function availableKinds(
  client: Pick<KubeClient, 'request'>,
  all: readonly ChildKindName[],
  signal: AbortSignal,
): Promise<ChildKindName[]> {
  const present = await Promise.all(
    all.map((kind) => {
      const { optional, resource } = CHILD_KINDS[kind];
      return !optional || hasResource(client, apiVersionOf(resource), resource.plural, signal);
    }),
  );
  return all.filter((_, index) => present[index]);
}
