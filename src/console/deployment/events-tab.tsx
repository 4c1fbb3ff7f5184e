import { useInfiniteQuery } from '@tanstack/react-query';
import type { BerthEvent } from '../api/types.ts';
import { commandLine } from '../commands/commands.ts';
import { ShowCommand } from '../commands/show-command.tsx';
import { useTenantApi } from '../shell/tenant-context.ts';
import { Loading } from '../ui/loading.tsx';
import { MoreButton } from '../ui/more-button.tsx';
import { ProblemNotice } from '../ui/problem-notice.tsx';
import { Time } from '../ui/time.tsx';
import styles from './deployment.module.css';
import { useDeployment } from './deployment-context.ts';
import { eventsQuery } from './queries.ts';
import { Section } from './section.tsx';

const actorText = ({ kind, name }: BerthEvent['actor']) => name ?? kind;

/** The history of a deployment, newest first. */
export function EventsTab() {
  const { id, name, tenant_id: tenantId } = useDeployment().deployment;
  const query = useInfiniteQuery(eventsQuery(useTenantApi(), id));
  const events = query.data?.pages.flatMap(({ events }) => events) ?? [];
  return (
    <Section
      id="events"
      title="Events"
      command={
        <ShowCommand
          title="List the events"
          request={{ path: `/v2/deployments/${id}/events`, tenantId }}
          berth={commandLine('berth', 'events', name)}
        />
      }
    >
      {query.isPending && <Loading what="the events" />}
      {query.error !== null && <ProblemNotice error={query.error} onRetry={() => void query.refetch()} />}
      <ol className={styles['events']}>
        {events.map(({ id: eventId, at, reason, message, actor }) => (
          <li key={eventId}>
            <strong>{reason}</strong> <Time at={at} /> by <bdi>{actorText(actor)}</bdi>
            <p>{message}</p>
          </li>
        ))}
      </ol>
      <MoreButton query={query} text="Show older events" />
    </Section>
  );
}
