/** The command line of the demo. */
import { parseArgs } from 'node:util';
import { isGivenCluster } from './choose-cluster.ts';

export const HELP = `usage: npm run demo [-- OPTIONS]
Starts PostgreSQL, a Kubernetes control plane with simulated nodes, and Berth; creates the sample deployments,
shows how they become READY, then runs until Ctrl-C and cleans up.

  --exit                 end once all samples are READY with the latest revision active (0), or with the reason (1)
  --port N               port of the API (default 8080; 0 selects a free port)
  --hosting MODE         self_hosted (default) or cloud; cloud builds two repositories if BuildKit can run
                         (Linux, root, git; the first run builds its programs, which takes minutes)
  --builds               build images with --hosting self_hosted too, for berth deploy NAME FOLDER. This is the default if
                         the programs for builds exist already
  --samples all|none     whether to create the samples of test/samples (default all)
  --failing              also create a deployment whose second revision fails, and wait until it has failed
  --real-node            run containers on a kubelet with containerd and runc instead of simulated nodes
                         (Linux, root, apt; the first run builds its programs, which takes 10 to 20 minutes). Omits
                         samples that need a network file system or a storage driver
  --context NAME         use the cluster of that context of your kubeconfig; it must grant administrator rights, and
                         must not run Berth already
  --kubeconfig FILE      use the cluster of that file, in which --context may select a context
  --local                use a local cluster, even if the current context of your kubeconfig responds
  --timeout SECONDS      how long the samples may take (default 180)
  --help                 this text

Without --context, --kubeconfig, --local and --real-node, the demo uses a local cluster. If its programs must be built first
(minutes, once), and the current context of your kubeconfig responds, the demo prints both ways and ends (0; 1 with --exit).
Programs on the PATH are used instead of a build if their version fits.

PostgreSQL: the server of DATABASE_URL, or a temporary one. DATABASE_URL needs PostgreSQL 15 or newer and a user that may create
databases. The demo creates a database for this run and drops it at the end. A superuser also creates a role that owns it.
While it runs, .berth/demo.env holds BERTH_URL, BERTH_API_KEY, BERTH_TENANT_ID, DATABASE_URL and KUBECONFIG.

Exit codes: 0 success; 1 failure; 2 wrong usage; 130 stopped before the samples were READY.`;

const DEFAULT_TIMEOUT_SECONDS = '180';

/** The options of the command line. */
export interface DemoOptions {
  exit: boolean;
  port: number;
  hosting: 'cloud' | 'self_hosted';
  samples: 'all' | 'none';
  /** Whether a deployment whose rollout fails is created. */
  failing: boolean;
  builds: boolean;
  kubeconfig: string | undefined;
  context: string | undefined;
  local: boolean;
  realNode: boolean;
  timeoutMs: number;
}

/** The options are wrong. */
export class UsageError extends Error {}

function wholeNumber(name: string, text: string, most: number): number {
  const value = Number(text);
  if (!Number.isInteger(value) || value < 0 || value > most) {
    throw new UsageError(`--${name} takes a whole number from 0 to ${most}, not "${text}"`);
  }
  return value;
}

function oneOf<T extends string>(name: string, text: string, choices: readonly T[]): T {
  const found = choices.find((choice) => choice === text);
  if (found === undefined) throw new UsageError(`--${name} takes ${choices.join(' or ')}, not "${text}"`);
  return found;
}

function parse(args: readonly string[]) {
  return parseArgs({
    args: [...args],
    options: {
      exit: { type: 'boolean', default: false },
      port: { type: 'string', default: '8080' },
      hosting: { type: 'string', default: 'self_hosted' },
      samples: { type: 'string', default: 'all' },
      failing: { type: 'boolean', default: false },
      builds: { type: 'boolean', default: false },
      kubeconfig: { type: 'string' },
      context: { type: 'string' },
      local: { type: 'boolean', default: false },
      'real-node': { type: 'boolean', default: false },
      timeout: { type: 'string' },
      help: { type: 'boolean', default: false },
    },
  }).values;
}

type Values = ReturnType<typeof parse>;

/** @throws UsageError for an unknown option, a missing value or an argument */
function parsed(args: readonly string[]): Values {
  try {
    return parse(args);
  } catch (error) {
    throw new UsageError((error as Error).message);
  }
}

/** @throws UsageError for options that exclude each other, or that would have no effect */
function checkTogether(values: Values): void {
  const isGiven = isGivenCluster({ kubeconfig: values.kubeconfig, context: values.context });
  if (values['real-node'] && (isGiven || values.hosting === 'cloud'))
    throw new UsageError('--real-node cannot be combined with --kubeconfig, --context or --hosting cloud');
  if (values.local && isGiven)
    throw new UsageError('--local cannot be combined with --kubeconfig or --context');
  if (values.local && values['real-node'])
    throw new UsageError('--local cannot be combined with --real-node, which always uses a local cluster');
  if (values.builds && (isGiven || values['real-node']))
    throw new UsageError('--builds cannot be combined with --kubeconfig, --context or --real-node');
  if (values.builds && values.hosting === 'cloud')
    throw new UsageError('--builds cannot be combined with --hosting cloud, which always builds');
  if (values.samples === 'none' && !values.failing && values.timeout !== undefined)
    throw new UsageError(
      '--timeout cannot be combined with --samples none, because nothing has to become READY',
    );
}

/**
 * The options of a command line.
 * @returns null: the user asks for help
 * @throws UsageError
 */
export function parseOptions(args: readonly string[]): DemoOptions | null {
  const values = parsed(args);
  if (values.help) return null;
  checkTogether(values);
  return {
    exit: values.exit,
    port: wholeNumber('port', values.port, 65_535),
    hosting: oneOf('hosting', values.hosting, ['cloud', 'self_hosted']),
    samples: oneOf('samples', values.samples, ['all', 'none']),
    failing: values.failing,
    builds: values.builds,
    kubeconfig: values.kubeconfig,
    context: values.context,
    local: values.local,
    realNode: values['real-node'],
    timeoutMs: wholeNumber('timeout', values.timeout ?? DEFAULT_TIMEOUT_SECONDS, 86_400) * 1000,
  };
}
