import { useQuery } from '@tanstack/react-query';
import { ShowCommand } from '../commands/show-command.tsx';
import { useDeployment } from '../deployment/deployment-context.ts';
import { Section } from '../deployment/section.tsx';
import { useFreshness } from '../live/use-freshness.ts';
import { useTenantApi } from '../shell/tenant-context.ts';
import { newestEventsQuery } from '../timeline/queries.ts';
import { StepList } from '../timeline/step-list.tsx';
import { isFinal } from '../timeline/steps.ts';
import { Button } from '../ui/button.tsx';
import { Loading } from '../ui/loading.tsx';
import { LongText } from '../ui/long-text.tsx';
import { ProblemNotice } from '../ui/problem-notice.tsx';
import { revisionQuery } from './queries.ts';

/** The rollout of a revision that was just created, to its end. */
export function Following({
  revisionId,
  onClose,
}: {
  readonly revisionId: string;
  readonly onClose: () => void;
}) {
  const { id, tenant_id: tenantId } = useDeployment().deployment;
  const api = useTenantApi();
  const query = useQuery(revisionQuery(api, id, revisionId));
  const events = useQuery(newestEventsQuery(api, id));
  const { isStale } = useFreshness(query);
  const error = query.error ?? events.error;
  const { data: revision } = query;
  return (
    <Section
      id="following"
      title={revision === undefined ? 'Rollout' : `Rollout of revision ${revision.number}`}
      command={
        <ShowCommand
          title="Get this revision"
          request={{ path: `/v2/deployments/${id}/revisions/${revisionId}`, tenantId }}
        />
      }
    >
      {error !== null && <ProblemNotice error={error} onRetry={() => void query.refetch()} />}
      {query.isPending && <Loading what="the revision" />}
      {revision !== undefined && (
        <>
          <p role="status">
            {revision.status}
            {!isFinal(revision.status) && ' …'}
          </p>
          {revision.message !== null && (
            <p>
              <LongText text={revision.message} />
            </p>
          )}
          {events.data !== undefined && (
            <StepList revision={revision} events={events.data} isStale={isStale} />
          )}
        </>
      )}
      <p>
        <Button onClick={onClose}>Close</Button>
      </p>
    </Section>
  );
}
