import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import type { ShownDeployment } from '../deployment/deployment-context.ts';
import { explanationQuery } from '../deployment/queries.ts';
import { useTenantApi } from '../shell/tenant-context.ts';
import { Mark } from '../ui/mark.tsx';
import type { Tone } from '../ui/tone.ts';
import styles from './change.module.css';
import { type Progress, progressOf } from './follow.ts';

const MARKS: Readonly<Record<Progress['state'], readonly [Tone, string]>> = {
  running: ['busy', 'In progress'],
  done: ['good', 'Done'],
  failed: ['bad', 'Failed'],
  unknown: ['unsure', 'Not known'],
};

interface FollowPanelProps extends ShownDeployment {
  /** Generation of the change. */
  readonly generation: number;
}

/** Follows a change to its end. */
export function FollowPanel({ deployment, isStale, generation }: FollowPanelProps) {
  const { id, tenant_id: tenantId, latest_revision_id: revisionId } = deployment;
  const { data } = useQuery({
    ...explanationQuery(useTenantApi(), id, revisionId ?? ''),
    enabled: revisionId !== null,
  });
  const { state, text } = progressOf(deployment, { generation, explanation: data ?? null, isStale });
  const [tone, word] = MARKS[state];
  const params = { tenantId, deploymentId: id };
  return (
    <section aria-label="Progress of the change" className={styles['follow']}>
      <span role="status">
        <Mark tone={tone} text={word} /> <bdi>{text}</bdi>
      </span>
      {state === 'failed' && (
        <Link to="/t/$tenantId/deployments/$deploymentId/edit" params={params}>
          Edit again
        </Link>
      )}
      {state !== 'running' && (
        <Link to="/t/$tenantId/deployments/$deploymentId" params={params} search={{}}>
          Close
        </Link>
      )}
    </section>
  );
}
