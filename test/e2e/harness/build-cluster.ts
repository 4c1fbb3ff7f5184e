/** A real node of its own that builds repositories: Berth in cloud mode, a BuildKit daemon in a pod, and a git host. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { pushBaseImage } from '../../cluster/images/base-images.ts';
import { crane } from '../../cluster/images/crane.ts';
import { type GitOverHttps, startGitOverHttps } from '../../cluster/images/git-over-https.ts';
import type { FileChanges } from '../../cluster/images/git-repository.ts';
import { kubectl } from '../../cluster/kubectl.ts';
import { NODE_ADDRESS } from '../../cluster/real-node/addresses.ts';
import { type RealNode, startRealNode } from '../../cluster/real-node/node.ts';
import { VERSION } from '../../installation/version.ts';
import { installBerth } from './install-berth.ts';

const daemon = fileURLToPath(new URL('buildkitd.yaml', import.meta.url));
const repositories = fileURLToPath(new URL('../repositories', import.meta.url));
const BUILDS = 'berth-builds';
/** ConfigMap in the namespace of builds with the certificate authority of the git host. */
const AUTHORITY = 'git-authority';
/** The base of a Dockerfile, from the internet. */
const PYTHON_BASE = 'docker.io/library/python:3.11';

/** Base images by the repository from which builds pull them. */
const IMAGES = {
  postgres: 'base/postgres:latest',
  redis: 'base/redis:latest',
  buildkit: 'base/buildkit:latest',
  node: 'library/node:24',
  python: 'library/python:3.11',
} as const;

export interface BuildCluster {
  readonly node: RealNode;
  readonly git: GitOverHttps;
  /** Base URL of Berth's API, on this machine. */
  readonly apiUrl: string;
  readonly apiKey: string;
  /** Commits a repository of test/e2e/repositories. Returns the URL that pods clone. */
  push(name: 'node' | 'python'): Promise<string>;
  stop(): Promise<void>;
}

/** Settings of builds by the daemon. @param host of the registry of the node, from which builds pull base images */
export function buildValues(host: string): Record<string, string> {
  return {
    'config.BERTH_BUILD_INSECURE_REGISTRY': 'true',
    'config.BERTH_BUILD_BUILDKIT_IMAGE': `${host}/${IMAGES.buildkit}`,
    'config.BERTH_BUILD_BUILDKIT_HOST': 'tcp://buildkitd.buildkit.svc.cluster.local:1234',
    'config.BERTH_BUILD_BUILDKIT_SHARED': 'true',
    'config.BERTH_BUILD_NODE_IMAGE': `${host}/library/node:{version}`,
    'config.BERTH_BUILD_PYTHON_IMAGE': `${host}/library/python:{version}`,
    'config.BERTH_BUILD_CPU': '500m',
    'config.BERTH_BUILD_MEMORY': '512Mi',
  };
}

/** Settings for repositories: the registry of the node, and a git host at a private address. */
function values(host: string): Record<string, string> {
  return {
    ...buildValues(host),
    hosting: 'cloud',
    'config.BERTH_REGISTRY': host,
    'config.BERTH_BUILD_CA_CONFIG_MAP': AUTHORITY,
    'config.BERTH_GIT_ALLOW_PRIVATE': 'true',
  };
}

/**
 * Copies the image of Berth and base images to the registry of a node, and starts the daemon that builds.
 * @param from registry that has the image of Berth
 * @param registries hosts to which the daemon pushes, beside the registry of the node
 * @returns the digest of Berth's image
 */
export async function prepareBuilds(
  node: RealNode,
  from: string,
  registries: readonly string[] = [],
): Promise<string> {
  const { host } = node.registry;
  const berth = `${host}/berth:${VERSION}`;
  await crane(['copy', `${from}/berth:${VERSION}`, berth]);
  for (const [name, repository] of Object.entries(IMAGES))
    await pushBaseImage(name as keyof typeof IMAGES, host, { repository });
  const lines = [node.imageHost, ...registries].map((each) => `[registry."${each}"]\n      http = true`);
  const manifest = readFileSync(daemon, 'utf8')
    .replace('REGISTRIES', lines.join('\n    '))
    .replaceAll('IMAGE_HOST', node.imageHost);
  await kubectl(node, ['apply', '-f', '-'], manifest);
  return crane(['digest', berth]);
}

export const untilBuildkitRuns = (node: RealNode) =>
  kubectl(node, ['-n', 'buildkit', 'rollout', 'status', 'deploy/buildkitd', '--timeout=300s']);

function filesOf(name: string, host: string): FileChanges {
  const folder = join(repositories, name);
  const text = (file: string) => readFileSync(join(folder, file), 'utf8');
  return Object.fromEntries(
    readdirSync(folder).map((file) => [file, text(file).replace(PYTHON_BASE, `${host}/${IMAGES.python}`)]),
  );
}

/**
 * Starts it. It stops when this process ends.
 * @param from registry that has the image of Berth
 */
export async function startBuildCluster(from: string, say: (line: string) => void): Promise<BuildCluster> {
  const node = await startRealNode({ log: say });
  let git: GitOverHttps | undefined;
  const stop = async () => {
    await git?.stop();
    await node.stop();
  };
  try {
    say('copying images and starting BuildKit in a pod …');
    const digest = await prepareBuilds(node, from);
    git = await startGitOverHttps({ names: [NODE_ADDRESS] });
    const gitUrl = `https://${await node.expose(git.port)}`;
    const { api, apiKey } = await installBerth(node, { digest, values: values(node.imageHost), say });
    const literal = `--from-literal=ca.crt=${git.ca}`;
    await kubectl(node, ['-n', BUILDS, 'create', 'configmap', AUTHORITY, literal]);
    await untilBuildkitRuns(node);
    const started = git;
    return {
      node,
      git,
      apiUrl: await node.forward(api.host, api.port),
      apiKey,
      push: async (name) => {
        await started.commitFiles(`team/${name}`, filesOf(name, node.imageHost));
        return `${gitUrl}/team/${name}.git`;
      },
      stop,
    };
  } catch (error) {
    const pods = ['get', 'pods,events', '-A', '-o', 'wide'];
    console.error(await kubectl(node, pods).catch(String));
    await stop();
    throw error;
  }
}
