/**
 * Runs Berth with its dependencies on this machine: a real PostgreSQL and a real Kubernetes API server with simulated nodes.
 * Creates sample deployments and waits until they are READY.
 *
 *   npm run demo [-- OPTIONS]     (--help lists them)
 */
import { mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { missingBinaries } from '../test/cluster/binaries.ts';
import { about, coldBuildSeconds } from '../test/cluster/go/estimate.ts';
import { startWatchdog } from '../test/cluster/processes.ts';
import type { ManifestObject } from '../test/installation/install.ts';
import { chooseCluster, isGivenCluster, isOpen } from './demo/choose-cluster.ts';
import { forgetDemo, rememberDemo } from './demo/env-file.ts';
import { breakRollout, failingSample } from './demo/failing.ts';
import { withContext } from './demo/given-cluster.ts';
import { kubeconfigVariable, reachableContext } from './demo/kube-context.ts';
import { farewell } from './demo/leftovers.ts';
import { nextSteps } from './demo/next-steps.ts';
import { type DemoOptions, HELP, parseOptions, UsageError } from './demo/options.ts';
import { SAMPLES_OF_A_NODE } from './demo/real-node.ts';
import { type Created, createSamples, readSamples, removeDeployments, type Sample } from './demo/samples.ts';
import { type DemoStack, type Releasers, startStack } from './demo/stack.ts';
import { watchSamples } from './demo/watch.ts';

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

/** Breaks the last of the created deployments, if the user has asked for one that fails. Returns the exit code of the demo. */
async function showFailure(
  stack: DemoStack,
  created: readonly Created[],
  options: DemoOptions,
  stopped: Promise<void>,
): Promise<number> {
  const failing = created.at(-1);
  if (!options.failing || failing === undefined) return 0;
  return Promise.race([
    breakRollout(stack, failing, options.timeoutMs).then(() => 0),
    stopped.then(() => 130),
  ]);
}

/** The samples of test/samples/, and if the demo can build repositories those of test/samples/repositories/. */
async function samplesOf(stack: DemoStack, { hosting, realNode }: DemoOptions): Promise<Sample[]> {
  const samples = readSamples(hosting).filter(({ file }) => !realNode || SAMPLES_OF_A_NODE.includes(file));
  // git_host needs cloud.
  const built = hosting === 'cloud' ? await stack.builds?.samples(stack) : [];
  return [...samples, ...(built ?? [])];
}

async function run(
  options: DemoOptions,
  stateDir: string,
  releasers: Releasers,
  leftovers: ManifestObject[],
): Promise<number> {
  const stopped = stopRequested();
  const stack = await startStack(options, stateDir, releasers, leftovers);
  const envFile = await rememberDemo(stack);
  releasers.push(() => forgetDemo(envFile));
  // The demo's own cluster is deleted. In a given cluster, its deployments are deleted, because they would run without a hub.
  if (isGivenCluster(options)) releasers.push(() => removeDeployments(stack));
  const chosen = options.samples === 'none' ? [] : await samplesOf(stack, options);
  const samples = await createSamples(stack, [
    ...chosen,
    ...(options.failing ? [failingSample(options)] : []),
  ]);
  const ready = await showSamples(stack, samples, options, stopped);
  const code = ready === 0 ? await showFailure(stack, samples, options, stopped) : ready;
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
  const leftovers: ManifestObject[] = [];
  try {
    return await run(options, stateDir, releasers, leftovers);
  } catch (error) {
    console.error(error instanceof Error ? error.message : String(error));
    return 1;
  } finally {
    console.log('\nstopping …');
    for (const release of releasers.reverse()) {
      await Promise.resolve(release()).catch((error) => console.error(String(error)));
    }
    console.log(farewell({ ...options, variable: kubeconfigVariable(process.env) }, leftovers));
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
  else if (await mayStart(options)) process.exitCode = await demo(await withContext(options));
  // A script that waits for the samples must not continue without them.
  else process.exitCode = options.exit ? 1 : 0;
} catch (error) {
  console.error(error instanceof Error ? error.message : String(error));
  if (error instanceof UsageError) console.error('see: npm run demo -- --help');
  process.exitCode = error instanceof UsageError ? 2 : 1;
}
