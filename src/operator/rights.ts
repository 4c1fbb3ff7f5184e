import type { KubeClient } from '../kube/client.ts';
import { type KnownKind, RESOURCES } from '../kube/resources.ts';
import type { ChildKindName } from './kinds.ts';

/** One right: a verb on a resource of an API group, or on a subresource of it. */
export interface Right {
  readonly verb: string;
  readonly group: string;
  readonly resource: string;
  readonly subresource?: string;
}

function rights(kind: KnownKind, verbs: readonly string[], subresource?: string): Right[] {
  const { group, plural } = RESOURCES[kind];
  return verbs.map((verb) => ({
    verb,
    group,
    resource: plural,
    ...(subresource === undefined ? {} : { subresource }),
  }));
}

const MANAGED = ['get', 'list', 'watch', 'create', 'patch', 'delete'];

/** Rights on each kind of child. `get`: to see whose an object is that bars the way of a new one. */
const CHILD_VERBS: Readonly<Record<ChildKindName, readonly string[]>> = {
  Deployment: MANAGED,
  StatefulSet: MANAGED,
  Service: MANAGED,
  ServiceAccount: MANAGED,
  HorizontalPodAutoscaler: MANAGED,
  PodDisruptionBudget: MANAGED,
  NetworkPolicy: MANAGED,
  Ingress: MANAGED,
  HTTPRoute: MANAGED,
  // Data: made, grown, never deleted.
  PersistentVolumeClaim: ['get', 'list', 'watch', 'create', 'patch'],
  ControllerRevision: ['get', 'list', 'watch', 'create', 'delete'],
  Pod: ['list', 'watch'],
};

/** Every right that the operator uses in the namespaces it works in; `manifests/` grants exactly these. */
export function neededRights(kinds: readonly ChildKindName[]): Right[] {
  return [
    ...rights('ManagedDeployment', ['get', 'list', 'watch']),
    ...rights('ManagedDeployment', ['update'], 'status'),
    // The owner references block the owner's deletion.
    ...rights('ManagedDeployment', ['update'], 'finalizers'),
    ...kinds.flatMap((kind) => rights(kind, CHILD_VERBS[kind])),
    ...rights('Secret', ['create', 'get']),
    ...rights('Event', ['create', 'patch']),
  ];
}

/** Rights in the namespace of the leader election's Lease. */
export function leaseRights(): Right[] {
  return rights('Lease', ['get', 'create', 'update']);
}

/** `patch deployments.apps`, as `kubectl auth can-i` takes it. */
export function describeRight({ verb, group, resource, subresource }: Right): string {
  const name = group === '' ? resource : `${resource}.${group}`;
  return `${verb} ${name}${subresource === undefined ? '' : `/${subresource}`}`;
}

interface AccessReview {
  apiVersion: string;
  kind: string;
  metadata: { name: string };
  spec: object;
  status?: { allowed?: boolean };
}

/**
 * Those of the rights that the API server denies this account.
 * @param namespace absent: in all namespaces
 */
export async function missingRights(
  client: Pick<KubeClient, 'request'>,
  wanted: readonly Right[],
  namespace: string | undefined,
  signal: AbortSignal,
): Promise<Right[]> {
  const answers = await Promise.all(
    wanted.map(async (right) => {
      const review = {
        apiVersion: 'authorization.k8s.io/v1',
        kind: 'SelfSubjectAccessReview',
        spec: { resourceAttributes: { ...right, ...(namespace === undefined ? {} : { namespace }) } },
      };
      const { body } = await client.request(
        'POST',
        '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews',
        { body: review, contentType: 'application/json', signal },
      );
      return (body as AccessReview).status?.allowed === true;
    }),
  );
  return wanted.filter((_, index) => answers[index] !== true);
}
