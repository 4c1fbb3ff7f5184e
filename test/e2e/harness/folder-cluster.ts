/** A real node of its own on which Berth, in self_hosted mode, builds folders: its registry asks the hub who may pull and push. */
import { type LocalRegistry, startRegistry } from '../../cluster/images/registry.ts';
import { kubectl } from '../../cluster/kubectl.ts';
import { freePorts } from '../../cluster/ports.ts';
import { NODE_ADDRESS } from '../../cluster/real-node/addresses.ts';
import { type RealNode, startRealNode } from '../../cluster/real-node/node.ts';
import { makeRegistryKey } from '../../installation/build-parts.ts';
import { buildValues, prepareBuilds, untilBuildkitRuns } from './build-cluster.ts';
import { NAMESPACE } from './environment.ts';
import { createNamespace, installBerth } from './install-berth.ts';

export interface FolderCluster {
  readonly node: RealNode;
  /** Base URL of Berth's API, on this machine. */
  readonly apiUrl: string;
  readonly apiKey: string;
  stop(): Promise<void>;
}

/**
 * Starts it. It stops when this process ends.
 * @param from registry that has the image of Berth
 */
export async function startFolderCluster(from: string, say: (line: string) => void): Promise<FolderCluster> {
  const node = await startRealNode({ log: say });
  let registry: LocalRegistry | undefined;
  const stop = async () => {
    await registry?.stop();
    await node.stop();
  };
  try {
    const [registryPort = 0, apiPort = 0] = await freePorts(2);
    const platform = `${NODE_ADDRESS}:${registryPort}`;
    const settings = { BERTH_REGISTRY: platform, BERTH_PUBLIC_URL: `http://${NODE_ADDRESS}:${apiPort}` };
    const { signingKey, auth } = await makeRegistryKey(node.stateDir, settings);
    registry = await startRegistry({ port: registryPort, auth });
    await node.expose(registryPort);
    node.pullFrom(platform);
    const digest = await prepareBuilds(node, from, [platform]);
    await createNamespace(node, NAMESPACE, 'baseline');
    const values = {
      ...buildValues(node.imageHost),
      'builds.enabled': 'true',
      'namespaces.names': `{${NAMESPACE}}`,
      'config.BERTH_REGISTRY': settings.BERTH_REGISTRY,
      'config.BERTH_PUBLIC_URL': settings.BERTH_PUBLIC_URL,
      'config.BERTH_INSECURE_REGISTRIES': `${node.imageHost}\\,${platform}`,
    };
    const secrets = { BERTH_REGISTRY_SIGNING_KEY: signingKey };
    const { api, apiKey } = await installBerth(node, { digest, values, secrets, say });
    const apiUrl = await node.forward(api.host, api.port, apiPort);
    await node.expose(apiPort);
    await untilBuildkitRuns(node);
    return { node, apiUrl, apiKey, stop };
  } catch (error) {
    const pods = ['get', 'pods,events', '-A', '-o', 'wide'];
    console.error(await kubectl(node, pods).catch(String));
    await stop();
    throw error;
  }
}
