import { useInfiniteQuery } from '@tanstack/react-query';
import { useNavigate, useSearch } from '@tanstack/react-router';
import { useState } from 'react';
import type { Revision } from '../api/types.ts';
import { useFollow } from '../change/use-change.ts';
import { commandLine } from '../commands/commands.ts';
import { ShowCommand } from '../commands/show-command.tsx';
import { useDeployment } from '../deployment/deployment-context.ts';
import { revisionsQuery } from '../deployment/queries.ts';
import { Section } from '../deployment/section.tsx';
import { useFreshness } from '../live/use-freshness.ts';
import { useScope } from '../session/use-scope.ts';
import { useTenantApi } from '../shell/tenant-context.ts';
import { Loading } from '../ui/loading.tsx';
import { MoreButton } from '../ui/more-button.tsx';
import { ProblemNotice } from '../ui/problem-notice.tsx';
import { Comparison } from './comparison.tsx';
import { RepeatDialog, type Repetition } from './repeat-dialog.tsx';
import { RevisionTable } from './revision-table.tsx';
import { otherOf, type RevisionSelection } from './selection.ts';

const ROUTE = '/t/$tenantId/deployments/$deploymentId/revisions';

/** The revisions of a deployment: what differs between two of them, and the way back to one. */
export function RevisionsTab() {
  const { deployment } = useDeployment();
  const { id, name, tenant_id: tenantId } = deployment;
  const { active_revision_id: activeId, latest_revision_id: latestId } = deployment;
  const { from, to } = useSearch({ from: ROUTE });
  const navigate = useNavigate();
  const follow = useFollow();
  const [repetition, setRepetition] = useState<Repetition | null>(null);
  const query = useInfiniteQuery(revisionsQuery(useTenantApi(), id));
  const { isStale } = useFreshness(query);
  const mayWrite = useScope('deployments:write');
  const revisions = query.data?.pages.flatMap(({ revisions }) => revisions) ?? [];
  const go = (search: RevisionSelection) =>
    void navigate({ to: ROUTE, params: { tenantId, deploymentId: id }, search, replace: true });
  const compare = (revision: Revision) =>
    go({ from: otherOf(revision, revisions, latestId), to: revision.id });
  return (
    <>
      {from !== undefined && to !== undefined && (
        <Comparison
          from={from}
          to={to}
          revisions={revisions}
          onChange={(nextFrom, nextTo) => go({ from: nextFrom, to: nextTo })}
          onClose={() => go({})}
        />
      )}
      <Section
        id="revisions"
        title="Revisions"
        command={
          <ShowCommand
            title="List the revisions"
            request={{ path: `/v2/deployments/${id}/revisions`, tenantId }}
            berth={commandLine('berth', 'revisions', 'list', name)}
          />
        }
      >
        {query.isPending && <Loading what="the revisions" />}
        {query.error !== null && <ProblemNotice error={query.error} onRetry={() => void query.refetch()} />}
        {query.data !== undefined && (
          <RevisionTable
            revisions={revisions}
            activeId={activeId}
            latestId={latestId}
            isStale={isStale}
            mayWrite={mayWrite}
            onRepeat={setRepetition}
            onCompare={compare}
          />
        )}
        <MoreButton query={query} text="Show older revisions" />
      </Section>
      {repetition !== null && (
        <RepeatDialog
          {...repetition}
          deployment={deployment}
          onClose={() => setRepetition(null)}
          onDone={(generation) => void follow({ id, tenant_id: tenantId, generation })}
        />
      )}
    </>
  );
}
