/** Helm, which tests use to render and install the chart. The first use builds it (2 minutes). */
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type BinaryGroup, pinnedVersion, type ResolveOptions, resolveGroup } from './binaries.ts';

const MODULE = 'helm.sh/helm/v4';
const moduleDir = join(dirname(fileURLToPath(import.meta.url)), 'helm');

/**
 * Absolute path of the pinned Helm. Builds it if it is missing.
 * @throws BinariesMissingError if it is missing and Go is not installed
 */
export async function resolveHelm(options: ResolveOptions = {}): Promise<string> {
  const version = pinnedVersion(readFileSync(join(moduleDir, 'go.mod'), 'utf8'), MODULE);
  const group: BinaryGroup<'helm'> = {
    name: 'helm',
    version,
    moduleDir,
    packages: { helm: `${MODULE}/cmd/helm` },
    ldflags: [`-X ${MODULE}/internal/version.version=${version}`],
  };
  const { helm } = await resolveGroup(group, ['helm'], installHint, options);
  return helm;
}

function installHint(): string {
  return [
    'The chart needs helm, and there is no Go to build it with. Do one of these:',
    '  - install Go 1.26 or newer (https://go.dev/dl) and try again: the build takes some minutes, once;',
    '  - set KUBEBUILDER_ASSETS to a folder that holds helm.',
  ].join('\n');
}
