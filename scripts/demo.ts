/**
 * Runs Berth with its dependencies on this machine: a real PostgreSQL and a real Kubernetes API server with simulated nodes.
 * Creates sample deployments and waits until they are READY.
 *
 *   npm run demo [-- OPTIONS]     (--help lists them)
 */
import { mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { missingBinaries } from '../test/cluster/binaries.ts';
import { about, coldBuildSeconds } from '../test/cluster/go/estimate.ts';
import { startWatchdog } from '../test/cluster/processes.ts';
import { chooseCluster, isGivenCluster, isOpen } from './demo/choose-cluster.ts';
import { forgetDemo, rememberDemo } from './demo/env-file.ts';
import { reachableContext } from './demo/kube-context.ts';
import { nextSteps } from './demo/next-steps.ts';
import { SAMPLES_OF_A_NODE } from './demo/real-node.ts';
import { type Created, createSamples, readSamples, removeDeployments, type Sample } from './demo/samples.ts';
import { type DemoStack, type Releasers, startStack } from './demo/stack.ts';
import { watchSamples } from './demo/watch.ts';

const HELP = `usage: npm run demo [-- OPTIONS]
Starts PostgreSQL, a Kubernetes control plane with simulated nodes, and Berth; creates the sample deployments,
shows how they become READY, then runs until Ctrl-C and cleans up.

  --exit                 end once all samples are READY with the latest revision active (0), or with the reason (1)
  --port N               port of the API (default 8080; 0 selects a free port)
  --hosting MODE         self_hosted (default) or cloud; cloud builds two repositories if BuildKit can run
                         (Linux, root, git; the first run builds its programs, which takes minutes)
  --samples all|none     whether to create the samples of test/samples (default all)
  --real-node            run containers on a kubelet with containerd and runc instead of simulated nodes
                         (Linux, root, apt; the first run builds its programs, which takes 10 to 20 minutes). Omits
                         samples that need a network file system or a storage driver
  --context NAME         use the cluster of that context of your kubeconfig; it must grant administrator rights
  --kubeconfig FILE      use the cluster of that file, in which --context may select a context
  --local                use a local cluster, even if the current context of your kubeconfig responds
  --timeout SECONDS      how long the samples may take (default 180)
  --help                 this text

Without --context, --kubeconfig, --local and --real-node, the demo uses a local cluster. If its programs must be built first
(minutes, once), and the current context of your kubeconfig responds, the demo prints both ways and ends (0; 1 with --exit).
Programs on the PATH are used instead of a build if their version fits.

PostgreSQL: the server of DATABASE_URL, or a temporary one. DATABASE_URL needs PostgreSQL 15 or newer and a user that may create
databases. The demo creates a database for this run and drops it at the end. A superuser also creates a role that owns it.
While it runs, .berth/demo.env holds BERTH_URL, BERTH_API_KEY, BERTH_TENANT_ID, DATABASE_URL and KUBECONFIG.`;

/** The options of the command line. */
export interface DemoOptions {
  exit: boolean;
  port: number;
  hosting: 'cloud' | 'self_hosted';
  samples: 'all' | 'none';
  kubeconfig: string | undefined;
  context: string | undefined;
  local: boolean;
  realNode: boolean;
  timeoutMs: number;
}

class UsageError extends Error {}

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

function parseOptions(args: readonly string[]): DemoOptions | null {
  const { values } = parseArgs({
    args: [...args],
    options: {
      exit: { type: 'boolean', default: false },
      port: { type: 'string', default: '8080' },
      hosting: { type: 'string', default: 'self_hosted' },
      samples: { type: 'string', default: 'all' },
      kubeconfig: { type: 'string' },
      context: { type: 'string' },
      local: { type: 'boolean', default: false },
      'real-node': { type: 'boolean', default: false },
      timeout: { type: 'string', default: '180' },
      help: { type: 'boolean', default: false },
    },
  });
  if (values.help) return null;
  const given = isGivenCluster({ kubeconfig: values.kubeconfig, context: values.context });
  if (values['real-node'] && (given || values.hosting === 'cloud')) {
    throw new UsageError('--real-node cannot be combined with --kubeconfig, --context or --hosting cloud');
  }
  if (values.local && given)
    throw new UsageError('--local cannot be combined with --kubeconfig or --context');
  return {
    exit: values.exit,
    port: wholeNumber('port', values.port, 65_535),
    hosting: oneOf('hosting', values.hosting, ['cloud', 'self_hosted']),
    samples: oneOf('samples', values.samples, ['all', 'none']),
    kubeconfig: values.kubeconfig,
    context: values.context,
    local: values.local,
    realNode: values['real-node'],
    timeoutMs: wholeNumber('timeout', values.timeout, 86_400) * 1000,
  };
}

/** Resolves on the first signal to stop. A second signal ends the process immediately. */
function stopRequested(): Promise<void> {
  return new Promise((resolve) => {
    let requested = false;
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
      process.on(signal, () => {
        if (requested) process.exit(130);
        requested = true;
        resolve();
      });
    }
  });
}

/** Waits until the samples are READY. Returns the exit code of the demo. */
async function showSamples(
  stack: DemoStack,
  samples: readonly Created[],
  options: DemoOptions,
  stopped: Promise<void>,
): Promise<number> {
  if (samples.length === 0) return 0;
  const ids = samples.map(({ id }) => id);
  const outcome = await Promise.race([
    watchSamples(stack, ids, options.timeoutMs),
    stopped.then(() => 'stopped' as const),
  ]);
  if (outcome === 'stopped') return 130;
  if (outcome.ready) return 0;
  console.error(
    `\nfailed to bring the samples to READY:\n${outcome.reasons.map((reason) => `  ${reason}`).join('\n')}`,
  );
  return 1;
}

function keptMessage({ context }: DemoOptions): string {
  const kubectl = context === undefined ? 'kubectl' : `kubectl --context '${context}'`;
  return `stopped. Berth is still installed in the cluster. To remove it:
  ${kubectl} delete --ignore-not-found -f manifests/cloud.yaml
  ${kubectl} delete namespace berth-demo --ignore-not-found`;
}

/** The samples of test/samples/, and if the demo can build images those of test/samples/repositories/. */
async function samplesOf(stack: DemoStack, { hosting, realNode }: DemoOptions): Promise<Sample[]> {
  const samples = readSamples(hosting).filter(({ file }) => !realNode || SAMPLES_OF_A_NODE.includes(file));
  return [...samples, ...((await stack.builds?.samples(stack)) ?? [])];
}

async function run(options: DemoOptions, stateDir: string, releasers: Releasers): Promise<number> {
  const stopped = stopRequested();
  const stack = await startStack(options, stateDir, releasers);
  const envFile = await rememberDemo(stack);
  releasers.push(() => forgetDemo(envFile));
  // The demo's own cluster is deleted. In a given cluster, its deployments are deleted, because they would run without a hub.
  if (isGivenCluster(options)) releasers.push(() => removeDeployments(stack));
  const samples =
    options.samples === 'none' ? [] : await createSamples(stack, await samplesOf(stack, options));
  const code = await showSamples(stack, samples, options, stopped);
  if (options.exit || code === 130) return code;
  console.log(nextSteps(stack, envFile, samples));
  // Signal handlers alone do not keep the process alive.
  const alive = setInterval(() => {}, 60_000);
  await stopped;
  clearInterval(alive);
  return 0;
}

async function demo(options: DemoOptions): Promise<number> {
  const stateDir = mkdtempSync(join(realpathSync(tmpdir()), 'berth-demo-'));
  const watchdog = startWatchdog(stateDir, { removeState: true });
  const releasers: Releasers = [
    () => rmSync(stateDir, { recursive: true, force: true }),
    () => watchdog.release(),
  ];
  try {
    return await run(options, stateDir, releasers);
  } catch (error) {
    console.error(error instanceof Error ? error.message : String(error));
    return 1;
  } finally {
    console.log('\nstopping …');
    for (const release of releasers.reverse()) {
      await Promise.resolve(release()).catch((error) => console.error(String(error)));
    }
    console.log(isGivenCluster(options) ? keptMessage(options) : 'stopped; everything is removed');
  }
}

/** Whether the demo may start. If the user has to choose a cluster first, prints how. */
async function mayStart(options: DemoOptions): Promise<boolean> {
  if (!isOpen(options)) return true;
  const [context, missing] = await Promise.all([
    reachableContext(process.env),
    missingBinaries({ usePath: true }),
  ]);
  const processors = availableParallelism();
  const buildTime = `${about(coldBuildSeconds(processors))} with ${processors} processors`;
  const choice = chooseCluster({ context, missing, buildTime });
  if (choice.kind === 'go on') {
    if (choice.hint !== null) console.log(choice.hint);
    return true;
  }
  console.log(choice.message);
  return false;
}

try {
  const options = parseOptions(process.argv.slice(2));
  if (options === null) console.log(HELP);
  else if (await mayStart(options)) process.exitCode = await demo(options);
  // A script that waits for the samples must not continue without them.
  else process.exitCode = options.exit ? 1 : 0;
} catch (error) {
  console.error(error instanceof Error ? error.message : String(error));
  if (error instanceof UsageError || (error as { code?: string }).code?.startsWith('ERR_PARSE_ARGS')) {
    console.error('see: npm run demo -- --help');
  }
  process.exitCode = 1;
}
