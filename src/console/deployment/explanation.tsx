import { useQuery } from '@tanstack/react-query';
import type { Explanation } from '../api/types.ts';
import { commandLine } from '../commands/commands.ts';
import { ShowCommand } from '../commands/show-command.tsx';
import { useFreshness } from '../live/use-freshness.ts';
import { useTenantApi } from '../shell/tenant-context.ts';
import { Loading } from '../ui/loading.tsx';
import { Mark } from '../ui/mark.tsx';
import { ProblemNotice } from '../ui/problem-notice.tsx';
import { durationText } from '../ui/time-text.ts';
import styles from './deployment.module.css';
import { useDeployment } from './deployment-context.ts';
import { explanationQuery } from './queries.ts';
import { toneOfRevision } from './status.ts';

/** When the cluster was observed, if that is not now. */
function Knowledge({ knowledge: { current, age_seconds: age } }: Pick<Explanation, 'knowledge'>) {
  if (current) return null;
  const since = age === null ? 'has never been observed' : `was last observed ${durationText(age)} ago`;
  return <p className={styles['old']}>The cluster {since}, so this may no longer be true.</p>;
}

function Answer({ explanation, isStale }: { readonly explanation: Explanation; readonly isStale: boolean }) {
  const { number, status, summary, remedy, effects } = explanation;
  return (
    <>
      <p>
        Revision {number}:{' '}
        <Mark
          tone={isStale ? 'unsure' : toneOfRevision(status)}
          text={isStale ? `last known: ${status}` : status}
        />
      </p>
      <p className={styles['summary']}>{summary}</p>
      {remedy !== null && (
        <p>
          <strong>{remedy.kind === 'wait' ? 'Wait' : 'What to do'}:</strong> {remedy.text}
        </p>
      )}
      {effects.length > 0 && (
        <ul>
          {effects.map((effect) => (
            <li key={effect}>{effect}</li>
          ))}
        </ul>
      )}
      <Knowledge knowledge={explanation.knowledge} />
    </>
  );
}

/** Why the latest revision is in its state, and what to do. */
export function ExplanationSection() {
  const { deployment } = useDeployment();
  const { id, tenant_id: tenantId, name, latest_revision_id: revisionId } = deployment;
  const query = useQuery({
    ...explanationQuery(useTenantApi(), id, revisionId ?? ''),
    enabled: revisionId !== null,
  });
  const freshness = useFreshness(query);
  const { data, error } = query;
  if (revisionId === null) return <p>This deployment has no revision yet.</p>;
  return (
    <section aria-labelledby="explanation" className={styles['section']}>
      <div className={styles['sectionHead']}>
        <h2 id="explanation">What happens</h2>
        <ShowCommand
          title="Explain the latest revision"
          request={{ path: `/v2/deployments/${id}/revisions/${revisionId}/explain`, tenantId }}
          berth={commandLine('berth', 'revisions', 'explain', name)}
          kubectl={commandLine('kubectl', 'describe', 'mdep', '-A', '-l', `berth.dev/deployment-id=${id}`)}
        />
      </div>
      {query.isPending && <Loading what="the explanation" />}
      {error !== null && <ProblemNotice error={error} onRetry={() => void query.refetch()} />}
      {data !== undefined && <Answer explanation={data} isStale={freshness.isStale} />}
    </section>
  );
}
