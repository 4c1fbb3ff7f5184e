import { execFileSync } from 'node:child_process';
import { describe, expect, test } from 'vitest';
import { type ClusterObject, refusal, withContext } from '../../../scripts/demo/given-cluster.ts';
import { farewell } from '../../../scripts/demo/leftovers.ts';
import { parseOptions } from '../../../scripts/demo/options.ts';
import { installedObjects } from '../../installation/install.ts';

const now = new Date('2026-01-15T09:30:00.000Z');
const empty = { workloads: [], existing: [], lease: null };

const object = (kind: string, name: string, ...managers: string[]): ClusterObject => ({
  kind,
  metadata: {
    name,
    managedFields: [
      ...managers.map((manager) => ({ manager })),
      { manager: 'kube-apiserver', subresource: 'status' },
    ],
  },
});
const crd = (...managers: string[]) =>
  object('CustomResourceDefinition', 'manageddeployments.berth.dev', ...managers);
const lease = (seconds: number, holderIdentity = 'someone') => ({
  spec: {
    holderIdentity,
    leaseDurationSeconds: 15,
    renewTime: new Date(now.getTime() - seconds * 1000).toISOString(),
  },
});

describe('refusal', () => {
  test.each([
    ['is empty', empty],
    [
      'contains what an earlier demo has created',
      {
        ...empty,
        existing: [crd('berth-demo'), object('Namespace', 'berth-system', 'berth-demo', 'kubectl')],
      },
    ],
    ['has the Lease of a demo that was killed', { ...empty, lease: lease(16) }],
    ['has the Lease of a demo that has ended', { ...empty, lease: lease(1, '') }],
  ])('is null when the cluster %s', (_what, contents) => {
    expect(refusal(contents, now)).toBeNull();
  });

  test.each([
    [
      'runs Berth in any namespace',
      { ...empty, workloads: [{ kind: 'Deployment', metadata: { name: 'berth-api', namespace: 'shop' } }] },
      /already runs Berth \(Deployment shop\/berth-api\)/,
    ],
    [
      'has the definition of another installation',
      { ...empty, existing: [crd('helm')] },
      /another installation of Berth \(CustomResourceDefinition manageddeployments\.berth\.dev\)/,
    ],
    [
      'has a definition that another installation has taken over',
      { ...empty, existing: [crd('berth-demo', 'kubectl-client-side-apply')] },
      /another installation of Berth/,
    ],
    ['has a definition without managers', { ...empty, existing: [crd()] }, /another installation of Berth/],
    [
      'has a namespace that the demo has not created',
      { ...empty, existing: [object('Namespace', 'berth-demo', 'kubectl-create')] },
      /\(Namespace berth-demo\)/,
    ],
    ['is used by another demo', { ...empty, lease: lease(5) }, /another demo or operator uses it/],
  ])('names the reason and the next step when the cluster %s', (_what, contents, reason) => {
    expect(refusal(contents, now)).toMatch(reason);
    expect(refusal(contents, now)).toMatch(/Nothing was changed.*npm run demo -- --local/s);
  });

  test('names only some objects when there are many', () => {
    const existing = Array.from({ length: 9 }, (_, index) => object('ClusterRole', `r${index}`, 'helm'));
    expect(refusal({ ...empty, existing }, now)).toContain('ClusterRole r4 and 4 more)');
  });
});

test.each([[], ['--context', 'a']])('names the kubeconfig that does not exist, with %j', async (...words) => {
  const options = parseOptions(['--kubeconfig', '/missing/config', ...words]);
  if (options === null) throw new Error('no options');
  await expect(withContext(options)).rejects.toThrow(
    'failed to read /missing/config: no such file. Name a kubeconfig, or omit --kubeconfig.',
  );
});

describe('farewell', () => {
  const local = { kubeconfig: undefined, context: undefined };

  /** The arguments of kubectl in each printed command, as a shell splits them. */
  function commandsIn(text: string): string[][] {
    const script = `kubectl() { printf '%s\\037' "KUBECONFIG=$KUBECONFIG" "$@"; echo; }\n${text.split('\n').slice(1).join('\n')}`;
    const output = execFileSync('sh', ['-c', script], {
      encoding: 'utf8',
      env: { PATH: process.env['PATH'] },
    });
    return output
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => line.split('\u001f').slice(0, -1));
  }

  test('says that nothing is left when the demo used its own cluster', () => {
    expect(farewell(local, [])).toBe('stopped; everything is removed');
  });

  test('prints no command when the demo has not changed the given cluster', () => {
    expect(farewell({ ...local, context: 'a' }, [])).toBe('stopped; the cluster was not changed');
  });

  test.each([
    [
      { kubeconfig: "it's mine/config", context: 'a' },
      ['KUBECONFIG=', '--kubeconfig', "it's mine/config", '--context', 'a'],
    ],
    [
      { kubeconfig: undefined, context: "o'neill; rm -rf $HOME" },
      ['KUBECONFIG=', '--context', "o'neill; rm -rf $HOME"],
    ],
    [
      { kubeconfig: undefined, context: 'default', variable: '/ann lee/one:/two' },
      ['KUBECONFIG=/ann lee/one:/two', '--context', 'default'],
    ],
    [
      { kubeconfig: 'file', context: 'default', variable: '/two' },
      ['KUBECONFIG=', '--kubeconfig', 'file', '--context', 'default'],
    ],
  ])('prints commands for the given cluster and not for the current context: %j', (options, words) => {
    const commands = commandsIn(farewell(options, installedObjects()));
    expect(commands.length).toBeGreaterThan(0);
    for (const command of commands)
      expect(command.slice(0, words.length + 2)).toEqual([...words, 'delete', '--ignore-not-found']);
  });

  test('names exactly the objects that the demo has created', () => {
    const objects = installedObjects().filter(({ metadata }) => metadata.namespace === undefined);
    const named = commandsIn(farewell({ ...local, context: 'a' }, installedObjects())).flatMap(
      ([, , , , , kind = '', ...names]) => names.map((name) => `${kind}/${name}`),
    );
    expect(named.sort()).toEqual(
      objects.map(({ kind, metadata }) => `${kind.toLowerCase()}/${metadata.name}`).sort(),
    );
  });
});
