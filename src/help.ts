import { type SettingHelp, settingHelps } from './config.ts';
import type { Role } from './roles.ts';

/** What `--help` prints. */

/** The common page. */
export const HELP = `usage: berth COMMAND [--help]

  api              the HTTP API (needs DATABASE_URL, BERTH_ENCRYPTION_KEYS)
  listener         pulls work from the API into a cluster, reports back (BERTH_HUB_URL, BERTH_LISTENER_KEY)
  listener doctor  checks everything that a listener needs, and says what to do for each failure
  operator         turns ManagedDeployments into workloads
  builder          runs build Jobs as processes of this machine, where no container can run (no sandbox)
  all              API, listener and operator in one process
  migrate          brings the database to this version's schema
  keys             makes an API key (create), changes the encryption key (rotate-encryption), makes and changes the
                   registry's key (registry, rotate-registry)
  tracing          tells the tracing backend of every project again (resync)
  export           prints what was made of a deployment as plain objects, to leave Berth with them
  upgrade-preview  lists what this version would change in the pods of each deployment at its next revision
  build-step       what runs in the Jobs of builds
  config           prints the settings in force, secrets masked
  version          prints the version

  deployments      list, get, create, patch, delete, watch, push-token: calls the API (BERTH_URL, BERTH_API_KEY)
  revisions        list, get, explain, rollback, redeploy, build-logs
  logs             what the pods of a deployment print

Settings are environment variables: berth config --help lists them, berth COMMAND --help those of a role.`;

const ROLE_TEXTS: Readonly<Record<Role, string>> = {
  api: `usage: berth api
The HTTP API. Keeps what is wanted in PostgreSQL; berth migrate makes the tables. Never connects to a cluster.`,
  listener: `usage: berth listener
       berth listener doctor [-o text|json]
Pulls work from the hub (BERTH_HUB_URL) into the cluster of its kubeconfig, and reports back what is there. Several
processes of one listener may run: one acts, the others wait to take over. doctor checks what it needs, and runs nothing.`,
  operator: `usage: berth operator
Turns the ManagedDeployments of the cluster of its kubeconfig into workloads and keeps them so. Needs no hub. Several
processes may run: one leads, the others wait to take over.`,
  builder: `usage: berth builder
A node for build Jobs alone, where no container can run: a developer's machine, the tests. Runs the commands of their
containers as processes of this machine, as the user that runs it. It is NO SANDBOX: whoever may have something built
may do what this user may. Needs git and buildctl (BERTH_BUILDER_PATH), a BuildKit daemon that the operator names
(BERTH_BUILD_BUILDKIT_HOST), and the rights of manifests/local-builder/.`,
  all: `usage: berth all
API, operator and listener in one process, for a small install. The listener needs no hub URL and no key.`,
};

export const DOCTOR_HELP = `usage: berth listener doctor [-o text|json]
Checks the settings of a listener, its hub, its key and its cluster, and says for each failure what to do next. Changes
nothing, and does not take the lease. Run it where the listener runs, with the listener's settings.

  -o text|json   how to print the findings; default: text

Exit code: 0 when nothing failed (there may be warnings), 1 otherwise.`;

function settingLines(helps: readonly SettingHelp[]): string {
  const width = Math.max(...helps.map(({ name }) => name.length));
  return helps
    .map(({ name, help, fallback }) => {
      const value = fallback === null ? '' : ` (default: ${fallback})`;
      return `  ${name.padEnd(width)}  ${help}${value}`;
    })
    .join('\n');
}

/** A role's own page, with the settings that it reads. */
export function roleHelp(role: Role): string {
  return `${ROLE_TEXTS[role]}\n\nSettings are environment variables:\n\n${settingLines(settingHelps(role))}`;
}

/** `berth config --help`: every setting. */
export function settingsHelp(): string {
  return `usage: berth config\nPrints the settings in force, secrets masked. Settings are environment variables:\n\n${settingLines(settingHelps())}`;
}
