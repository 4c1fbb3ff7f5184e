/** The commands that need the modules of the server. The package of the command line has only their names. */

interface ServerCommand {
  readonly group: 'Server' | 'Administration';
  readonly name: string;
  readonly summary: string;
}

export const SERVER_COMMANDS = [
  { group: 'Server', name: 'api', summary: 'run the HTTP API' },
  {
    group: 'Server',
    name: 'listener',
    summary: 'run a listener, which applies work of the API in a cluster',
  },
  {
    group: 'Server',
    name: 'operator',
    summary: 'run the operator, which turns ManagedDeployments into workloads',
  },
  { group: 'Server', name: 'all', summary: 'run API, listener and operator in one process' },
  { group: 'Server', name: 'migrate', summary: 'migrate the database to the schema of this version' },
  { group: 'Server', name: 'build-step', summary: 'run one step of a build, in the Job of the build' },
  {
    group: 'Administration',
    name: 'keys',
    summary: 'create API keys, and rotate encryption and signing keys',
  },
  {
    group: 'Administration',
    name: 'tracing',
    summary: 'send every tracing project to the tracing backend again',
  },
  {
    group: 'Administration',
    name: 'export',
    summary: 'print a deployment as Kubernetes objects that work without Berth',
  },
  {
    group: 'Administration',
    name: 'upgrade-preview',
    summary: 'list what this version would change in the pods of each deployment',
  },
  { group: 'Administration', name: 'config', summary: 'print the current settings, with secrets masked' },
] as const satisfies readonly ServerCommand[];

export type ServerCommandName = (typeof SERVER_COMMANDS)[number]['name'];
