/** What a cluster has besides the release: the definition with the rights of users, and the commands that remove an installation. */
import { expect, it } from 'vitest';
import { CHART, profileFile } from '../../../scripts/manifests.ts';
import { textOf } from '../../docs/pages.ts';
import { helm } from '../../installation/helm.ts';
import { parsed, type Rendered, render } from '../harness/chart.ts';
import { environment } from '../harness/environment.ts';

const page = textOf('docs/install.md');
const titles = (objects: Rendered[]) =>
  objects.map(({ kind, metadata }) => `${kind} ${metadata.name}`).sort();
const USER_ROLES = [
  'ClusterRole berth-deploymenttasks-run',
  'ClusterRole berth-deploymenttasks-view',
  'ClusterRole berth-manageddeployments-edit',
  'ClusterRole berth-manageddeployments-view',
];

/** Kinds that the commands with this start delete, in lower case. */
function deletedBy(start: RegExp): string[] {
  const lines = page.split('\n').filter((line) => start.test(line));
  expect(lines, String(start)).not.toEqual([]);
  const names = lines.flatMap((line) => (/ delete ([a-z,]+) /.exec(line)?.[1] ?? '').split(','));
  return names.map((name) => name.replace(/ies$/, 'y').replace(/(?<=ss)es$|(?<=[^s])s$/, ''));
}

it('renders everything that crds.install=false leaves out when the command of the page is used', async () => {
  const shown = [...page.matchAll(/--show-only (\S+)/g)].flatMap(([, file = '']) => ['--show-only', file]);
  expect(shown).not.toEqual([]);
  const alone = parsed(
    await helm(environment(), ['template', 'berth', CHART, '-n', 'berth-system', ...shown]),
  );
  const without = new Set(titles(await render('crds.install=false')));
  expect(titles(alone)).toEqual(titles(await render()).filter((title) => !without.has(title)));
  expect(titles(alone)).toEqual(expect.arrayContaining(USER_ROLES));
});

it('keeps all of it when the release is removed', async () => {
  const without = new Set(titles(await render('crds.install=false')));
  for (const object of await render()) {
    const [title = ''] = titles([object]);
    if (without.has(title)) continue;
    expect(object.metadata.annotations, title).toMatchObject({ 'helm.sh/resource-policy': 'keep' });
  }
});

it('gives Berth itself no ClusterRole with the profile namespaced', async () => {
  const args = ['template', 'berth', CHART, '-n', 'berth-system', '-f', profileFile('namespaced')];
  const objects = parsed(await helm(environment(), args));
  expect(titles(objects.filter(({ kind }) => kind.startsWith('ClusterRole')))).toEqual(USER_ROLES);
});

it('lists every kind of object in the commands that remove an installation without Helm', async () => {
  const everything = [
    'autoscaling.enabled=true',
    'ingress.enabled=true',
    'ingress.hosts[0].host=a.example',
    'metrics.prometheusRule.enabled=true',
    'metrics.dashboard.enabled=true',
    'policy=x',
  ];
  const modes = [
    ['hosting=cloud', 'podMonitor.enabled=true'],
    ['rbac.scope=namespaces', 'namespaces.names={apps}', 'serviceMonitor.enabled=true'],
  ];
  const own = deletedBy(/^kubectl -n berth-system delete .* -l app/);
  const builds = deletedBy(/^kubectl -n berth-builds delete .* -l app/);
  const ofCluster = deletedBy(/^kubectl delete (clusterroles,|validatingadmission.*berth-listener)/);
  const left: string[] = [];
  for (const mode of modes) {
    for (const object of await render(...everything, ...mode)) {
      const { namespace, annotations } = object.metadata;
      if (annotations?.['helm.sh/resource-policy'] === 'keep') continue;
      const deleted = namespace === undefined ? ofCluster : namespace === 'berth-system' ? own : builds;
      if (!deleted.includes(object.kind.toLowerCase())) left.push(`${namespace}: ${titles([object])}`);
    }
  }
  expect(left).toEqual([]);
});
