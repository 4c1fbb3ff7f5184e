/** kube-score, which checks the chart and the objects of deployments. Built when a test asks for it first (a minute). */
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type BinaryGroup, pinnedVersion, type ResolveOptions, resolveGroup } from './binaries.ts';

const MODULE = 'github.com/zegl/kube-score';
const moduleDir = join(dirname(fileURLToPath(import.meta.url)), 'kube-score');

/**
 * Absolute path of the pinned kube-score. It is built if it is missing.
 * @throws BinariesMissingError if it is missing and Go is not installed either
 */
export async function resolveKubeScore(options: ResolveOptions = {}): Promise<string> {
  const version = pinnedVersion(readFileSync(join(moduleDir, 'go.mod'), 'utf8'), MODULE);
  const group: BinaryGroup<'kube-score'> = {
    name: 'kube-score',
    version,
    moduleDir,
    packages: { 'kube-score': `${MODULE}/cmd/kube-score` },
    ldflags: [],
  };
  const found = await resolveGroup(group, ['kube-score'], installHint, options);
  return found['kube-score'];
}

function installHint(): string {
  return [
    'The chart is checked with kube-score, and there is no Go to build it with. Do one of these:',
    '  - install Go 1.26 or newer (https://go.dev/dl) and try again: the build takes a minute, once;',
    '  - set KUBEBUILDER_ASSETS to a folder that holds kube-score.',
  ].join('\n');
}
