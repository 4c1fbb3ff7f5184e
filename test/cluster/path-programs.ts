/** Programs on the PATH, which the demo uses instead of a build if their version fits (docs/decisions/0098). */
import { execFile } from 'node:child_process';

export interface ProgramOnPath {
  readonly name: string;
  readonly path: string;
  /** The version that Berth is tested with, such as v1.36.3; for PostgreSQL, the oldest supported version. */
  readonly pinned: string;
}

/** The oldest PostgreSQL that Berth supports. */
export const MIN_POSTGRES = '15.0';

interface Version {
  readonly major: number;
  readonly minor: number;
  readonly patch: number;
}

interface Rule {
  /** Arguments that print the version. */
  readonly args: readonly string[];
  /** The versions that fit, for messages. */
  readonly needed: (pinned: Version) => string;
  readonly fits: (version: Version, pinned: Version) => boolean;
}

/** The parts of a control plane must agree, and the tests of Berth ran with the pinned minor version. */
const SAME_MINOR: Rule = {
  args: ['--version'],
  needed: ({ major, minor }) => `${major}.${minor} is needed`,
  fits: (version, pinned) => version.major === pinned.major && version.minor === pinned.minor,
};

const RULES: Readonly<Record<string, Rule>> = {
  'kube-apiserver': SAME_MINOR,
  'kube-controller-manager': SAME_MINOR,
  'kube-scheduler': SAME_MINOR,
  // Kubernetes supports a kubectl that is one minor version older or newer than the API server.
  kubectl: {
    args: ['version', '--client'],
    needed: ({ major, minor }) => `${major}.${minor - 1} to ${major}.${minor + 1} is needed`,
    fits: (version, pinned) => version.major === pinned.major && Math.abs(version.minor - pinned.minor) <= 1,
  },
  // Older versions are no longer maintained, and the documentation of Kubernetes recommends 3.5 or newer.
  etcd: {
    args: ['--version'],
    needed: () => '3.5 or newer is needed',
    fits: ({ major, minor }) => major === 3 && minor >= 5,
  },
  // The stages of test/cluster/stages use fields of the pinned version.
  kwok: {
    args: ['--version'],
    needed: ({ major, minor, patch }) => `${major}.${minor}.${patch} or newer is needed`,
    fits: (version, pinned) => version.major === pinned.major && compare(version, pinned) >= 0,
  },
  postgres: {
    args: ['--version'],
    needed: ({ major }) => `${major} or newer is needed`,
    fits: ({ major }, pinned) => major >= pinned.major,
  },
};

const TIMEOUT_MS = 5_000;

const compare = (one: Version, other: Version) =>
  one.major - other.major || one.minor - other.minor || one.patch - other.patch;

/** The first version in a text, such as "etcd Version: 3.6.4" or "kwok version v0.8.0 go1.26". null: it has none. */
export function versionIn(text: string): Version | null {
  const [, major, minor, patch] = /(?<![\w.])v?(\d+)\.(\d+)(?:\.(\d+))?/.exec(text) ?? [];
  if (major === undefined) return null;
  return { major: Number(major), minor: Number(minor), patch: Number(patch ?? 0) };
}

/**
 * Whether a program fits.
 * @param output what the program printed about its version; null: it failed or did not answer in time
 * @returns the version, or the reason why the program is not used
 */
export function checkProgram(
  { name, pinned }: Pick<ProgramOnPath, 'name' | 'pinned'>,
  output: string | null,
): { version: string } | { reason: string } {
  const rule = RULES[name];
  const wanted = versionIn(pinned);
  if (rule === undefined || wanted === null) return { reason: 'no version is known to fit' };
  if (output === null) return { reason: 'it does not print its version' };
  const found = versionIn(output);
  if (found === null) return { reason: 'it does not print its version' };
  const version = `${found.major}.${found.minor}.${found.patch}`;
  if (!rule.fits(found, wanted)) return { reason: `its version is ${version}, and ${rule.needed(wanted)}` };
  return { version };
}

/** What a program prints about its version. null: it failed or did not answer in time. */
function printedVersion(
  { name, path }: ProgramOnPath,
  env: NodeJS.ProcessEnv,
  timeout: number,
): Promise<string | null> {
  const options = { env, timeout, killSignal: 'SIGKILL' as const };
  return new Promise((resolve) => {
    const child = execFile(path, [...(RULES[name]?.args ?? ['--version'])], options, (error, stdout) =>
      resolve(error === null ? stdout : null),
    );
    child.stdin?.end();
  });
}

/**
 * The paths of the programs whose version fits. Prints a line for each program.
 * @returns absolute paths by name
 */
export async function programsOnPath(
  programs: readonly ProgramOnPath[],
  env: NodeJS.ProcessEnv,
  log: (line: string) => void,
  timeoutMs = TIMEOUT_MS,
): Promise<Record<string, string>> {
  const checked = await Promise.all(
    programs.map(async (program) => ({
      program,
      result: checkProgram(program, await printedVersion(program, env, timeoutMs)),
    })),
  );
  const used: Record<string, string> = {};
  for (const { program, result } of checked) {
    if ('version' in result) {
      used[program.name] = program.path;
      log(`Using ${program.path} (${result.version}).`);
    } else {
      log(`Ignoring ${program.path}: ${result.reason}.`);
    }
  }
  return used;
}
