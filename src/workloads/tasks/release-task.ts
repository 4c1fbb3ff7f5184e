import { DEPLOYMENT_TASK, MAX_TASK_NAME } from '../../contract/resource/definition.ts';
import type { DeploymentTaskSpec } from '../../contract/resource/deployment-task.ts';
import type { ManagedDeployment } from '../../contract/resource/managed-deployment.ts';
import { nameHash } from '../../domain/core/hash.ts';
import { TASK_LIMITS } from '../../domain/tasks/task.ts';
import type { KubeObject } from '../desired-object.ts';
import { commonLabels, TASK_COMPONENT } from '../labels.ts';
import { app } from '../names.ts';
import { ownerReferences } from '../owner.ts';

/** The task that runs the release command of the desired revision (docs/decisions/0147). */

const SUFFIX = '-release';
const HASH_LENGTH = 8;

/**
 * Name of the task.
 * @param templates name of the stored templates of the revision. Other templates of one revision have another task
 */
export function releaseTaskName(templates: string): string {
  const name = `${templates}${SUFFIX}`;
  if (name.length <= MAX_TASK_NAME) return name;
  const start = templates.slice(0, MAX_TASK_NAME - SUFFIX.length - HASH_LENGTH - 1);
  return `${start}-${nameHash(templates).slice(0, HASH_LENGTH)}${SUFFIX}`;
}

/** The spec of the task; null: the desired revision has no release command. */
export function releaseTaskSpec(resource: ManagedDeployment): DeploymentTaskSpec | null {
  const { podTemplate, revision } = resource.spec;
  const { releaseCommand, releaseTimeoutSeconds } = podTemplate;
  if (releaseCommand === undefined) return null;
  return {
    deployment: app(resource),
    revision: revision.number,
    component: 'api',
    command: [...releaseCommand],
    timeoutSeconds: releaseTimeoutSeconds ?? TASK_LIMITS.defaultTimeoutSeconds,
    origin: 'release',
  };
}

export function releaseTask(resource: ManagedDeployment, name: string, spec: DeploymentTaskSpec): KubeObject {
  const { apiVersion, kind } = DEPLOYMENT_TASK;
  return {
    apiVersion,
    kind,
    metadata: {
      name,
      namespace: resource.metadata.namespace,
      labels: commonLabels(resource, TASK_COMPONENT),
      ...ownerReferences(resource),
    },
    spec,
  };
}
