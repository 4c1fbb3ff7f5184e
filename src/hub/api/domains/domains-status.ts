import { z } from 'zod';
import { type Challenge, challengeOf } from '../../../domain/app-hosts/challenge.ts';
import { observedDomainSchema, unobservedDomain } from '../../../domain/app-hosts/domain-status.ts';
import type { DeploymentRecord } from '../../store/core/records.ts';
import { removedSince } from '../deployments/deployment-conditions.ts';

/** `domains_status` of a deployment: what was observed of each additional host, and the TXT record that proves it. */

const challengeSchema = z
  .object({
    name: z.string().describe('Name of the TXT record.'),
    value: z
      .string()
      .describe('Value of the TXT record. It is the same for all hosts of the tenant in this namespace.'),
  })
  .meta({
    id: 'DomainChallenge',
    description:
      'TXT record that proves that the host belongs to the tenant. It is needed where the policy asks for proof.',
  });

const domainStatusSchema = z
  .object({ ...observedDomainSchema.shape, challenge: challengeSchema })
  .meta({ id: 'DomainStatus', description: 'Observed state of one of the domains.' });

export const domainsStatusSchema = z
  .array(domainStatusSchema)
  .optional()
  .describe('State of each of source_config.domains, in their order. Absent: there are no domains.');
type ShownDomain = z.infer<typeof domainStatusSchema>;

/**
 * The hosts that the cluster reports. Empty if the deployment is not observed now, or if the report is about an earlier
 * desired state, in which the host may have belonged to another deployment.
 */
function reported({ listener, observation, generation, status, ...record }: DeploymentRecord, now: Date) {
  const { alive, unseen = null } = listener;
  const isObserved = alive && unseen === null && status !== 'UNKNOWN';
  const isLeaving = removedSince(record, now) !== null || record.deleteRequestedAt !== null;
  const domains = observation?.domains ?? null;
  return isObserved && !isLeaving && domains?.generation === generation ? domains.hosts : [];
}

/** The field of a response. Absent: the deployment has no additional hosts. */
export function shownDomains(record: DeploymentRecord, now: Date): { domains_status?: ShownDomain[] } {
  const { domains = [] } = record.sourceConfig;
  if (domains.length === 0) return {};
  const seen = new Map(reported(record, now).map((domain) => [domain.host, domain]));
  const { namespace, domainToken } = record;
  const shown = domains.map((host): ShownDomain => {
    const challenge: Challenge = challengeOf(host, namespace, domainToken ?? undefined);
    return { ...(seen.get(host) ?? unobservedDomain(host)), challenge };
  });
  return { domains_status: shown };
}
