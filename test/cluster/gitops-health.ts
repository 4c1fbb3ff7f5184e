/** The health of objects as kstatus and Argo CD compute it. Built when a test asks for it first (a minute). */
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { json, text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { type BinaryGroup, pinnedVersion, type ResolveOptions, resolveGroup } from './binaries.ts';

const MODULE = 'sigs.k8s.io/cli-utils';
const moduleDir = join(dirname(fileURLToPath(import.meta.url)), 'gitops-health');

/** The computed health of one object. */
export interface Health {
  /** Current, InProgress, Failed, Terminating, NotFound or Unknown. */
  readonly kstatus: string;
  /** Healthy, Progressing, Degraded or Suspended. */
  readonly argocd: string;
  /** The messages of kstatus and Argo CD. */
  readonly messages: readonly [string, string];
}

/**
 * Absolute path of the program; builds it where it is missing.
 * @throws BinariesMissingError if it is missing and Go is not installed either
 */
export async function resolveGitopsHealth(options: ResolveOptions = {}): Promise<string> {
  const read = (name: string) => readFileSync(join(moduleDir, name), 'utf8');
  const source = createHash('sha256').update(read('main.go')).update(read('go.sum')).digest('hex');
  const group: BinaryGroup<'gitops-health'> = {
    name: 'gitops-health',
    // The program is our own, so its source is part of the version.
    version: `${pinnedVersion(read('go.mod'), MODULE)}-${source.slice(0, 12)}`,
    moduleDir,
    packages: { 'gitops-health': '.' },
    ldflags: [],
  };
  const found = await resolveGroup(group, ['gitops-health'], installHint, options);
  return found['gitops-health'];
}

/**
 * @param script health script of Argo CD
 * @throws Error when the program rejects an object or the script
 */
export async function healthOf(objects: readonly object[], script: string): Promise<Health[]> {
  const child = spawn(await resolveGitopsHealth(), { stdio: ['pipe', 'pipe', 'pipe'] });
  child.stdin.end(JSON.stringify({ script, objects }));
  const ended = once(child, 'close');
  const problem = text(child.stderr);
  const found = json(child.stdout).catch(() => null);
  const [code] = (await ended) as [number];
  if (code !== 0) throw new Error(await problem);
  return (await found) as Health[];
}

function installHint(): string {
  return [
    'Statuses are checked with kstatus and Lua, and there is no Go to build the program with. Do one of these:',
    '  - install Go 1.26 or newer (https://go.dev/dl) and try again: the build takes a minute, once;',
    '  - set KUBEBUILDER_ASSETS to a folder that holds gitops-health.',
  ].join('\n');
}
