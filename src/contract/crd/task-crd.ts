import { RESOURCE_LIMITS } from '../../domain/resource-spec/resource-spec.ts';
import { TASK_STATES } from '../../domain/tasks/task.ts';
import { DEPLOYMENT_TASK, MAX_TASK_NAME } from '../resource/definition.ts';
import { deploymentTaskSpecSchema, deploymentTaskStatusSchema } from '../resource/deployment-task.ts';
import { addRules, atMost, definitionOf, MORE_THAN_ZERO, objectSchema } from './definition.ts';
import type { StructuralSchema, ValidationRule } from './structural-schema.ts';

/** The CustomResourceDefinition of tasks, generated from the zod schemas. */

/** Path of the generated CRD in the repository. */
export const TASK_CRD_FILE = `crds/${DEPLOYMENT_TASK.group}_${DEPLOYMENT_TASK.plural}.yaml`;

/** Columns of `kubectl get mtask`. */
const COLUMNS = [
  {
    name: 'State',
    type: 'string',
    jsonPath: '.status.state',
    description: `One of ${TASK_STATES.join(', ')}.`,
  },
  {
    name: 'Reason',
    type: 'string',
    jsonPath: '.status.reason',
    description: 'Why the task is in this state.',
  },
  {
    name: 'Exit',
    type: 'integer',
    jsonPath: '.status.exitCode',
    description: 'Exit code of the command.',
  },
  {
    name: 'Deployment',
    type: 'string',
    jsonPath: '.spec.deployment',
    description: 'The ManagedDeployment that the task belongs to.',
  },
  { name: 'Age', type: 'date', jsonPath: '.metadata.creationTimestamp' },
  {
    name: 'Revision',
    type: 'integer',
    jsonPath: '.status.revision.number',
    description: 'The revision that the task runs.',
    priority: 1,
  },
  { name: 'Component', type: 'string', jsonPath: '.spec.component', priority: 1 },
  { name: 'Origin', type: 'string', jsonPath: '.spec.origin', description: 'Who requested it.', priority: 1 },
  { name: 'Started', type: 'date', jsonPath: '.status.startTime', priority: 1 },
  { name: 'Completed', type: 'date', jsonPath: '.status.completionTime', priority: 1 },
];

const RULES: Readonly<Record<string, readonly ValidationRule[]>> = {
  '': [
    {
      rule: `self.metadata.name.size() <= ${MAX_TASK_NAME} && self.metadata.name.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?$')`,
      message: `metadata.name must be a DNS label of at most ${MAX_TASK_NAME} characters: the Job has the same name`,
    },
  ],
  spec: [
    { rule: 'self == oldSelf', message: 'the spec of a task cannot be changed: create another task' },
    {
      rule: "!has(self.schedule) || self.origin == 'schedule'",
      message: 'schedule must not be set without the origin schedule',
    },
  ],
  'spec.cpu': [atMost(String(RESOURCE_LIMITS.cpu)), MORE_THAN_ZERO],
  'spec.memory': [atMost(`${RESOURCE_LIMITS.memoryMb}Mi`), MORE_THAN_ZERO],
};

/** The schema of a DeploymentTask. */
export function taskSchema(): StructuralSchema {
  const schema = objectSchema({
    description:
      'A command that runs once, with the image and the environment of a revision. Creating one equals the right to run commands in the app.',
    spec: deploymentTaskSpecSchema,
    status: deploymentTaskStatusSchema,
  });
  addRules(schema, RULES);
  return schema;
}

/** The CustomResourceDefinition of DeploymentTask as a Kubernetes object. */
export function taskDefinition() {
  return definitionOf(DEPLOYMENT_TASK, COLUMNS, taskSchema());
}
