import type { Condition, Deployment, DeploymentStatus, RevisionStatus } from '../api/types.ts';
import type { Tone } from '../ui/tone.ts';

/** How states are shown. */

const DEPLOYMENT_TONES: Readonly<Record<DeploymentStatus, Tone>> = {
  READY: 'good',
  AWAITING_DATABASE: 'busy',
  UNKNOWN: 'unsure',
  UNUSED: 'off',
  AWAITING_DELETE: 'bad',
};

export const toneOfDeployment = (status: DeploymentStatus): Tone => DEPLOYMENT_TONES[status] ?? 'unsure';

const REVISION_TONES: Readonly<Record<RevisionStatus, Tone>> = {
  CREATING: 'busy',
  CREATE_FAILED: 'bad',
  AWAITING_BUILD: 'busy',
  BUILDING: 'busy',
  BUILD_FAILED: 'bad',
  QUEUED: 'busy',
  AWAITING_DEPLOY: 'busy',
  DEPLOYING: 'busy',
  DEPLOYED: 'good',
  DEPLOY_FAILED: 'bad',
  SKIPPED: 'off',
  INTERRUPTED: 'off',
  UNKNOWN: 'unsure',
};

export const toneOfRevision = (status: RevisionStatus): Tone => REVISION_TONES[status] ?? 'unsure';

/** Conditions of problems: True is not the good state. */
const BAD_IF_TRUE: ReadonlySet<string> = new Set(['Stalled', 'Degraded']);
const NEUTRAL_IF_TRUE: ReadonlySet<string> = new Set(['Reconciling', 'Progressing', 'Paused']);

export function toneOfCondition({ type, status }: Pick<Condition, 'type' | 'status'>): Tone {
  if (status === 'Unknown') return 'unsure';
  if (BAD_IF_TRUE.has(type)) return status === 'True' ? 'bad' : 'good';
  if (NEUTRAL_IF_TRUE.has(type)) return status === 'True' ? 'busy' : 'off';
  return status === 'True' ? 'good' : 'bad';
}

/** The condition that says most about the status: what blocks, then what is in progress, then readiness. */
export function mainCondition(conditions: readonly Condition[]): Condition | null {
  const isTrue = (type: string) => conditions.find((each) => each.type === type && each.status === 'True');
  return (
    isTrue('Stalled') ?? isTrue('Reconciling') ?? conditions.find(({ type }) => type === 'Ready') ?? null
  );
}

/** The end of an id, which differs between objects that were created together. */
export const shortId = (id: string): string => id.slice(-8);

/** Which revision serves, compared with the latest one. */
export function revisionText({
  active_revision_id: active,
  latest_revision_id: latest,
}: Pick<Deployment, 'active_revision_id' | 'latest_revision_id'>): string {
  if (latest === null) return 'none';
  if (active === null) return `latest ${shortId(latest)}, none active`;
  if (active === latest) return `${shortId(active)}, active and latest`;
  return `active ${shortId(active)}, latest ${shortId(latest)}`;
}
