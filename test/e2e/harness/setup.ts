/**
 * Brings up the node, the images and Berth itself, installed by its chart, once for all files (vitest's globalSetup).
 * Where no kubelet can run, the tests skip with the reason.
 */
import type { TestProject } from 'vitest/node';
import { pushBaseImage } from '../../cluster/images/base-images.ts';
import { type LocalBuildkit, startBuildkit } from '../../cluster/images/buildkit.ts';
import { kubectl as kubectlOf } from '../../cluster/kubectl.ts';
import { type RealNode, startRealNode } from '../../cluster/real-node/node.ts';
import { whyNoRealNode } from '../../cluster/real-node/preconditions.ts';
import { pushBerthImage } from '../../installation/berth-image.ts';
import { BERTH_NAMESPACE } from '../../installation/install.ts';
import { NAMESPACE } from './environment.ts';
import { NGINX, pushApps } from './images.ts';
import { createNamespace, installBerth } from './install-berth.ts';

const began = Date.now();
const say = (line: string) =>
  console.log(`${((Date.now() - began) / 1000).toFixed(1).padStart(6)}s  ${line}`);

export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const why = whyNoRealNode();
  if (why !== undefined) {
    project.provide('realNode', why);
    return async () => {};
  }
  say('starting a real node (kubelet, containerd, runc) and the control plane …');
  const node = await startRealNode({ log: say });
  try {
    const digest = await pushImages(node);
    await createNamespace(node, NAMESPACE, 'baseline');
    const values = { 'namespaces.names': `{${NAMESPACE}}` };
    const { apiKey, api } = await installBerth(node, { digest, values, say });
    say('Berth is installed');
    const { stateDir, kubeconfigPath, kubectlPath, imageHost, registry } = node;
    const pushHost = registry.host;
    project.provide('realNode', { stateDir, kubeconfigPath, kubectlPath, imageHost, pushHost, api, apiKey });
  } catch (error) {
    console.error(await podReports(node).catch(String));
    await node.stop();
    throw error;
  }
  return () => node.stop();
}

/** Reports of pods, Events and logs, to find out why the installation failed. */
async function podReports(node: RealNode): Promise<string> {
  const berth = ['-n', BERTH_NAMESPACE];
  const asked = [
    ['get', 'pods', '-A', '-o', 'wide'],
    [...berth, 'get', 'events', '--sort-by=.lastTimestamp'],
    [...berth, 'logs', '-l', 'app.kubernetes.io/name=berth', '--tail=30', '--prefix'],
  ];
  const said = await Promise.all(asked.map((args) => kubectlOf(node, args).catch(String)));
  return said.join('\n');
}

/** Builds them all; returns the digest of Berth's own. */
async function pushImages({ registry }: RealNode): Promise<string> {
  for (const name of ['static', 'postgres', 'redis'] as const) await pushBaseImage(name, registry.host);
  await pushBaseImage('nginx', registry.host, { repository: NGINX });
  say("building Berth's image from the Dockerfile (BuildKit) …");
  const buildkit: LocalBuildkit = await startBuildkit({ registries: [{ host: registry.host, http: true }] });
  try {
    const digest = await pushBerthImage(buildkit, registry.host);
    say('building the images of the apps …');
    await pushApps(buildkit, registry.host);
    return digest;
  } finally {
    await buildkit.stop();
  }
}
