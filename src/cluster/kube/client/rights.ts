import type { KubeClient } from './client.ts';
import { type KnownKind, RESOURCES } from './resources.ts';

/** Rights of an account, and which of them the API server grants. */

/** One right: a verb on a resource or subresource of an API group. */
export interface Right {
  readonly verb: string;
  readonly group: string;
  readonly resource: string;
  readonly subresource?: string;
  /** The only object that the right is needed for; absent: all objects. */
  readonly name?: string;
}

/** All `verbs` on a kind, or on its subresource. */
export function rightsOn(kind: KnownKind, verbs: readonly string[], subresource?: string): Right[] {
  const { group, plural } = RESOURCES[kind];
  return verbs.map((verb) => ({
    verb,
    group,
    resource: plural,
    ...(subresource === undefined ? {} : { subresource }),
  }));
}

/** `patch deployments.apps`, in the notation of `kubectl auth can-i`. */
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
 * The rights that the API server denies this account.
 * @param namespace absent: checks the rights in all namespaces
 * @throws KubeError when the API server does not respond
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
