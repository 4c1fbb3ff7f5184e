/** Every program that some test needs and that is built with Go or unpacked: for runs of all tests. */
import { type ResolveOptions, resolveBinaries } from './binaries.ts';
import { resolveGitopsHealth } from './gitops-health.ts';
import { resolveHelm } from './helm.ts';
import { resolveImageTools, resolveRunc } from './images/tools.ts';
import { resolveKubeStateMetrics } from './kube-state-metrics.ts';
import { monitoringCrds } from './monitoring-crds.ts';
import { resolvePromtool } from './promtool.ts';

/**
 * Makes what is missing, one after the other: each build has the whole machine, and no test waits for one within its
 * own limit of time. 10 to 25 minutes where nothing is there yet, once per version; no time where all is.
 *
 * @throws BinariesMissingError where something is missing and Go, or Debian's packages, cannot be had
 */
export async function resolveEveryProgram(options: ResolveOptions = {}): Promise<void> {
  await resolveBinaries(options);
  await resolveImageTools(['registry', 'crane', 'buildkitd', 'buildctl'], options);
  await resolveHelm(options);
  await resolvePromtool(options);
  await resolveKubeStateMetrics(options);
  await monitoringCrds(options.env);
  await resolveGitopsHealth(options);
  await resolveRunc(options);
}
