import type { Command } from 'commander';
import type { Host } from './command/host.ts';

/** Every command of the first level, in the order of the help. A module is loaded when its command runs. */

/** Adds arguments, options, subcommands and the action to a command. */
export type Build = (command: Command, host: Host) => void | Promise<void>;

export interface CommandRow {
  readonly name: string;
  readonly summary: string;
  /** Heading in the help. */
  readonly group: string;
  readonly load: () => Promise<Build>;
}

/** Modules with several commands. */
const deployments = () => import('./client/deployments/commands.ts');
const applying = () => import('./client/apply/commands.ts');
const contexts = () => import('./client/contexts/commands.ts');
const roles = () => import('./admin/roles.ts');
const maintenance = () => import('./admin/maintenance.ts');
const completion = () => import('./completion/command.ts');

export const COMMANDS: readonly CommandRow[] = [
  {
    group: 'Deployments',
    name: 'deploy',
    summary: 'deploy an image or a ref, and wait until it serves',
    load: async () => (await deployments()).buildDeploy,
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
    load: async () => (await import('./client/revisions/commands.ts')).buildRevisions,
  },
  {
    group: 'Deployments',
    name: 'logs',
    summary: 'print the output of the pods of a deployment',
    load: async () => (await import('./client/logs/commands.ts')).buildLogs,
  },
  {
    group: 'Deployments',
    name: 'events',
    summary: 'list or follow what happens to a deployment, or in the tenant',
    load: async () => (await import('./client/events/commands.ts')).buildEvents,
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
    load: async () => (await import('./client/secrets/commands.ts')).buildSecrets,
  },
  {
    group: 'Deployments',
    name: 'env',
    summary: 'list, set and unset variables of a deployment that are not secret',
    load: async () => (await import('./client/env/commands.ts')).buildEnv,
  },
  {
    group: 'Resources of the API',
    name: 'listeners',
    summary: 'list, create, change and delete listeners',
    load: async () => (await import('./client/resources/listeners.ts')).buildListeners,
  },
  {
    group: 'Resources of the API',
    name: 'integrations',
    summary: 'list, create, change and delete integrations with code hosts',
    load: async () => (await import('./client/resources/integrations.ts')).buildIntegrations,
  },
  {
    group: 'Resources of the API',
    name: 'tags',
    summary: 'list, create, rename and delete tags, and set the tags of deployments',
    load: async () => (await import('./client/resources/tags.ts')).buildTags,
  },
  {
    group: 'Resources of the API',
    name: 'tracing-projects',
    summary: 'list and delete tracing projects',
    load: async () => (await import('./client/resources/tracing-projects.ts')).buildTracingProjects,
  },
  {
    group: 'Resources of the API',
    name: 'tenants',
    summary: 'list, create, change and delete tenants',
    load: async () => (await import('./client/resources/tenants.ts')).buildTenants,
  },
  {
    group: 'Resources of the API',
    name: 'api-keys',
    summary: 'list, create and revoke API keys',
    load: async () => (await import('./client/resources/api-keys.ts')).buildApiKeys,
  },
  {
    group: 'Resources of the API',
    name: 'usage',
    summary: 'show the usage and the quotas of the tenant',
    load: async () => (await import('./client/resources/usage.ts')).buildUsage,
  },
  {
    group: 'Contexts',
    name: 'login',
    summary: 'check and store the URL and the key of an API as a context',
    load: async () => (await contexts()).buildLogin,
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
    summary: 'show the API and the key that commands use',
    load: async () => (await contexts()).buildWhoami,
  },
  { group: 'Server', name: 'api', summary: 'run the HTTP API', load: async () => (await roles()).buildApi },
  {
    group: 'Server',
    name: 'listener',
    summary: 'run a listener, which applies work of the API in a cluster',
    load: async () => (await roles()).buildListener,
  },
  {
    group: 'Server',
    name: 'operator',
    summary: 'run the operator, which turns ManagedDeployments into workloads',
    load: async () => (await roles()).buildOperator,
  },
  {
    group: 'Server',
    name: 'all',
    summary: 'run API, listener and operator in one process',
    load: async () => (await roles()).buildAll,
  },
  {
    group: 'Server',
    name: 'migrate',
    summary: 'migrate the database to the schema of this version',
    load: async () => (await roles()).buildMigrate,
  },
  {
    group: 'Server',
    name: 'build-step',
    summary: 'run one step of a build, in the Job of the build',
    load: async () => (await import('./admin/build-step.ts')).buildBuildStep,
  },
  {
    group: 'Administration',
    name: 'keys',
    summary: 'create API keys, and rotate encryption and signing keys',
    load: async () => (await import('./admin/keys.ts')).buildKeys,
  },
  {
    group: 'Administration',
    name: 'tracing',
    summary: 'send every tracing project to the tracing backend again',
    load: async () => (await maintenance()).buildTracing,
  },
  {
    group: 'Administration',
    name: 'export',
    summary: 'print a deployment as Kubernetes objects that work without Berth',
    load: async () => (await maintenance()).buildExport,
  },
  {
    group: 'Administration',
    name: 'upgrade-preview',
    summary: 'list what this version would change in the pods of each deployment',
    load: async () => (await maintenance()).buildUpgradePreview,
  },
  {
    group: 'Administration',
    name: 'config',
    summary: 'print the current settings, with secrets masked',
    load: async () => (await roles()).buildConfig,
  },
  {
    group: 'Other',
    name: 'completion',
    summary: 'print the completion script of a shell',
    load: async () => (await completion()).buildCompletion,
  },
  {
    group: 'Other',
    name: 'version',
    summary: 'print the version',
    load: async () => (await completion()).buildVersion,
  },
];
