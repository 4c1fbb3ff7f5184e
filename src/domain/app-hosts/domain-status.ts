import { z } from 'zod';

/** What was observed of an additional host. */

export const DOMAIN_STATES = ['READY', 'PENDING', 'REFUSED', 'UNKNOWN'] as const;
export type DomainState = (typeof DOMAIN_STATES)[number];
export const PROOF_STATES = ['READY', 'PENDING', 'UNKNOWN', 'NOT_REQUIRED'] as const;
export type ProofState = (typeof PROOF_STATES)[number];

/** Maximum length of the message of a host. */
export const MAX_DOMAIN_MESSAGE = 512;

export const dnsStateSchema = z
  .enum(['READY', 'PENDING', 'UNKNOWN'])
  .describe(
    'READY: the host has an address. PENDING: it has none. UNKNOWN: not looked up yet, or the DNS server does not answer.',
  );
export const proofStateSchema = z
  .enum(PROOF_STATES)
  .describe(
    'READY: the TXT record was found. PENDING: it was not found yet. NOT_REQUIRED: the policy asks for no proof. UNKNOWN: not ' +
      'looked up yet, or the DNS server does not answer.',
  );
export const certificateStateSchema = z
  .enum(['READY', 'PENDING', 'UNKNOWN'])
  .describe(
    'READY: cert-manager reports a valid certificate. PENDING: it reports none yet. UNKNOWN: not observed, for example because ' +
      'the Gateway or the ingress controller has the certificate.',
  );
export const routeStateSchema = z
  .enum(DOMAIN_STATES)
  .describe(
    'READY: the route exists, and its Gateway has accepted it. PENDING: it is being created, or waits for the proof. REFUSED: ' +
      'the policy, the Gateway or another deployment prevents it. UNKNOWN: not observed.',
  );

/** The observed state of one host, as operator and listener report it. */
export const observedDomainSchema = z.object({
  host: z.string().max(253).describe('Host.'),
  dns: dnsStateSchema,
  proof: proofStateSchema,
  certificate: certificateStateSchema,
  route: routeStateSchema,
  message: z
    .string()
    .max(MAX_DOMAIN_MESSAGE)
    .optional()
    .describe('Why the host is not ready. Absent: nothing is missing.'),
});
export type ObservedDomain = z.infer<typeof observedDomainSchema>;

/** The observed hosts of a deployment. */
export interface DomainsReport {
  /** The generation that the operator used for this observation. */
  readonly generation: number;
  readonly hosts: readonly ObservedDomain[];
}

/** The state of a host that is not observed. */
export const unobservedDomain = (host: string): ObservedDomain => ({
  host,
  dns: 'UNKNOWN',
  proof: 'UNKNOWN',
  certificate: 'UNKNOWN',
  route: 'UNKNOWN',
});
