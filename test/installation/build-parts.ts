/** What building for real needs beside a cluster, on one machine: two registries, BuildKit, base images, a git host. */
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { parse } from 'yaml';
import { pushBaseImage } from '../cluster/images/base-images.ts';
import { type LocalBuildkit, startBuildkit } from '../cluster/images/buildkit.ts';
import { type GitOverHttps, startGitOverHttps } from '../cluster/images/git-over-https.ts';
import type { FileChanges } from '../cluster/images/git-repository.ts';
import { type LocalRegistry, startRegistry, type TokenAuth } from '../cluster/images/registry.ts';
import { freePorts } from '../cluster/ports.ts';
import { runBerth } from './berth-process.ts';

const repositories = fileURLToPath(new URL('../samples/repositories/', import.meta.url));

export interface BuildParts {
  /** The platform's, which asks the hub who may push and pull. */
  readonly registry: LocalRegistry;
  readonly buildkit: LocalBuildkit;
  readonly git: GitOverHttps;
  /** Settings of Berth: its registry, the address that this sends clients to, base images that need no network. */
  readonly settings: Readonly<Record<string, string>>;
  /** Files of a sample repository, on base images that are here. */
  sample(name: 'node' | 'python'): FileChanges;
  stop(): Promise<void>;
}

export interface BuildPartsOptions {
  /** For settings of commands. */
  readonly stateDir: string;
  /** Port of the API to be started; 0: a free one. */
  readonly port: number;
  /** Token of the git host. */
  readonly token: string;
  readonly log?: (line: string) => void;
}

/** What `berth keys registry -o json` prints. */
interface MadeKey {
  readonly signing_key: string;
  readonly jwks: object;
  readonly config: string;
}

/** A new key with which the hub authorizes access to a registry. */
export interface RegistryKey {
  /** Value of BERTH_REGISTRY_SIGNING_KEY. */
  readonly signingKey: string;
  readonly auth: TokenAuth;
}

/** Creates the key as an administrator does. @param settings BERTH_REGISTRY and BERTH_PUBLIC_URL */
export async function makeRegistryKey(
  stateDir: string,
  settings: Readonly<Record<string, string>>,
): Promise<RegistryKey> {
  const key = JSON.parse(await runBerth(stateDir, ['keys', 'registry', '-o', 'json'], settings)) as MadeKey;
  return { signingKey: key.signing_key, auth: authOf(key) };
}

function authOf({ config, jwks }: MadeKey): TokenAuth {
  const { realm, service, issuer, signingalgorithms } = (
    parse(config) as { auth: { token: TokenAuth & { signingalgorithms: string[] } } }
  ).auth.token;
  return { realm, service, issuer, signingAlgorithms: signingalgorithms, jwks: JSON.stringify(jwks) };
}

const SAMPLES = {
  node: ['berth.yaml', 'package.json', 'package-lock.json', 'build.js', 'server.js'],
  python: ['berth.yaml', 'Dockerfile', 'server.py'],
} as const;
/** The base in the sample's own Dockerfile: from the internet. */
const PYTHON_BASE = 'docker.io/library/python:3.11-slim-bookworm';

/**
 * Starts them; each ends with this process.
 * @throws BinariesMissingError where this machine cannot build
 */
export async function startBuildParts(options: BuildPartsOptions): Promise<BuildParts> {
  const { stateDir, token, log } = options;
  const [registryPort = 0, basesPort = 0, free = 0] = await freePorts(3);
  const port = options.port || free;
  const platform = `127.0.0.1:${registryPort}`;
  const settings = { BERTH_REGISTRY: platform, BERTH_PUBLIC_URL: `http://localhost:${port}` };
  const { signingKey, auth } = await makeRegistryKey(stateDir, settings);
  const started: { stop(): Promise<void> }[] = [];
  const keep = <T extends { stop(): Promise<void> }>(part: T): T => {
    started.push(part);
    return part;
  };
  const stop = async () => {
    for (const part of started.reverse()) await part.stop();
  };
  try {
    // First what not every machine can run.
    const registries = [platform, `127.0.0.1:${basesPort}`].map((host) => ({ host, http: true }));
    const buildkit = keep(await startBuildkit({ registries, ...(log === undefined ? {} : { log }) }));
    const registry = keep(await startRegistry({ port: registryPort, auth }));
    const bases = keep(await startRegistry({ port: basesPort }));
    const git = keep(await startGitOverHttps({ token }));
    const node = await pushBaseImage('node', bases.host, { repository: 'library/node:24' });
    const python = await pushBaseImage('python', bases.host, { repository: 'library/python:3.11' });
    return {
      registry,
      buildkit,
      git,
      settings: {
        ...settings,
        BERTH_PORT: String(port),
        BERTH_REGISTRY_SIGNING_KEY: signingKey.replaceAll('\n', '\\n'),
        // The git host is on loopback.
        BERTH_GIT_ALLOW_PRIVATE: 'true',
        BERTH_BUILD_NODE_IMAGE: node.ref.replace(/:[^:]*$/, ':{version}'),
        BERTH_BUILD_PYTHON_IMAGE: python.ref.replace(/:[^:]*$/, ':{version}'),
      },
      sample: (name) =>
        Object.fromEntries(
          SAMPLES[name].map((file) => [
            file,
            readFileSync(`${repositories}${name}/${file}`, 'utf8').replaceAll(PYTHON_BASE, python.ref),
          ]),
        ),
      stop,
    };
  } catch (error) {
    await stop();
    throw error;
  }
}
