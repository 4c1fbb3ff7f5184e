import { useInfiniteQuery } from '@tanstack/react-query';
import type { Revision } from '../api/types.ts';
import { commandLine } from '../commands/commands.ts';
import { ShowCommand } from '../commands/show-command.tsx';
import { useFreshness } from '../live/use-freshness.ts';
import { useTenantApi } from '../shell/tenant-context.ts';
import { Loading } from '../ui/loading.tsx';
import { MoreButton } from '../ui/more-button.tsx';
import { ProblemNotice } from '../ui/problem-notice.tsx';
import { ScrollTable } from '../ui/scroll-table.tsx';
import { Time } from '../ui/time.tsx';
import { useDeployment } from './deployment-context.ts';
import { revisionsQuery } from './queries.ts';
import { Section } from './section.tsx';
import { RevisionMark } from './status-mark.tsx';

/** What a revision runs. */
const runs = ({
  source_revision_config: { image_uri: image, repo_commit_sha: commit, repo_ref: ref },
}: Revision) => image ?? commit ?? ref ?? '–';

function Row({
  revision,
  isActive,
  isStale,
}: {
  readonly revision: Revision;
  readonly isActive: boolean;
  readonly isStale: boolean;
}) {
  const { number, status, reason, message, created_at: createdAt } = revision;
  return (
    <tr>
      <th scope="row">
        {number}
        {isActive && ' (active)'}
      </th>
      <td>
        <RevisionMark status={status} isStale={isStale} />
      </td>
      <td>
        <code>{runs(revision)}</code>
      </td>
      <td>
        <bdi>{reason}</bdi>
        {message !== null && <p>{message}</p>}
      </td>
      <td>
        <Time at={createdAt} />
      </td>
    </tr>
  );
}

/** The revisions of a deployment. */
export function RevisionsTab() {
  const { deployment } = useDeployment();
  const { id, name, tenant_id: tenantId, active_revision_id: active } = deployment;
  const query = useInfiniteQuery(revisionsQuery(useTenantApi(), id));
  const { isStale } = useFreshness(query);
  const revisions = query.data?.pages.flatMap(({ revisions }) => revisions) ?? [];
  return (
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
        <ScrollTable label="Revisions" columns={['Number', 'Status', 'Image or commit', 'Reason', 'Created']}>
          {revisions.map((revision) => (
            <Row key={revision.id} revision={revision} isActive={revision.id === active} isStale={isStale} />
          ))}
        </ScrollTable>
      )}
      <MoreButton query={query} text="Show older revisions" />
    </Section>
  );
}
