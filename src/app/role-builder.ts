import { extname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { startBuildNode } from '../cluster/build-node/build-node.ts';
import { createKubeClient } from '../cluster/kube/client/client.ts';
import { type BuilderSettings, builderSettings } from '../config/index.ts';
import { clusterOptions } from './cluster-access.ts';
import type { RoleContext, RunningRole } from './role.ts';

/** Entry point for containers without a command, as in the image of Berth, whose sources are JavaScript. */
const MAIN = `../main${extname(import.meta.filename)}`;
const OWN = [process.execPath, fileURLToPath(new URL(MAIN, import.meta.url))];

/** Environment that the images of the steps would provide: PATH and certificates. */
function environmentOf({ path, caFile }: BuilderSettings): Record<string, string> {
  return {
    PATH: path,
    LANG: 'C.UTF-8',
    ...(caFile === null ? {} : { BERTH_BUILD_CA: caFile }),
  };
}

/**
 * Starts the local builder.
 * @throws Error when the configuration does not allow the local builder, or the cluster cannot be reached
 */
export async function startBuilder({ config, logger, version }: RoleContext): Promise<RunningRole> {
  const settings = builderSettings(config.clusterEnvironment);
  if (!settings.unsandboxed) {
    throw new Error(
      'failed to start the local builder: it has no sandbox, and runs the commands of everyone who can start a build ' +
        'with the rights of this user; next: to allow this, set BERTH_BUILDER_UNSANDBOXED=true',
    );
  }
  logger.warn(
    {},
    'the local builder has no sandbox: builds run as processes of this machine, with the rights of this user',
  );
  const client = await createKubeClient(
    clusterOptions(config, settings.kubeconfig, `berth-builder/${version}`),
  );
  const stopping = new AbortController();
  try {
    const environment = environmentOf(settings);
    const options = { ...settings, client, own: OWN, environment, version, logger };
    const node = await startBuildNode(options, stopping.signal);
    return {
      failed: new Promise<never>(() => undefined),
      notReady: () => null,
      stop: async () => {
        stopping.abort();
        await node.stop();
        await client.close();
      },
    };
  } catch (error) {
    await client.close();
    throw error;
  }
}
