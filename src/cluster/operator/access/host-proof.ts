import { type Challenge, challengeOf } from '../../../domain/app-hosts/challenge.ts';
import { keyOf, type UntypedObject } from '../../kube/client/object.ts';
import type { ObservedResource } from '../observed.ts';

/** Whether a custom resource has proven that a host belongs to it. */

type StatusHost = NonNullable<NonNullable<ObservedResource['status']>['domains']>['hosts'][number];

export interface ProofRules {
  /**
   * Whether the last lookup for a custom resource has found this value in the TXT record of the host. Absent: this operator
   * looks up no hosts.
   */
  readonly isFound?: ((key: string, host: string, value: string) => boolean) | undefined;
}

/** What the status of a custom resource records of a host. */
export function recordedHost(
  { status }: UntypedObject | ObservedResource,
  host: string,
): StatusHost | undefined {
  return (status as ObservedResource['status'])?.domains?.hosts.find((each) => each.host === host);
}

/** The TXT record of a host for a custom resource. The namespace cannot be chosen by its writer, unlike the token. */
export function challengeFor({ spec, metadata }: UntypedObject | ObservedResource, host: string): Challenge {
  const { domainToken } = (spec as ObservedResource['spec'] | undefined)?.routing ?? {};
  return challengeOf(host, metadata.namespace ?? '', domainToken);
}

/** Whether the status records that the TXT record with the present value was found. */
export function isRecorded(resource: UntypedObject | ObservedResource, host: string): boolean {
  return recordedHost(resource, host)?.challenge === challengeFor(resource, host).value;
}

/** Whether the TXT record was found, now or before. A proof counts for all resources before it is recorded. */
export function isProven(host: string, resource: UntypedObject, { isFound }: ProofRules): boolean {
  if (isRecorded(resource, host)) return true;
  return isFound?.(keyOf(resource), host, challengeFor(resource, host).value) === true;
}
