import type { DomainStatus } from '../api/types.ts';
import { Mark } from '../ui/mark.tsx';
import { ScrollTable } from '../ui/scroll-table.tsx';
import { useDeployment } from './deployment-context.ts';
import { toneOfDomain } from './domain-tone.ts';
import { Section } from './section.tsx';

const PARTS = ['dns', 'proof', 'certificate', 'route'] as const;
const COLUMNS = ['Host', 'DNS', 'Proof', 'Certificate', 'Route', 'What is missing'];

/** The TXT record that proves the host, as long as it is missing. */
function Challenge({ challenge }: Pick<DomainStatus, 'challenge'>) {
  return (
    <p>
      Create this TXT record: <code>{challenge.name}</code> with the value <code>{challenge.value}</code>
    </p>
  );
}

function Row({ domain, isStale }: { readonly domain: DomainStatus; readonly isStale: boolean }) {
  return (
    <tr>
      <th scope="row">{domain.host}</th>
      {PARTS.map((part) => (
        <td key={part}>
          <Mark
            tone={isStale ? 'unsure' : toneOfDomain(domain[part])}
            text={isStale ? `last known: ${domain[part]}` : domain[part]}
          />
        </td>
      ))}
      <td>
        <bdi>{domain.message ?? '–'}</bdi>
        {domain.proof === 'PENDING' && <Challenge challenge={domain.challenge} />}
      </td>
    </tr>
  );
}

/** What is observed of the additional hosts of a deployment. */
export function Domains() {
  const { deployment, isStale } = useDeployment();
  const domains = deployment.domains_status ?? [];
  if (domains.length === 0) return null;
  return (
    <Section id="domains" title="Additional hosts">
      <ScrollTable label="Additional hosts" columns={COLUMNS}>
        {domains.map((domain) => (
          <Row key={domain.host} domain={domain} isStale={isStale} />
        ))}
      </ScrollTable>
    </Section>
  );
}
