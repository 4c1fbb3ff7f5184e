import type { Role } from '../app/roles.ts';
import { type SettingHelp, settingHelps } from '../config/index.ts';

/** Texts of `--help`. */

/** The overview. */
export const HELP = `usage: berth COMMAND [--help]

  api              runs the HTTP API (needs DATABASE_URL, BERTH_ENCRYPTION_KEYS)
  listener         applies work from the API in a cluster, and reports statuses (BERTH_HUB_URL, BERTH_LISTENER_KEY)
  listener doctor  checks everything that a listener needs, and prints the next step for each failure
  operator         turns ManagedDeployments into workloads
  all              runs API, listener and operator in one process
  migrate          migrates the database to the schema of this version
  keys             creates an API key (create), rotates the encryption key (rotate-encryption), creates and rotates
                   the signing key of the registry (registry, rotate-registry)
  tracing          sends every tracing project to the tracing backend again (resync)
  export           prints the workloads of a deployment as plain Kubernetes objects, to use them without Berth
  upgrade-preview  lists what this version would change in the pods of each deployment at its next revision
  build-step       runs one step of a build, in the Job of the build
  config           prints the current settings, with secrets masked
  version          prints the version

  deployments      list, get, create, patch, delete, watch, push-token: calls the API (BERTH_URL, BERTH_API_KEY)
  revisions        list, get, explain, rollback, redeploy, build-logs
  logs             prints the output of the pods of a deployment

Settings are environment variables. berth config --help lists all of them, and berth COMMAND --help those of a role.`;

const ROLE_TEXTS: Readonly<Record<Role, string>> = {
  api: `usage: berth api
Runs the HTTP API. The API stores the desired state in PostgreSQL. berth migrate creates the tables. The API never
connects to a cluster.`,
  listener: `usage: berth listener
       berth listener doctor [-o text|json]
Applies work from the hub (BERTH_HUB_URL) in the cluster of its kubeconfig, and reports the observed state. Several
processes of one listener can run: one is active, and the others wait to take over. doctor only checks the requirements.`,
  operator: `usage: berth operator
Reconciles the ManagedDeployments in the cluster of its kubeconfig with their workloads. The operator needs no hub.
Several processes can run: one is the leader, and the others wait to take over.`,
  all: `usage: berth all
Runs API, operator and listener in one process, for a small installation. The listener needs no hub URL and no key.`,
};

export const DOCTOR_HELP = `usage: berth listener doctor [-o text|json]
Checks the settings of a listener, its hub, its key and its cluster, and prints the next step for each failure. The
command changes nothing, and does not take the lease. Run it where the listener runs, with the same settings.

  -o text|json   output format, default: text

Exit code: 0 if no check failed (warnings are possible), 1 otherwise.`;

function settingLines(helps: readonly SettingHelp[]): string {
  const width = Math.max(...helps.map(({ name }) => name.length));
  return helps
    .map(({ name, help, fallback }) => {
      const value = fallback === null ? '' : ` (default: ${fallback})`;
      return `  ${name.padEnd(width)}  ${help}${value}`;
    })
    .join('\n');
}

/** Help of a role, with its settings. */
export function roleHelp(role: Role): string {
  return `${ROLE_TEXTS[role]}\n\nSettings are environment variables:\n\n${settingLines(settingHelps(role))}`;
}

/** `berth config --help`: every setting. */
export function settingsHelp(): string {
  return `usage: berth config\nPrints the current settings, with secrets masked. Settings are environment variables:\n\n${settingLines(settingHelps())}`;
}
