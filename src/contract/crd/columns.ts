import { CONDITION_TYPES } from '../../domain/conditions/conditions.ts';
import { DEPLOYMENT_STATUSES } from '../../domain/revision/states.ts';

function condition(type: string, field: 'status' | 'reason' = 'status'): string {
  return `.status.conditions[?(@.type=="${type}")].${field}`;
}

/**
 * Columns of `kubectl get mdep`. Columns with a priority appear only with `-o wide`. Scripts split the rows at spaces, so
 * each name is one word, columns without a value come late, and the display name, which may contain spaces, is the last.
 */
export const COLUMNS = [
  { name: 'Ready', type: 'string', jsonPath: condition('Ready'), description: CONDITION_TYPES.Ready },
  {
    name: 'Status',
    type: 'string',
    jsonPath: '.status.deploymentStatus',
    description: `One of ${DEPLOYMENT_STATUSES.join(', ')}.`,
  },
  {
    name: 'Reason',
    type: 'string',
    jsonPath: condition('Ready', 'reason'),
    description: 'Reason of the condition Ready. kubectl describe shows the message.',
  },
  {
    name: 'Revision',
    type: 'integer',
    jsonPath: '.spec.revision.number',
    description: 'The desired revision.',
  },
  {
    name: 'Active',
    type: 'integer',
    jsonPath: '.status.activeRevision.number',
    description: 'The active revision, which every component was observed to run.',
  },
  { name: 'Age', type: 'date', jsonPath: '.metadata.creationTimestamp' },
  {
    name: 'Serving',
    type: 'string',
    jsonPath: condition('Serving'),
    description: CONDITION_TYPES.Serving,
    priority: 1,
  },
  {
    name: 'Rollout',
    type: 'string',
    jsonPath: condition('Progressing', 'reason'),
    description: 'The state of the current or last rollout.',
    priority: 1,
  },
  { name: 'Source', type: 'string', jsonPath: '.spec.source', priority: 1 },
  {
    name: 'Image',
    type: 'string',
    jsonPath: '.status.activeRevision.image',
    description: 'The image of the active revision.',
    priority: 1,
  },
  {
    name: 'URL',
    type: 'string',
    jsonPath: '.status.url',
    description: 'The URL of the app, if the route exists.',
    priority: 1,
  },
  {
    name: 'Paused',
    type: 'string',
    jsonPath: condition('Paused'),
    description: CONDITION_TYPES.Paused,
    priority: 1,
  },
  {
    name: 'RestorableUntil',
    type: 'string',
    jsonPath: '.spec.deletion.restorableUntilTime',
    description: 'End of the grace period of a deletion. Until then, the deployment can be restored.',
    priority: 1,
  },
  {
    name: 'DisplayName',
    type: 'string',
    jsonPath: '.spec.displayName',
    description: 'Name of the deployment in the API.',
    priority: 1,
  },
];
