/** All programs that tests need and that are built with Go, unpacked from packages or installed. */
import { resolveGenerators } from '../clients/generators.ts';
import { type ResolveOptions, resolveBinaries } from './binaries.ts';
import { resolveGitopsHealth } from './gitops-health.ts';
import { resolveHelm } from './helm.ts';
import { resolveImageTools, resolveRunc } from './images/tools.ts';
import { resolveKubeScore } from './kube-score.ts';
import { resolveKubeStateMetrics } from './kube-state-metrics.ts';
import { monitoringCrds } from './monitoring-crds.ts';
import { resolveNode22 } from './node-22.ts';
import { resolvePromtool } from './promtool.ts';
import { resolveTmux } from './tmux.ts';

/**
 * Builds missing programs one after the other, so that each build can use the whole machine and no test waits for a build.
 * Takes 10 to 25 minutes if all are missing, once per version.
 *
 * @throws BinariesMissingError if a program is missing, and Go or Debian's packages are not available
 */
export async function resolveEveryProgram(options: ResolveOptions = {}): Promise<void> {
  await resolveBinaries(options);
  await resolveImageTools(['registry', 'crane', 'buildkitd', 'buildctl'], options);
  await resolveHelm(options);
  await resolvePromtool(options);
  await resolveKubeScore(options);
  await resolveKubeStateMetrics(options);
  await monitoringCrds(options.env);
  await resolveGitopsHealth(options);
  await resolveRunc(options);
  await resolveGenerators(options);
  await resolveNode22(options);
  await resolveTmux(options);
}
