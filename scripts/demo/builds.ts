import { randomBytes } from 'node:crypto';
import { hostname } from 'node:os';
import { BinariesMissingError } from '../../test/cluster/binaries.ts';
import type { KubectlAccess } from '../../test/cluster/kubectl.ts';
import { ProcessDiedError } from '../../test/cluster/processes.ts';
import { settingsForBuildNode, startBuildNode } from '../../test/installation/build-node.ts';
import { type BuildParts, startBuildParts } from '../../test/installation/build-parts.ts';
import { callApi, type Sample } from './samples.ts';
import type { DemoStack } from './stack.ts';

/** Image builds of the demo, with its own git host, registry, BuildKit and simulated node. */

const NODE = `demo-build-node-${hostname()
  .toLowerCase()
  .replace(/[^a-z0-9]+/g, '-')
  .replace(/^-+|-+$/g, '')}`;

export interface DemoBuilds {
  /** Settings of Berth. */
  readonly settings: Readonly<Record<string, string>>;
  /** Starts the node that runs the steps of builds. Berth must be installed in the cluster. */
  startNode(access: KubectlAccess): Promise<{ stop(): Promise<void> }>;
  /** Creates the integration and the repositories. Returns the bodies to POST. */
  samples(stack: DemoStack): Promise<Sample[]>;
  stop(): Promise<void>;
}

/** Starts the services that builds need. Returns null if this machine cannot build, after it has printed the reason. */
export async function openBuilds(
  stateDir: string,
  port: number,
  print: (line: string) => void,
): Promise<DemoBuilds | null> {
  const token = randomBytes(16).toString('hex');
  let parts: BuildParts;
  try {
    parts = await startBuildParts({ stateDir, port, token, log: print });
  } catch (error) {
    if (!(error instanceof BinariesMissingError || error instanceof ProcessDiedError)) throw error;
    print(`no builds: this machine cannot build. ${error.message}`);
    return null;
  }
  const { git, buildkit, registry } = parts;
  print(`git host ${git.url}, registry ${registry.host}, BuildKit ${buildkit.address}`);
  return {
    settings: { ...parts.settings, ...settingsForBuildNode(NODE, buildkit), BERTH_BUILDS: 'true' },
    startNode: (access) => startBuildNode(access, { stateDir, node: NODE, buildkit, ca: git.ca }),
    samples: (stack) => makeSamples(stack, parts, token),
    stop: () => parts.stop(),
  };
}

async function makeSamples(stack: DemoStack, { git, sample }: BuildParts, token: string): Promise<Sample[]> {
  const integration = await callApi<{ id: string }>(stack, 'POST', '/v2/integrations', {
    name: 'demo git host',
    provider: 'gitlab',
    host_url: git.url,
    token,
  });
  const made: Sample[] = [];
  for (const name of ['node', 'python'] as const) {
    await git.commitFiles(`demo/${name}`, sample(name));
    made.push({
      file: `repositories/${name}`,
      body: {
        name: `Hello from ${name}`,
        source: 'git_host',
        source_config: { repo_url: `${git.url}/demo/${name}.git`, integration_id: integration.id },
        source_revision_config: { workflow_config_path: 'berth.yaml' },
        secrets: [],
      },
    });
  }
  return made;
}
