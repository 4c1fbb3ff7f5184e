/** Several releases of the chart in one real cluster: with disjoint namespaces they work, and an overlap is refused. */
import { mkdirSync, mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { CHART } from '../../../scripts/manifests.ts';
import { FEW_COLLECTIONS, type LocalCluster, startCluster } from '../../cluster/cluster.ts';
import { FIRST_TIME_MS } from '../../cluster/images/tools.ts';
import { kubectl as kubectlOf, writeServiceAccountKubeconfig } from '../../cluster/kubectl.ts';
import { startWatchdog, type Watchdog } from '../../cluster/processes.ts';
import { waitFor } from '../../cluster/wait.ts';
import type { BerthProcess } from '../../installation/berth-process.ts';
import { helm as helmOf } from '../../installation/helm.ts';
import { set } from '../harness/chart.ts';
import { startInstalled } from '../harness/installed.ts';
import { checkOut, previousVersion } from '../harness/previous-version.ts';

let cluster: LocalCluster;
let stateDir: string;
let watchdog: Watchdog;
const processes: BerthProcess[] = [];

const kubectl = (...args: string[]) => kubectlOf(cluster, args);

beforeAll(async () => {
  stateDir = mkdtempSync(join(realpathSync(tmpdir()), 'berth-releases-'));
  watchdog = startWatchdog(stateDir, { removeState: true });
  cluster = await startCluster({ ...FEW_COLLECTIONS, log: () => undefined });
  for (const name of ['one', 'two', 'three', 'shop', 'search', 'mail'])
    await kubectl('create', 'namespace', name);
}, FIRST_TIME_MS);
afterAll(async () => {
  await Promise.all(processes.map((process) => process.stop()));
  await cluster?.stop();
  watchdog?.release();
  rmSync(stateDir, { recursive: true, force: true });
});

/** Arguments of an installation with an operator, which needs no database. */
const release = (name: string, namespace: string, ...values: string[]) => [
  ...['install', name, CHART, '-n', namespace],
  ...set(['api.enabled=false', 'listener.enabled=false', 'migrate.enabled=false', ...values]),
];
const install = (name: string, namespace: string, ...values: string[]) =>
  helmOf(cluster, release(name, namespace, ...values));
/** Values of a release that has only an API. */
const API_ONLY = ['api.enabled=true', 'operator.enabled=false', 'crds.install=false'];
/** Values of a release that has rights in some namespaces only. */
const within = (...names: string[]) => ['rbac.scope=namespaces', `namespaces.names={${names.join(',')}}`];

it('refuses a first release that does not install the CRD', async () => {
  await expect(install('one', 'one', ...within('shop'), 'crds.install=false')).rejects.toThrow(
    'no release has installed the custom resource definition',
  );
});

it('installs two releases with disjoint namespaces, and each operator works in its own namespace only', async () => {
  await install('one', 'one', ...within('shop'));
  await install('two', 'two', ...within('search'), 'crds.install=false');
  await kubectl('wait', '--for=condition=Established', '--timeout=60s', 'crd/manageddeployments.berth.dev');
  for (const namespace of ['one', 'two']) {
    const started = await startInstalled(cluster, stateDir, 'http://127.0.0.1:9', namespace);
    processes.push(...started.processes);
  }
  expect(processes).toHaveLength(2);
  const spec = { revision: { image: 'registry.example/web:1' } };
  for (const namespace of ['shop', 'search', 'mail']) {
    const object = {
      apiVersion: 'berth.dev/v1alpha1',
      kind: 'ManagedDeployment',
      metadata: { name: 'app', namespace },
      spec,
    };
    await kubectlOf(cluster, ['apply', '-f', '-'], JSON.stringify(object));
  }
  const deployments = async (namespace: string) => {
    const text = await kubectl('get', 'deployments', '-n', namespace, '-o', 'json');
    return (JSON.parse(text) as { items: object[] }).items;
  };
  for (const namespace of ['shop', 'search']) {
    await waitFor(
      `a Deployment in ${namespace}`,
      async () => ((await deployments(namespace)).length > 0 ? true : undefined),
      { timeoutMs: 60_000 },
    );
  }
  expect(await deployments('mail')).toEqual([]);
});

it.each([
  [
    'in a namespace of another one',
    [...within('search', 'mail')],
    /release two in the namespace two works in search, and/,
  ],
  ['in all namespaces', [], /namespaces\.names: the release (one|two) .* works in (shop|search), and/],
  [
    'that installs the CRD again',
    ['crds.install=true', ...within('mail')],
    /release one .* installs the custom/,
  ],
])('refuses a release %s', async (_, values, message) => {
  await expect(install('three', 'three', 'crds.install=false', ...values)).rejects.toThrow(message);
  expect(await helmOf(cluster, ['list', '-n', 'three', '-q'])).toBe('');
});

it('refuses a second release in the namespace of another one', async () => {
  await expect(install('other', 'two', ...within('mail'), 'crds.install=false')).rejects.toThrow(
    'the release two in the namespace two: a namespace can hold one release',
  );
});

it('refuses a second release in the namespace of one that has only an API, and the reverse', async () => {
  await kubectl('create', 'namespace', 'hub');
  await install('hub', 'hub', ...API_ONLY);
  for (const values of [API_ONLY, [...within('mail'), 'crds.install=false']]) {
    await expect(install('other', 'hub', ...values)).rejects.toThrow(
      'the release hub in the namespace hub: a namespace can hold one release',
    );
  }
  await expect(install('other', 'two', ...API_ONLY)).rejects.toThrow('the release two in the namespace two');
  const [, ...again] = release('hub', 'hub', ...API_ONLY);
  await helmOf(cluster, ['upgrade', ...again]);
});

it('refuses an upgrade that would overlap, and accepts one that would not', async () => {
  const upgrade = (...names: string[]) => {
    const [, ...args] = release('two', 'two', ...within(...names), 'crds.install=false');
    return helmOf(cluster, ['upgrade', ...args]);
  };
  await expect(upgrade('search', 'shop')).rejects.toThrow(
    /the release one in the namespace one works in shop/,
  );
  await upgrade('search', 'mail');
});

it('needs rights in the namespaces of the release only when rbac.checkAllNamespaces is false', async () => {
  await kubectl('create', 'namespace', 'news');
  await kubectl('create', 'serviceaccount', 'installer', '-n', 'three');
  for (const namespace of ['three', 'news', 'search']) {
    const account = ['--clusterrole=cluster-admin', '--serviceaccount=three:installer'];
    await kubectl('create', 'rolebinding', 'installer', '-n', namespace, ...account);
  }
  const kubeconfigPath = join(stateDir, 'installer.kubeconfig');
  await writeServiceAccountKubeconfig(cluster, { namespace: 'three', name: 'installer' }, kubeconfigPath);
  const asInstaller = (...values: string[]) =>
    helmOf({ ...cluster, kubeconfigPath }, release('three', 'three', 'crds.install=false', ...values));
  await expect(asInstaller(...within('news'))).rejects.toThrow(/rolebindings.* is forbidden/);
  const unchecked = 'rbac.checkAllNamespaces=false';
  await expect(asInstaller(...within('search'), unchecked)).rejects.toThrow(
    /the release two .* works in search/,
  );
  await asInstaller(...within('news'), unchecked);
});

it('accepts a release in the namespaces of one that was uninstalled', async () => {
  await helmOf(cluster, ['uninstall', 'three', '-n', 'three']);
  await install('four', 'three', ...within('news'), 'crds.install=false');
});

it('finds the namespaces of a release of the previous chart, which does not state them', async ({ skip }) => {
  const previous = previousVersion();
  if ('missing' in previous) return skip(previous.missing);
  const folder = join(stateDir, 'previous');
  mkdirSync(folder);
  checkOut(previous.commit, folder);
  for (const name of ['older', 'five', 'films']) await kubectl('create', 'namespace', name);
  const older = (command: string, ...values: string[]) => {
    const [, name = '', , ...args] = release('older', 'older', ...values, 'crds.install=false');
    return helmOf(cluster, [command, name, join(folder, 'manifests/helm/berth'), ...args]);
  };
  const five = (command: string, ...names: string[]) => {
    const [, ...args] = release('five', 'five', ...within(...names), 'crds.install=false');
    return helmOf(cluster, [command, ...args]);
  };
  await older('install', 'namespaces.names={music}');
  await expect(five('install', 'music')).rejects.toThrow(
    /the release older in the namespace older works in music, and/,
  );
  await five('install', 'films');
  await older('upgrade');
  await expect(five('upgrade', 'films')).rejects.toThrow(/the release older .* works in films, and/);
  await helmOf(cluster, ['uninstall', 'older', '-n', 'older']);
});

it('keeps the definition and the rights of users when their release is removed, and another release takes them over', async () => {
  await helmOf(cluster, ['uninstall', 'one', '-n', 'one']);
  const kept = [
    'crd/manageddeployments.berth.dev',
    'clusterrole/berth-manageddeployments-view',
    'clusterrole/berth-manageddeployments-edit',
  ];
  const owners = async () => {
    const path = '{.items[*].metadata.annotations.meta\\.helm\\.sh/release-name}';
    return kubectl('get', ...kept, '-o', `jsonpath=${path}`);
  };
  expect(await owners()).toBe('one one one');
  const values = ['--reset-then-reuse-values', ...set(['crds.install=true'])];
  const upgrade = ['upgrade', 'two', CHART, '-n', 'two', ...values];
  await expect(helmOf(cluster, upgrade)).rejects.toThrow(/ownership/);
  await helmOf(cluster, [...upgrade, '--take-ownership']);
  expect(await owners()).toBe('two two two');
  expect(await kubectl('get', 'mdep', '-n', 'search', '-o', 'name')).toContain('app');
});
