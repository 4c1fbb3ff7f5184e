import { useQuery } from '@tanstack/react-query';
import type { Explanation } from '../api/types.ts';
import { commandLine } from '../commands/commands.ts';
import { ShowCommand } from '../commands/show-command.tsx';
import { useFreshness } from '../live/use-freshness.ts';
import { useTenantApi } from '../shell/tenant-context.ts';
import { Loading } from '../ui/loading.tsx';
import { ProblemNotice } from '../ui/problem-notice.tsx';
import { durationText } from '../ui/time-text.ts';
import styles from './deployment.module.css';
import { useDeployment } from './deployment-context.ts';
import { describeResource } from './describe-resource.ts';
import { explanationQuery } from './queries.ts';
import { Section } from './section.tsx';
import { RevisionMark } from './status-mark.tsx';

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
        Revision {number}: <RevisionMark status={status} isStale={isStale} />
      </p>
      <p className={styles['summary']}>{summary}</p>
      {remedy !== null && (
        <p>
          <strong>{remedy.kind === 'wait' ? 'Wait' : 'What to do'}:</strong> <bdi>{remedy.text}</bdi>
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
    <Section
      id="explanation"
      title="What happens"
      command={
        <ShowCommand
          title="Explain the latest revision"
          request={{ path: `/v2/deployments/${id}/revisions/${revisionId}/explain`, tenantId }}
          berth={commandLine('berth', 'revisions', 'explain', name)}
          kubectl={describeResource(id)}
        />
      }
    >
      {query.isPending && <Loading what="the explanation" />}
      {error !== null && <ProblemNotice error={error} onRetry={() => void query.refetch()} />}
      {data !== undefined && <Answer explanation={data} isStale={freshness.isStale} />}
    </Section>
  );
}
