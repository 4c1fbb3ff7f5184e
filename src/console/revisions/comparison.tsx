import { useQuery } from '@tanstack/react-query';
import type { Revision } from '../api/types.ts';
import { ShowCommand } from '../commands/show-command.tsx';
import { useDeployment } from '../deployment/deployment-context.ts';
import { Section } from '../deployment/section.tsx';
import { useTenantApi } from '../shell/tenant-context.ts';
import { Button } from '../ui/button.tsx';
import { ChoiceField } from '../ui/fields/choice-field.tsx';
import { Loading } from '../ui/loading.tsx';
import { ProblemNotice } from '../ui/problem-notice.tsx';
import { DifferenceTable } from './difference-table.tsx';
import { differences, knowsSecrets } from './differences.ts';
import { revisionQuery } from './queries.ts';
import styles from './revisions.module.css';

const titleOf = ({ number }: Revision) => `Revision ${number}`;

function Differences({ from, to }: { readonly from: Revision; readonly to: Revision }) {
  const rows = differences(from, to);
  return (
    <>
      {rows.length === 0 && <p role="status">These revisions have the same content.</p>}
      {rows.length > 0 && (
        <DifferenceTable label="Differences" from={titleOf(from)} to={titleOf(to)} rows={rows} />
      )}
      <p className={styles['unset']}>
        {knowsSecrets(from, to)
          ? 'Secrets are compared by name. Their values are not compared.'
          : 'Secrets are not compared, because those of one revision are no longer stored or cannot be decrypted.'}
      </p>
    </>
  );
}

interface ComparisonProps {
  /** Ids of the revisions. */
  readonly from: string;
  readonly to: string;
  /** The revisions that can be chosen. */
  readonly revisions: readonly Revision[];
  readonly onChange: (from: string, to: string) => void;
  readonly onClose: () => void;
}

/** Differences between two revisions, which the URL names. */
export function Comparison({ from, to, revisions, onChange, onClose }: ComparisonProps) {
  const { id, tenant_id: tenantId } = useDeployment().deployment;
  const api = useTenantApi();
  const queries = [useQuery(revisionQuery(api, id, from)), useQuery(revisionQuery(api, id, to))] as const;
  const loaded = queries.flatMap(({ data }) => data ?? []);
  const all = new Map([...loaded, ...revisions].map((each) => [each.id, each]));
  const choices = [...all.values()]
    .toSorted((a, b) => b.number - a.number)
    .map((each) => [each.id, `${titleOf(each)}, ${each.status}`] as const);
  const error = queries[0].error ?? queries[1].error;
  const [one, other] = [queries[0].data, queries[1].data];
  return (
    <Section
      id="comparison"
      title="Differences"
      command={
        <ShowCommand
          title="Get the revision that is compared"
          request={{ path: `/v2/deployments/${id}/revisions/${to}`, tenantId }}
        />
      }
    >
      <div className={styles['choices']}>
        <ChoiceField label="From" value={from} choices={choices} onChange={(next) => onChange(next, to)} />
        <ChoiceField label="To" value={to} choices={choices} onChange={(next) => onChange(from, next)} />
        <Button onClick={() => onChange(to, from)}>Swap</Button>
        <Button onClick={onClose}>Close the comparison</Button>
      </div>
      {error !== null && (
        <ProblemNotice error={error} onRetry={() => queries.forEach((query) => void query.refetch())} />
      )}
      {error === null && (one === undefined || other === undefined) && <Loading what="the differences" />}
      {one !== undefined && other !== undefined && <Differences from={one} to={other} />}
    </Section>
  );
}
