/**
 * The programs that build and store images: BuildKit, the registry of the distribution project, crane, runc.
 *
 * Each program is searched, and built if it is missing, at its first use, because a build of buildkitd takes minutes. The Go
 * modules next to this file pin the versions. runc comes from Debian, because a runc that is built without cgo has no
 * seccomp support.
 */
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import {
  type BinaryGroup,
  missingOf,
  pinnedVersion,
  type ResolveOptions,
  resolveGroup,
} from '../binaries.ts';
import { debianTree } from './debian-packages.ts';

/** Programs that are built with Go. */
export type ImageTool = 'buildkitd' | 'buildctl' | 'registry' | 'crane';

/**
 * Time limit in milliseconds for a start of one of these programs, which may have to be built first. For a `beforeAll`, whose
 * default limit is too short for this.
 */
export const FIRST_TIME_MS = 900_000;

const modules = join(dirname(fileURLToPath(import.meta.url)), 'modules');

/** Module and package of each program. */
const SOURCES: Record<ImageTool, { group: string; module: string; package: string }> = {
  buildkitd: { group: 'buildkit', module: 'github.com/moby/buildkit', package: 'cmd/buildkitd' },
  buildctl: { group: 'buildkit', module: 'github.com/moby/buildkit', package: 'cmd/buildctl' },
  registry: { group: 'registry', module: 'github.com/distribution/distribution/v3', package: 'cmd/registry' },
  crane: { group: 'crane', module: 'github.com/google/go-containerregistry', package: 'cmd/crane' },
};

function groupOf(tool: ImageTool): BinaryGroup<ImageTool> {
  const { group, module } = SOURCES[tool];
  const moduleDir = join(modules, group);
  const version = pinnedVersion(readFileSync(join(moduleDir, 'go.mod'), 'utf8'), module);
  const ofGroup = Object.entries(SOURCES).filter(([, source]) => source.group === group);
  return {
    name: group,
    version,
    moduleDir,
    packages: Object.fromEntries(
      ofGroup.map(([name, source]) => [name, `${source.module}/${source.package}`]),
    ),
    ldflags: [`-X ${module}/version.Version=${version}`],
  };
}

/** The pinned version of a program. */
export const imageToolVersion = (tool: ImageTool): string => groupOf(tool).version;

/**
 * Absolute paths of these programs. Builds missing ones (some minutes, once per version).
 * @throws BinariesMissingError if a program is missing and Go is not installed
 */
export async function resolveImageTools<Tool extends ImageTool>(
  tools: readonly Tool[],
  options: ResolveOptions = {},
): Promise<Record<Tool, string>> {
  const found = {} as Record<Tool, string>;
  for (const tool of tools)
    Object.assign(found, await resolveGroup(groupOf(tool), [tool], installHint, options));
  return found;
}

/** The programs for builds of images that `resolveImageTools` would build. */
export async function missingImageTools(options: ResolveOptions = {}): Promise<ImageTool[]> {
  const groups = (['buildkitd', 'registry', 'crane'] as const).map(groupOf);
  return (await Promise.all(groups.map((group) => missingOf(group, options)))).flat();
}

/**
 * Absolute path of runc, which is unpacked from Debian's package into the cache.
 * @throws BinariesMissingError if Debian's packages are not available
 */
export async function resolveRunc(options: ResolveOptions = {}): Promise<string> {
  const tree = await debianTree({ name: 'runc', packages: ['runc'] }, options);
  return join(tree, 'usr', 'sbin', 'runc');
}

function installHint(missing: readonly string[]): string {
  return [
    `Image builds need ${missing.join(', ')}, and there is no Go to build ${missing.length > 1 ? 'them' : 'it'} with. Do one of these:`,
    '  - install Go 1.26 or newer (https://go.dev/dl) and try again: the build takes some minutes, once;',
    '  - set KUBEBUILDER_ASSETS to a folder that holds these programs.',
  ].join('\n');
}
