import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import type { Revision } from '../api/types.ts';
import { commandLine } from '../commands/commands.ts';
import { ShowCommand } from '../commands/show-command.tsx';
import { useDeployment } from '../deployment/deployment-context.ts';
import { Section } from '../deployment/section.tsx';
import { RevisionMark } from '../deployment/status-mark.tsx';
import { useFreshness } from '../live/use-freshness.ts';
import { useTenantApi } from '../shell/tenant-context.ts';
import { ReleaseLine } from '../tasks/release-line.tsx';
import { Loading } from '../ui/loading.tsx';
import { LongText } from '../ui/long-text.tsx';
import { ProblemNotice } from '../ui/problem-notice.tsx';
import { ComponentList } from './component-list.tsx';
import { newestEventsQuery, newestRevisionsQuery } from './queries.ts';
import { StepList } from './step-list.tsx';
import { isFinal, type KnownEvents } from './steps.ts';
import styles from './timeline.module.css';

/** Requests the components when the user opens them, because that reads the cluster. During a rollout they are open. */
function Components({ revision }: { readonly revision: Revision }) {
  const [isOpen, setOpen] = useState(!isFinal(revision.status));
  return (
    <details open={isOpen} onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
      <summary>Components in the cluster</summary>
      {isOpen && <ComponentList revision={revision} />}
    </details>
  );
}

interface RevisionStepsProps {
  readonly revision: Revision;
  readonly events: KnownEvents;
  readonly isStale: boolean;
  readonly isOpen: boolean;
}

function RevisionSteps({ revision, events, isStale, isOpen }: RevisionStepsProps) {
  const { number, status, message } = revision;
  return (
    <li>
      <details open={isOpen}>
        <summary>
          Revision {number}: <RevisionMark status={status} isStale={isStale} />
        </summary>
        {message !== null && (
          <p>
            <LongText text={message} />
          </p>
        )}
        <ReleaseLine revision={revision} />
        <StepList revision={revision} events={events} isStale={isStale} />
        {isOpen && <Components revision={revision} />}
      </details>
    </li>
  );
}

/** The newest revisions, with the steps of their rollouts. */
export function RolloutTimeline() {
  const { id, name, tenant_id: tenantId } = useDeployment().deployment;
  const api = useTenantApi();
  const revisions = useQuery(newestRevisionsQuery(api, id));
  const events = useQuery(newestEventsQuery(api, id));
  const { isStale } = useFreshness(revisions);
  const error = revisions.error ?? events.error;
  const retry = () => {
    void revisions.refetch();
    void events.refetch();
  };
  return (
    <Section
      id="timeline"
      title="Rollout timeline"
      command={
        <ShowCommand
          title="List the revisions"
          request={{ path: `/v2/deployments/${id}/revisions`, tenantId }}
          berth={commandLine('berth', 'revisions', 'list', name)}
        />
      }
    >
      {error !== null && <ProblemNotice error={error} onRetry={retry} />}
      {(revisions.isPending || events.isPending) && <Loading what="the timeline" />}
      {revisions.data !== undefined && events.data !== undefined && (
        <ol className={styles['revisions']}>
          {revisions.data.map((revision, index) => (
            <RevisionSteps
              key={revision.id}
              revision={revision}
              events={events.data}
              isStale={isStale}
              isOpen={index === 0}
            />
          ))}
        </ol>
      )}
    </Section>
  );
}
