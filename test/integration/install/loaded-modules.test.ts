/** Which modules a role loads. client-node takes 80 MiB and a second, so a role in a pod must not load it. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { inClusterSettings } from '../../installation/in-cluster.ts';
import { startWholeBerth, type WholeBerth } from '../harness/berth.ts';

const HOOK = fileURLToPath(new URL('../harness/log-modules.mjs', import.meta.url));
const CLIENT_NODE = '/node_modules/@kubernetes/client-node/';

type Role = Parameters<WholeBerth['startRole']>[0];

let berth: WholeBerth;
let apiUrl: string;

beforeAll(async () => {
  berth = await startWholeBerth('modules', { start: 'none' });
}, 180_000);
afterAll(() => berth?.stop());

const kubeconfigOf = (role: 'listener' | 'operator') =>
  berth.settings[`BERTH_${role.toUpperCase()}_KUBECONFIG`] ?? '';

const inCluster = (role: 'listener' | 'operator') =>
  inClusterSettings(kubeconfigOf(role), join(berth.stateDir, `${role}-account`));

/** Starts a role, waits until it is ready, and returns the URLs of its modules. */
async function modulesOf(role: Role, name: string, settings: Record<string, string>): Promise<string[]> {
  const file = join(berth.stateDir, `${name}.modules`);
  const hook = { NODE_OPTIONS: `--import=${HOOK}`, LOADED_MODULES: file };
  const started = await berth.startRole(role, name, { ...settings, ...hook });
  if (role === 'api') apiUrl = started.url;
  else await started.stop();
  const modules = readFileSync(file, 'utf8').trim().split('\n');
  expect(modules).toContainEqual(expect.stringMatching(/\/src\/cli\/admin\/roles\.ts$/));
  return modules;
}

const loadsClientNode = (modules: readonly string[]) => modules.some((url) => url.includes(CLIENT_NODE));

test.each<[Role, () => Record<string, string>]>([
  ['api', () => inCluster('listener')],
  ['listener', () => ({ ...inCluster('listener'), BERTH_HUB_URL: apiUrl })],
  ['operator', () => inCluster('operator')],
])('the role %s does not load client-node in a pod', async (role, settings) => {
  const modules = await modulesOf(role, `${role}-in-pod`, settings());
  expect(modules.filter((url) => url.includes(CLIENT_NODE))).toEqual([]);
  const account = /\/src\/cluster\/kube\/access\/service-account\.ts$/;
  expect(modules.some((url) => account.test(url))).toBe(role !== 'api');
});

test('a role with a kubeconfig loads client-node', async () => {
  expect(loadsClientNode(await modulesOf('operator', 'operator-outside', {}))).toBe(true);
});
