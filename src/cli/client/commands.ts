import type { CommandRow } from '../command/row.ts';

/** The commands for users of the API. A module is loaded when its command runs. */

/** Modules with several commands. */
const deployments = () => import('./deployments/commands.ts');
const applying = () => import('./apply/commands.ts');
const contexts = () => import('./contexts/commands.ts');

export const CLIENT_COMMANDS: readonly CommandRow[] = [
  {
    group: 'Deployments',
    name: 'deploy',
    summary: 'deploy a folder, an image or a ref, and wait until it serves',
    load: async () => (await import('./deploy/commands.ts')).buildDeploy,
  },
  {
    group: 'Deployments',
    name: 'apply',
    summary: 'create or change deployments so that they equal files',
    load: async () => (await applying()).buildApply,
  },
  {
    group: 'Deployments',
    name: 'diff',
    summary: 'show what berth apply would change, field by field',
    load: async () => (await applying()).buildDiff,
  },
  {
    group: 'Deployments',
    name: 'deployments',
    summary: 'list, create, change, watch and delete deployments',
    load: async () => (await deployments()).buildDeployments,
  },
  {
    group: 'Deployments',
    name: 'revisions',
    summary: 'list, explain, roll back and redeploy revisions',
    load: async () => (await import('./revisions/commands.ts')).buildRevisions,
  },
  {
    group: 'Deployments',
    name: 'logs',
    summary: 'print the output of the pods of a deployment',
    load: async () => (await import('./logs/commands.ts')).buildLogs,
  },
  {
    group: 'Deployments',
    name: 'run',
    summary: 'run a command in the image of a deployment, and end with its exit code',
    load: async () => (await import('./tasks/commands.ts')).buildRun,
  },
  {
    group: 'Deployments',
    name: 'tasks',
    summary: 'list, show and cancel the commands that run in the image of a deployment',
    load: async () => (await import('./tasks/commands.ts')).buildTasks,
  },
  {
    group: 'Deployments',
    name: 'schedules',
    summary: 'list the schedules of a deployment, and run one now',
    load: async () => (await import('./schedules/commands.ts')).buildSchedules,
  },
  {
    group: 'Deployments',
    name: 'events',
    summary: 'list or follow what happens to a deployment, or in the tenant',
    load: async () => (await import('./events/commands.ts')).buildEvents,
  },
  {
    group: 'Deployments',
    name: 'watch',
    summary: 'print which deployments of the tenant change',
    load: async () => (await import('./changes/commands.ts')).buildWatch,
  },
  {
    group: 'Deployments',
    name: 'objects',
    summary: 'list the objects of a deployment in its cluster, or show one of them',
    load: async () => (await import('./objects/commands.ts')).buildObjects,
  },
  {
    group: 'Deployments',
    name: 'top',
    summary: 'show the CPU and memory that the pods of a deployment use',
    load: async () => (await import('./objects/commands.ts')).buildTop,
  },
  {
    group: 'Deployments',
    name: 'scale',
    summary: 'set the number of pods of a deployment',
    load: async () => (await deployments()).buildScale,
  },
  {
    group: 'Deployments',
    name: 'open',
    summary: 'open the URL of a deployment in the browser',
    load: async () => (await deployments()).buildOpen,
  },
  {
    group: 'Deployments',
    name: 'restore',
    summary: 'restore a deployment that is being deleted',
    load: async () => (await deployments()).buildRestore,
  },
  {
    group: 'Deployments',
    name: 'secrets',
    summary: 'list, set and unset secrets of a deployment',
    load: async () => (await import('./secrets/commands.ts')).buildSecrets,
  },
  {
    group: 'Deployments',
    name: 'env',
    summary: 'list, set and unset variables of a deployment that are not secret',
    load: async () => (await import('./env/commands.ts')).buildEnv,
  },
  {
    group: 'Deployments',
    name: 'references',
    summary: 'list, set and unset variables of a deployment whose values are in Secrets of the cluster',
    load: async () => (await import('./references/commands.ts')).buildReferences,
  },
  {
    group: 'Deployments',
    name: 'services',
    summary: 'switch the database and the cache of a deployment off and on',
    load: async () => (await import('./services/commands.ts')).buildServices,
  },
  {
    group: 'Resources of the API',
    name: 'listeners',
    summary: 'list, create, change and delete listeners',
    load: async () => (await import('./resources/listeners.ts')).buildListeners,
  },
  {
    group: 'Resources of the API',
    name: 'integrations',
    summary: 'list, create, change and delete integrations with code hosts',
    load: async () => (await import('./resources/integrations.ts')).buildIntegrations,
  },
  {
    group: 'Resources of the API',
    name: 'tags',
    summary: 'list, create, rename and delete tags, and set the tags of deployments',
    load: async () => (await import('./resources/tags.ts')).buildTags,
  },
  {
    group: 'Resources of the API',
    name: 'tracing-projects',
    summary: 'list and delete tracing projects',
    load: async () => (await import('./resources/tracing-projects.ts')).buildTracingProjects,
  },
  {
    group: 'Resources of the API',
    name: 'tenants',
    summary: 'list, create, change and delete tenants',
    load: async () => (await import('./resources/tenants.ts')).buildTenants,
  },
  {
    group: 'Resources of the API',
    name: 'api-keys',
    summary: 'list, create and revoke API keys',
    load: async () => (await import('./resources/api-keys.ts')).buildApiKeys,
  },
  {
    group: 'Resources of the API',
    name: 'tokens',
    summary: 'list and revoke access tokens of people and pipelines',
    load: async () => (await import('./resources/tokens.ts')).buildTokens,
  },
  {
    group: 'Resources of the API',
    name: 'people',
    summary: 'sign people out, as an admin of the platform',
    load: async () => (await import('./resources/people.ts')).buildPeople,
  },
  {
    group: 'Resources of the API',
    name: 'usage',
    summary: 'show the usage and the quotas of the tenant',
    load: async () => (await import('./resources/usage.ts')).buildUsage,
  },
  {
    group: 'Contexts',
    name: 'login',
    summary: 'log in to an API in a browser, with a key or from a pipeline, and store a context',
    load: async () => (await contexts()).buildLogin,
  },
  {
    group: 'Contexts',
    name: 'logout',
    summary: 'revoke the token of a context, and remove the context',
    load: async () => (await contexts()).buildLogout,
  },
  {
    group: 'Contexts',
    name: 'context',
    summary: 'list, select and delete contexts',
    load: async () => (await contexts()).buildContext,
  },
  {
    group: 'Contexts',
    name: 'whoami',
    summary: 'show the API that commands use, and who they act as',
    load: async () => (await contexts()).buildWhoami,
  },
];
