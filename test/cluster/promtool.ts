/** promtool, which checks and tests the alert rules. The first use builds it (some minutes). */
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type BinaryGroup, pinnedVersion, type ResolveOptions, resolveGroup } from './binaries.ts';

const MODULE = 'github.com/prometheus/prometheus';
const moduleDir = join(dirname(fileURLToPath(import.meta.url)), 'prometheus');

/**
 * Absolute path of the pinned promtool. Builds it if it is missing.
 * @throws BinariesMissingError if it is missing and Go is not installed
 */
export async function resolvePromtool(options: ResolveOptions = {}): Promise<string> {
  const version = pinnedVersion(readFileSync(join(moduleDir, 'go.mod'), 'utf8'), MODULE);
  const group: BinaryGroup<'promtool'> = {
    name: 'prometheus',
    version,
    moduleDir,
    packages: { promtool: `${MODULE}/cmd/promtool` },
    ldflags: [`-X github.com/prometheus/common/version.Version=${version}`],
  };
  const { promtool } = await resolveGroup(group, ['promtool'], installHint, options);
  return promtool;
}

function installHint(): string {
  return [
    'The alert rules are checked with promtool, and there is no Go to build it with. Do one of these:',
    '  - install Go 1.26 or newer (https://go.dev/dl) and try again: the build takes some minutes, once;',
    '  - set KUBEBUILDER_ASSETS to a folder that holds promtool.',
  ].join('\n');
}
