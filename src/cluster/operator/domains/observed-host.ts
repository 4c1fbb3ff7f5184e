import type { Challenge } from '../../../domain/app-hosts/challenge.ts';
import type { CertificateFacts } from './certificate-facts.ts';

/** What is known of one host from lookups. */
export interface HostFacts {
  /** Whether the host has an address in DNS; null: not known. Addresses are not kept, because many change all the time. */
  readonly hasAddress: boolean | null;
  /** Whether the TXT record was found; null: not known, or not looked up. */
  readonly proven: boolean | null;
  /** null: not known, or not looked up. */
  readonly certificate: CertificateFacts | null;
}

/** An additional host of a custom resource. */
export interface ObservedHost {
  readonly host: string;
  /** Name of its route object. */
  readonly routeName: string;
  /** Why the deployment may not have the host; null: it may. */
  readonly refused: string | null;
  /** The TXT record that must exist before the host is routed; null: the policy asks for no proof. */
  readonly challenge: Challenge | null;
  /** Whether the TXT record was found, now or before; true if the policy asks for no proof. */
  readonly proven: boolean;
  /** Whether the host was routed before the policy asked for proof, and lacks the proof. */
  readonly routedBeforeProof: boolean;
  /** Whether a route of the custom resource has the host. */
  readonly routed: boolean;
  /** The last results; undefined: the host was not looked up since this process leads. */
  readonly facts: HostFacts | undefined;
}

/** Whether a host may be routed. A stricter policy takes down no app that serves, but it allows no new route. */
export const isAdmitted = ({ refused, proven, routedBeforeProof, routed }: ObservedHost): boolean =>
  refused === null && (proven || (routedBeforeProof && routed));
