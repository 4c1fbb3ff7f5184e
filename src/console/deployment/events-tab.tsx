import { useInfiniteQuery } from '@tanstack/react-query';
import type { BerthEvent } from '../api/types.ts';
import { commandLine } from '../commands/commands.ts';
import { ShowCommand } from '../commands/show-command.tsx';
import { useTenantApi } from '../shell/tenant-context.ts';
import { Button } from '../ui/button.tsx';
import { Loading } from '../ui/loading.tsx';
import { ProblemNotice } from '../ui/problem-notice.tsx';
import { Time } from '../ui/time.tsx';
import styles from './deployment.module.css';
import { useDeployment } from './deployment-context.ts';
import { eventsQuery } from './queries.ts';

const actorText = ({ kind, name }: BerthEvent['actor']) => name ?? kind;

/** The history of a deployment, newest first. */
export function EventsTab() {
  const { id, name, tenant_id: tenantId } = useDeployment().deployment;
  const query = useInfiniteQuery(eventsQuery(useTenantApi(), id));
  const events = query.data?.pages.flatMap(({ events }) => events) ?? [];
  return (
    <section aria-labelledby="events" className={styles['section']}>
      <div className={styles['sectionHead']}>
        <h2 id="events">Events</h2>
        <ShowCommand
          title="List the events"
          request={{ path: `/v2/deployments/${id}/events`, tenantId }}
          berth={commandLine('berth', 'events', name)}
        />
      </div>
      {query.isPending && <Loading what="the events" />}
      {query.error !== null && <ProblemNotice error={query.error} onRetry={() => void query.refetch()} />}
      <ol className={styles['events']}>
        {events.map(({ id: eventId, at, reason, message, actor }) => (
          <li key={eventId}>
            <strong>{reason}</strong> <Time at={at} /> <span>by {actorText(actor)}</span>
            <p>{message}</p>
          </li>
        ))}
      </ol>
      {query.hasNextPage && (
        <Button onClick={() => void query.fetchNextPage()} isBusy={query.isFetchingNextPage}>
          Show older events
        </Button>
      )}
    </section>
  );
}
