/**
 * Brings up the node, the images and Berth itself, installed by its chart, once for all files (vitest's globalSetup).
 * Where no kubelet can run, the tests skip with the reason.
 */
import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { TestProject } from 'vitest/node';
import { CHART, profileFile } from '../../../scripts/manifests.ts';
import { pushBaseImage } from '../../cluster/images/base-images.ts';
import { type LocalBuildkit, startBuildkit } from '../../cluster/images/buildkit.ts';
import { kubectl as kubectlOf } from '../../cluster/kubectl.ts';
import { type RealNode, startRealNode } from '../../cluster/real-node/node.ts';
import { whyNoRealNode } from '../../cluster/real-node/preconditions.ts';
import { pushBerthImage } from '../../installation/berth-image.ts';
import { helm } from '../../installation/helm.ts';
import { BERTH_NAMESPACE } from '../../installation/install.ts';
import { NAMESPACE } from './environment.ts';
import { pushApps } from './images.ts';

const postgresManifest = fileURLToPath(new URL('postgres.yaml', import.meta.url));
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
    const apiKey = await installBerth(node, digest);
    const api = { host: await serviceAddress(node), port: 80 };
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

/** A database with an ordinary role, Secret and release; returns the API key. */
async function installBerth(node: RealNode, digest: string): Promise<string> {
  const kubectl = (args: readonly string[], input?: string) => kubectlOf(node, args, input);
  const secret = (namespace: string, name: string, values: Record<string, string>) =>
    kubectl(
      ['apply', '-f', '-'],
      JSON.stringify({
        apiVersion: 'v1',
        kind: 'Secret',
        metadata: { name, namespace },
        stringData: values,
      }),
    );
  const password = randomBytes(16).toString('hex');
  say('starting the PostgreSQL of Berth in the cluster …');
  await kubectl(
    ['apply', '-f', '-'],
    readFileSync(postgresManifest, 'utf8').replaceAll('IMAGE_HOST', node.imageHost),
  );
  await secret('berth-database', 'postgres', { password });
  await kubectl(['-n', 'berth-database', 'rollout', 'status', 'deploy/postgres', '--timeout=120s']);
  const psql = ['psql', '--username=postgres', '--set=ON_ERROR_STOP=1', '--file=-'];
  await kubectl(
    ['-n', 'berth-database', 'exec', '-i', 'deploy/postgres', '--', ...psql],
    `CREATE ROLE berth LOGIN PASSWORD '${password}';\nCREATE DATABASE berth OWNER berth;\n`,
  );
  for (const [name, level] of [
    [BERTH_NAMESPACE, 'restricted'],
    [NAMESPACE, 'baseline'],
  ] as const) {
    await kubectl(['create', 'namespace', name]);
    await kubectl(['label', 'namespace', name, `pod-security.kubernetes.io/enforce=${level}`]);
  }
  const apiKey = randomBytes(32).toString('hex');
  await secret(BERTH_NAMESPACE, 'berth', {
    DATABASE_URL: `postgres://berth:${password}@postgres.berth-database.svc.cluster.local/berth`,
    BERTH_ENCRYPTION_KEYS: `k1:${randomBytes(32).toString('base64')}`,
    BERTH_BOOTSTRAP_API_KEY: apiKey,
    BERTH_LISTENER_KEY: randomBytes(32).toString('hex'),
  });
  say('installing Berth (helm, profile single) …');
  const values = {
    'image.repository': `${node.imageHost}/berth`,
    'image.digest': digest,
    'namespaces.names': `{${NAMESPACE}}`,
    'config.BERTH_DATABASE_IMAGE': `${node.imageHost}/base/postgres:latest`,
    'config.BERTH_CACHE_IMAGE': `${node.imageHost}/base/redis:latest`,
    'config.BERTH_INSECURE_REGISTRIES': node.imageHost,
  };
  const settings = Object.entries(values).flatMap(([name, value]) => ['--set', `${name}=${value}`]);
  const profile = ['-f', profileFile('single')];
  await helm(node, [
    ...['install', 'berth', CHART, '-n', BERTH_NAMESPACE, ...profile, ...settings],
    ...['--wait', '--timeout', '120s'],
  ]);
  return apiKey;
}

function serviceAddress(node: RealNode): Promise<string> {
  const args = ['-n', BERTH_NAMESPACE, 'get', 'service', 'berth-api', '-o', 'jsonpath={.spec.clusterIP}'];
  return kubectlOf(node, args);
}
