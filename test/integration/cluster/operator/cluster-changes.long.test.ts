/** MutatingAdmissionPolicies change what the operator writes: from the start, added later, removed later. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { UntypedObject } from '../../../../src/cluster/kube/client/object.ts';
import { waitFor } from '../../../cluster/wait.ts';
import { type Mutation, mutatingPolicies, type Policies } from '../../harness/mutating-policies.ts';
import {
  condition,
  type OperatorWorld,
  operatorWorld,
  type RunningOperator,
  startOperator,
} from '../../harness/operator.ts';

const CHANGED = 'FieldsChangedByCluster';
const APP = '/spec/template/spec/containers/0';
const patch = (op: string, path: string, value?: string) =>
  `JSONPatch{op: "${op}", path: "${path}"${value === undefined ? '' : `, value: ${value}`}}`;

const SAFE = patch('add', `${APP}/imagePullPolicy`, '"Always"');
const deployments = { group: 'apps', resource: 'deployments' };

/** Prefix of the objects, what is changed, and the field that is named. */
type Row = [prefix: string, mutation: Omit<Mutation, 'prefix'>, named: string, more?: object];
const UNSAFE: Row[] = [
  [
    'image',
    { ...deployments, patches: patch('replace', `${APP}/image`, '"registry.test/other:1"') },
    '.image is',
  ],
  ['command', { ...deployments, patches: patch('add', `${APP}/command`, '["other"]') }, '.command is added'],
  [
    'variable',
    { ...deployments, patches: patch('replace', `${APP}/env/0/value`, '"other"') },
    '.env[name=COMPONENT].value',
  ],
  ['replicas', { ...deployments, patches: patch('add', '/spec/replicas', '3') }, 'spec.replicas is 3'],
  [
    'database',
    {
      group: 'apps',
      resource: 'statefulsets',
      patches: patch('replace', `${APP}/image`, '"registry.test/other:1"'),
    },
    'StatefulSet database-db',
  ],
  [
    'service',
    { group: '', resource: 'services', patches: patch('replace', '/spec/ports/0/port', '8181') },
    'Service service',
  ],
  [
    'scaler',
    {
      group: 'autoscaling',
      resource: 'horizontalpodautoscalers',
      patches: patch('replace', '/spec/maxReplicas', '9'),
    },
    'spec.maxReplicas is 9',
    { components: { api: { scale: { min: 1, max: 3 } } } },
  ],
  [
    'removed',
    { ...deployments, patches: patch('remove', `${APP}/env`) },
    'containers[name=app].env is missing',
  ],
  [
    'hostnet',
    { ...deployments, patches: patch('add', '/spec/template/spec/hostNetwork', 'true') },
    'spec.template.spec.hostNetwork is added',
  ],
  [
    'sidecar',
    {
      ...deployments,
      patches: `object.spec.template.spec.containers.exists(c, c.name == "other") ? [] : [${patch(
        'add',
        '/spec/template/spec/containers/-',
        'Object.spec.template.spec.containers{name: "other", image: "registry.test/other:1", securityContext: Object.spec.template.spec.containers.securityContext{privileged: true}}',
      )}]`,
      isList: true,
    },
    'containers[name=other] is added',
  ],
  [
    'rights',
    {
      ...deployments,
      patches: patch('add', `${APP}/securityContext/runAsUser`, '0'),
    },
    'securityContext.runAsUser is added',
  ],
  [
    'claims',
    {
      group: 'apps',
      resource: 'statefulsets',
      patches: patch('add', '/spec/template/spec/hostPID', 'true'),
    },
    'spec.template.spec.hostPID is added',
  ],
  [
    'exposed',
    { group: '', resource: 'services', patches: patch('add', '/spec/externalIPs', '["203.0.113.7"]') },
    'spec.externalIPs is added',
  ],
  [
    'open',
    {
      group: 'networking.k8s.io',
      resource: 'networkpolicies',
      patches: `has(object.spec.egress) ? [] : [${patch('add', '/spec/egress', '[{}]')}]`,
      isList: true,
    },
    'spec.egress is added',
  ],
  [
    'metrics',
    {
      group: 'autoscaling',
      resource: 'horizontalpodautoscalers',
      patches: patch('remove', '/spec/metrics/1'),
    },
    'spec.metrics has 1 entries',
    { components: { api: { scale: { min: 1, max: 3 } } } },
  ],
  [
    'selector',
    {
      ...deployments,
      patches: [
        patch('add', '/spec/selector/matchLabels/other', '"x"'),
        patch('add', '/spec/template/metadata/labels/other', '"x"'),
      ].join(', '),
    },
    'spec.selector.matchLabels.other is not in the desired state',
  ],
  [
    'firewall',
    {
      group: 'networking.k8s.io',
      resource: 'networkpolicies',
      patches: patch('replace', '/spec/ingress', '[]'),
    },
    'NetworkPolicy firewall-db',
  ],
];

let world: OperatorWorld;
let operator: RunningOperator;
let policies: Policies;
beforeAll(async () => {
  world = await operatorWorld('changes');
  policies = mutatingPolicies(world.namespace);
  operator = await startOperator(world.settings);
});
afterAll(async () => {
  await policies?.remove();
  await operator?.stop();
  await world?.end();
});

const revision = (number: number) => ({ number, image: `registry.test/web:${number}` });
type Status = Parameters<typeof condition>[0];
const readyIs = (wanted: string) => (status: Status) => condition(status, 'Ready') === wanted;
const messageIn = ({ conditions }: Status) => conditions?.find(({ type }) => type === 'Ready')?.message;
const messageOf = async (name: string) => messageIn(await world.status(name));
const pullPolicy = (object: UntypedObject | undefined) =>
  /"imagePullPolicy":"(\w+)"/.exec(JSON.stringify(object?.['spec']))?.[1];

/** Of a request: its object is the deployment's. Whole segments, or a prefix would match the name of a kind. */
const isOf = (prefix: string, path: string) => path.split('/').at(-1)?.startsWith(prefix) === true;

/** Writes of the objects of a deployment, without dry runs. */
const written = (prefix: string, kind?: string) =>
  operator.requests.filter(
    ({ verb, path, dryRun, resource }) =>
      !['get', 'list', 'raw'].includes(verb) &&
      !dryRun &&
      isOf(prefix, path) &&
      (kind === undefined ? !resource.includes('managed') : resource === kind),
  ).length;

/** Another resource shows that the operator works, and that it has nothing to do for the others. */
async function workElsewhere(): Promise<void> {
  await world.apply('marker', { suspend: true, revision: revision(1) });
  await world.until('marker', 'off', ({ suspended }) => suspended === true);
  await world.kubectl('delete', 'mdep', 'marker');
}

describe('safe changes', () => {
  test('let the rollout complete with a policy from the start, and are reported', async () => {
    await policies.add({ ...deployments, prefix: 'safe-api', patches: SAFE });
    await world.apply('safe', { revision: revision(1) });
    const status = await world.until('safe', 'ready', readyIs(`True ${CHANGED}`));
    expect(status.activeRevision?.number).toBe(1);
    expect(await messageOf('safe')).toContain('containers[name=app].imagePullPolicy is Always');
    expect(pullPolicy(await world.get('deployment', 'safe-api'))).toBe('Always');
    const events = () => world.kubectl('events', '--for=ManagedDeployment/safe', '--types=Warning');
    await waitFor('the warning', async () => (await events()).includes(CHANGED), { timeoutMs: 30_000 });
  });

  test('cause no write to idle objects, also after a restart of the operator', async () => {
    await workElsewhere();
    await operator.stop();
    operator = await startOperator(world.another('next'));
    await workElsewhere();
    expect(written('safe')).toBe(0);
  });

  test('restart nothing when the policy is removed; the next revision is as requested', async () => {
    const before = (await world.get('deployment', 'safe-api'))?.metadata.generation;
    await policies.remove();
    await operator.stop();
    operator = await startOperator(world.another('after'));
    await workElsewhere();
    expect((await world.get('deployment', 'safe-api'))?.metadata.generation).toBe(before);
    await world.apply('safe', { revision: revision(2) });
    const status = await world.ready('safe');
    expect(status.activeRevision?.number).toBe(2);
    expect(pullPolicy(await world.get('deployment', 'safe-api'))).toBe('IfNotPresent');
  });

  test('change no idle object when the policy is added later', async () => {
    await workElsewhere();
    const before = (await world.get('deployment', 'safe-api'))?.metadata.resourceVersion;
    const from = written('safe');
    await policies.add({ ...deployments, prefix: 'safe-api', patches: SAFE });
    await workElsewhere();
    expect(written('safe')).toBe(from);
    expect((await world.get('deployment', 'safe-api'))?.metadata.resourceVersion).toBe(before);
    await world.apply('safe', { revision: revision(3) });
    const status = await world.until('safe', 'ready', ({ activeRevision }) => activeRevision?.number === 3);
    expect(condition(status, 'Ready')).toBe(`True ${CHANGED}`);
    await policies.remove();
  });
});

describe('other changes', () => {
  beforeAll(async () => {
    const ofApi = (prefix: string, { resource }: Row[1]) =>
      resource === 'deployments' ? `${prefix}-api` : prefix;
    await policies.add(
      ...UNSAFE.map(([prefix, mutation]) => ({ ...mutation, prefix: ofApi(prefix, mutation) })),
    );
    for (const [prefix, , , more = {}] of UNSAFE)
      await world.apply(prefix, { revision: revision(1), ...more });
  });

  test.each<Row>(UNSAFE)(
    'set Ready to False with the field, and cause no repeated write (%s)',
    async (prefix, { resource }, named) => {
      await world.until(prefix, 'reported', readyIs(`False ${CHANGED}`));
      expect(await messageOf(prefix)).toContain(named);
      if (resource === 'deployments') expect((await world.status(prefix)).activeRevision).toBeUndefined();
      const from = written(prefix, resource);
      const tries = () => operator.requests.filter(({ dryRun, path }) => dryRun && isOf(prefix, path)).length;
      await world.until(prefix, 'tried twice', () => tries() >= 2);
      expect(written(prefix, resource)).toBe(from);
      expect(from).toBeLessThanOrEqual(6);
    },
  );

  test.each<Row>(UNSAFE)('are gone within a minute after the policies are removed (%s)', async (prefix) => {
    await policies.remove();
    const status = await world.ready(prefix);
    expect(status.activeRevision?.number).toBe(1);
    const made = [
      await world.get('deployment', `${prefix}-api`),
      await world.get('statefulset', `${prefix}-db`),
      await world.get('service', prefix),
      await world.get('networkpolicy', `${prefix}-db`),
    ].map((object) => JSON.stringify(object?.['spec']));
    expect(made.join()).not.toMatch(/"other"|other:|hostNetwork|hostPID|"runAsUser":0|externalIPs|"egress"/);
  });
});

describe('changes that make an object invalid', () => {
  const label = '/spec/template/metadata/labels/berth.dev~1deployment-id';
  const INVALID: Row[] = [
    [
      'unlabelled',
      { ...deployments, patches: patch('remove', label) },
      'spec.template.metadata.labels: Invalid value',
    ],
    [
      'portless',
      { group: '', resource: 'services', patches: patch('replace', '/spec/ports/0/port', '0') },
      'spec.ports[0].port: Invalid value: 0',
    ],
    [
      'imageless',
      { ...deployments, patches: patch('replace', `${APP}/imagePullPolicy`, '"Sometimes"') },
      'imagePullPolicy: Unsupported value: "Sometimes"',
    ],
  ];
  beforeAll(async () => {
    await policies.add(...INVALID.map(([prefix, mutation]) => ({ ...mutation, prefix })));
    for (const [prefix] of INVALID) await world.apply(prefix, { revision: revision(1) });
  });

  test.each<Row>(INVALID)(
    'are reported with the field while the policy exists, and fail no revision (%s)',
    async (prefix, _, named) => {
      const isChanged = readyIs(`False ${CHANGED}`);
      const namesField = (status: Status) => isChanged(status) && messageIn(status)?.includes(named) === true;
      await world.until(prefix, 'the changed field', namesField);
      const status = await world.status(prefix);
      expect(status.failedRevision).toBeUndefined();
      // A Service that is refused does not keep the pods of the revision from running.
      if (prefix !== 'portless') expect(status.activeRevision).toBeUndefined();
    },
  );

  test.each<Row>(INVALID)('are gone when the policies are removed (%s)', async (prefix) => {
    await policies.remove();
    const status = await world.ready(prefix);
    expect(status.activeRevision?.number).toBe(1);
  });
});

describe('safe additions', () => {
  const patches = [
    patch('add', '/spec/template/spec/tolerations', '[{"operator": "Exists"}]'),
    patch('add', '/spec/template/metadata/labels/team', '"x"'),
  ].join(', ');

  test('let the rollout complete, are reported, and are removed with the next revision after the policy', async () => {
    await policies.add({ ...deployments, prefix: 'beside-api', patches });
    await world.apply('beside', { revision: revision(1) });
    const status = await world.until('beside', 'ready', readyIs(`True ${CHANGED}`));
    expect(status.activeRevision?.number).toBe(1);
    expect(await messageOf('beside')).toContain('spec.template.spec.tolerations is added');
    expect(await messageOf('beside')).toContain('spec.template.metadata.labels.team is added');
    await workElsewhere();
    const from = written('beside');
    await workElsewhere();
    expect(written('beside')).toBe(from);
    await policies.remove();
    await world.apply('beside', { revision: revision(2) });
    await world.until('beside', 'ready', readyIs('True Converged'));
    const spec = JSON.stringify((await world.get('deployment', 'beside-api'))?.['spec']);
    expect(spec).not.toMatch(/tolerations|"team"/);
  });
});

const SCALED = { components: { api: { scale: { min: 1, max: 3 } } } };
/** Prefix, what a policy that comes later does, more of the spec, and the field that is named. */
const LATER: [prefix: string, mutation: Omit<Mutation, 'prefix'>, before: object, named: string][] = [
  [
    'later-db',
    { group: 'apps', resource: 'statefulsets', patches: patch('add', '/spec/template/spec/hostIPC', 'true') },
    {},
    'spec.template.spec.hostIPC is added',
  ],
  [
    'later-scaler',
    {
      group: 'autoscaling',
      resource: 'horizontalpodautoscalers',
      patches: patch('replace', '/spec/maxReplicas', '9'),
    },
    SCALED,
    'spec.maxReplicas is 9',
  ],
  [
    'later-service',
    { group: '', resource: 'services', patches: patch('add', '/spec/externalIPs', '["203.0.113.7"]') },
    {},
    'spec.externalIPs is added',
  ],
  [
    'later-policy',
    {
      group: 'networking.k8s.io',
      resource: 'networkpolicies',
      patches: patch('replace', '/spec/ingress', '[]'),
    },
    {},
    'NetworkPolicy later-policy-db',
  ],
];

describe('a policy that is added after the rollout', () => {
  const KINDS: Record<string, string> = {
    'later-service': 'service/later-service',
    'later-policy': 'networkpolicy/later-policy-db',
    'later-db': 'statefulset/later-db-db',
    'later-scaler': 'hpa/later-scaler-api',
  };

  beforeAll(async () => {
    for (const [prefix, , before] of LATER) await world.apply(prefix, { revision: revision(1), ...before });
    for (const [prefix] of LATER) await world.ready(prefix);
    await policies.add(...LATER.map(([prefix, mutation]) => ({ ...mutation, prefix })));
  });

  test.each(LATER)(
    'is reported with the field at the next write, and causes no write loop (%s)',
    async (prefix, { resource }, _, named) => {
      // Deleted by a user, so it is written again.
      const [kind = '', name = ''] = (KINDS[prefix] ?? '').split('/');
      await world.kubectl('delete', kind, name);
      await world.until(prefix, 'named', readyIs(`False ${CHANGED}`));
      expect(await messageOf(prefix)).toContain(named);
      const from = written(prefix, resource);
      const version = (await world.get(kind, name))?.metadata.generation;
      const tries = () => operator.requests.filter(({ dryRun, path }) => dryRun && isOf(prefix, path)).length;
      const before = tries();
      await world.until(prefix, 'tried', () => tries() > before);
      expect(written(prefix, resource)).toBe(from);
      expect((await world.get(kind, name))?.metadata.generation).toBe(version);
    },
  );

  test.each(LATER)('has no effect within a minute after it is removed (%s)', async (prefix) => {
    await policies.remove();
    await world.ready(prefix);
    const [kind = '', name = ''] = (KINDS[prefix] ?? '').split('/');
    expect(JSON.stringify((await world.get(kind, name))?.['spec'])).not.toMatch(
      /hostIPC|ClientIP|"maxReplicas":9|"ingress":\[\]/,
    );
  });
});
