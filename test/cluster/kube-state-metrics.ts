/** kube-state-metrics, which reads the metrics of custom resources. The first test that needs it builds it (2 minutes). */
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type BinaryGroup, pinnedVersion, type ResolveOptions, resolveGroup } from './binaries.ts';

const MODULE = 'k8s.io/kube-state-metrics/v2';
const moduleDir = join(dirname(fileURLToPath(import.meta.url)), 'kube-state-metrics');

/**
 * Absolute path of the pinned version of kube-state-metrics. Builds it if the cache does not contain it.
 * @throws BinariesMissingError if it is missing and Go is not installed either
 */
export async function resolveKubeStateMetrics(options: ResolveOptions = {}): Promise<string> {
  const version = pinnedVersion(readFileSync(join(moduleDir, 'go.mod'), 'utf8'), MODULE);
  const group: BinaryGroup<'kube-state-metrics'> = {
    name: 'kube-state-metrics',
    version,
    moduleDir,
    packages: { 'kube-state-metrics': MODULE },
    ldflags: [`-X github.com/prometheus/common/version.Version=${version}`],
  };
  const found = await resolveGroup(group, ['kube-state-metrics'], installHint, options);
  return found['kube-state-metrics'];
}

function installHint(): string {
  return [
    'The metrics of custom resources are tested with kube-state-metrics, and there is no Go to build it with. Do one of these:',
    '  - install Go 1.26 or newer (https://go.dev/dl) and try again: the build takes some minutes, once;',
    '  - set KUBEBUILDER_ASSETS to a folder that holds kube-state-metrics.',
  ].join('\n');
}
