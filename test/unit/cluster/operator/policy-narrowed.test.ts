import { describe, expect, test } from 'vitest';
import { checked, forbiddenParts } from '../../../../src/cluster/operator/access/spec-policy.ts';
import type { ObservedResource } from '../../../../src/cluster/operator/observed.ts';
import { managedDeploymentSpecSchema } from '../../../../src/contract/resource/managed-deployment.ts';
import { resolvePolicy } from '../../../../src/domain/policy/policy.ts';
import { message, NAMESPACE, RESOURCE_ID, revised, scaled, steps, World } from './fixtures.ts';

const WIDE = resolvePolicy('self_hosted', { pod_security: 'privileged' });
const NARROW = resolvePolicy('self_hosted');
const helper = (name: string) => ({
  podTemplate: {
    sidecars: [{ name, image: 'registry.test/h:1', securityContext: { privileged: true } }],
  },
});
const privileged = (image: string, number: number, more: object = {}) =>
  revised(image, number, { ...helper('helper'), ...more });

function judgedBy(world: World, policy: World['policy']): World {
  world.policy = policy;
  world.restart();
  return world;
}

/** A deployment that runs with pods that the policy allowed before and no longer allows. */
async function narrowed(spec = privileged('web:1', 1), policy = NARROW): Promise<World> {
  const world = judgedBy(new World(spec), WIDE);
  await world.converge();
  judgedBy(world, policy);
  await world.converge();
  expect(world.condition('Ready')).toBe('True Converged');
  return world;
}

/** The custom resource is lost with all objects that it owns. Stored templates have no owner. */
function lose(world: World): void {
  world.cluster.edit(RESOURCE_ID, (object) => {
    delete object['status'];
  });
  for (const id of world.cluster.ids()) {
    if (/^(Deployment|StatefulSet|Service|NetworkPolicy)\//.test(id)) {
      world.cluster.remove(id.replace('/', `/${NAMESPACE}/`));
    }
  }
}

/** Changes stored templates to the form of an earlier version. */
function forgetPods(world: World): void {
  for (const id of world.cluster.ids().filter((each) => each.startsWith('ControllerRevision/'))) {
    world.cluster.edit(id.replace('/', `/${NAMESPACE}/`), (object) => {
      delete object.metadata.annotations?.['berth.dev/asked-pods'];
    });
  }
}

describe('a narrower policy', () => {
  test('does not block the active revision when its custom resource was lost', async () => {
    const world = await narrowed();
    lose(world);
    await world.converge();
    expect(world.condition('Ready')).toBe('True Converged');
    expect(world.status.failedRevision).toBeUndefined();
  });

  test('drops a recorded rejection of the active revision', async () => {
    const world = await narrowed();
    lose(world);
    const { id, number } = privileged('web:1', 1).revision;
    const failedRevision = { id, number, reason: 'Refused', message: 'privileged', recordGeneration: 0 };
    world.cluster.edit(RESOURCE_ID, (object) => {
      object['status'] = { failedRevision };
    });
    await world.converge();
    expect(world.condition('Ready')).toBe('True Converged');
  });

  test.each(['now', 'by an earlier version'])(
    'accepts another image and other secrets of the same pods when templates were stored %s',
    async (when) => {
      const world = await narrowed();
      if (when !== 'now') forgetPods(world);
      const spec = privileged('web:2', 2);
      world.change({ ...spec, revision: { ...spec.revision, envSecretName: 'web-env-2' } });
      world.cluster.put({
        apiVersion: 'v1',
        kind: 'Secret',
        metadata: { name: 'web-env-2', namespace: NAMESPACE },
      } as never);
      await world.converge();
      expect([world.condition('Ready'), world.images('api')[0]]).toEqual(['True Converged', 'web:2']);
    },
  );

  test('accepts other scales and another name, and the same pods again after other ones', async () => {
    const world = await narrowed();
    world.change(privileged('web:1', 1, { displayName: 'Shop', components: { api: scaled(2, 2) } }));
    await world.converge();
    expect([world.condition('Ready'), world.replicas('api')]).toEqual(['True Converged', 2]);
    world.change(revised('web:2', 2));
    await world.converge();
    world.change(privileged('web:3', 3));
    await world.converge();
    expect([world.condition('Ready'), world.images('api')[0]]).toEqual(['True Converged', 'web:3']);
  });

  test('rolls back no rollout in progress', async () => {
    const world = judgedBy(new World(privileged('web:1', 1)), WIDE);
    await world.converge();
    world.change(privileged('web:2', 2, helper('other')));
    world.cluster.stuck.set('api', 'ContainerCreating');
    await steps(world, 2);
    judgedBy(world, NARROW);
    world.cluster.stuck.clear();
    await world.converge();
    expect([world.condition('Ready'), world.images('api')[0]]).toEqual(['True Converged', 'web:2']);
  });

  test('rejects other pods and names the policy and the next step; a redeploy under a wider policy succeeds', async () => {
    const world = await narrowed();
    world.change(privileged('web:2', 2, helper('other')));
    await world.converge();
    expect(world.condition('Ready')).toBe('False Refused');
    expect(world.condition('Serving')).toBe('True Available');
    expect(message(world, 'Ready')).toContain('spec.podTemplate.sidecars[0].securityContext.privileged');
    expect(message(world, 'Ready')).toContain('BERTH_POLICY');
    expect(message(world, 'Ready')).toContain(
      'change the value, or ask the administrator of the platform to extend the policy, then redeploy',
    );
    judgedBy(world, WIDE);
    world.change(privileged('web:2', 3, helper('other')));
    await world.converge();
    expect(world.condition('Ready')).toBe('True Converged');
  });

  test('never accepts the environment of another deployment', async () => {
    const world = await narrowed();
    const spec = privileged('web:2', 2);
    world.change({ ...spec, revision: { ...spec.revision, envSecretName: 'shop-0a1b2c3d-env-1' } });
    await world.converge();
    expect(world.status.failedRevision).toMatchObject({ number: 2, reason: 'Refused' });
    expect(world.status.failedRevision?.message).toMatch(
      /^spec\.revision\.envSecretName: [^;]*; change it, then/,
    );
    expect(world.images('api')[0]).toBe('web:1');
  });
});

describe('a spec that no policy allows', () => {
  const sidecar = (more: object) => ({ sidecars: [{ name: 's', image: 'registry.test/h:1', ...more }] });
  const token = { serviceAccountToken: { path: 'token' } };
  const privilegedHelper = helper('helper').podTemplate.sidecars;

  test.each([
    ['a limit of 0', sidecar({ resources: { limits: { cpu: '0' } } })],
    ['a reserved label', { labels: { 'app.kubernetes.io/name': 'other' } }],
    ["another deployment's Secret", { imagePullSecrets: [{ name: 'shop-0a1b2c3d-env-1' }] }],
    ['a token without an audience', { volumes: [{ name: 't', projected: { sources: [token] } }] }],
    [
      'a reserved label beside fields that another policy allows',
      { sidecars: privilegedHelper, labels: { 'app.kubernetes.io/name': 'other' } },
    ],
  ])('is not reported with the policy as the remedy when it has %s', async (_what, podTemplate) => {
    const world = await narrowed(revised('web:1', 1));
    world.change(revised('web:2', 2, { podTemplate }));
    await world.converge();
    expect(world.condition('Ready')).toBe('False Refused');
    expect(world.status.failedRevision?.message).toMatch(/; change it, then redeploy$/);
    expect(world.status.failedRevision?.message).not.toContain('BERTH_POLICY');
  });
});

const observed = (podTemplate: object): ObservedResource =>
  ({
    metadata: { name: 'web', namespace: NAMESPACE, uid: 'u', generation: 1 },
    spec: managedDeploymentSpecSchema.parse({ revision: { image: 'web:1' }, podTemplate }),
  }) as ObservedResource;

test('applies the caps of a deployment_type, even higher ones, to resources without a type', () => {
  const sidecars = [1, 2, 3].map((n) => ({ name: `s${n}`, image: 'registry.test/h:1' }));
  const upTo = (caps: number, prod: number) =>
    resolvePolicy('self_hosted', {
      caps: { containers: caps },
      caps_by_type: { prod: { containers: prod } },
    } as never);
  expect(forbiddenParts(observed({ sidecars }), upTo(2, 6))).toEqual([]);
  expect(forbiddenParts(observed({ sidecars }), upTo(2, 1))).toHaveLength(1);
});

test('checks a spec only once, even if its status is written often', () => {
  const first = checked(observed(helper('helper').podTemplate), NARROW, undefined);
  expect(first.forbidden).not.toEqual([]);
  expect(checked(observed(helper('helper').podTemplate), NARROW, first)).toBe(first);
  const next = observed({});
  next.metadata = { ...next.metadata, generation: 2 };
  expect(checked(next, NARROW, first).forbidden).toEqual([]);
});

describe('a narrower policy for variables', () => {
  const FEW = resolvePolicy('self_hosted', { caps: { env_count: 2 } });
  const withVariables = (image: string, number: number, names: string[], sidecars: object = {}) =>
    revised(image, number, {
      podTemplate: { env: names.map((name) => ({ name, value: number.toString() })), ...sidecars },
    });

  test.each<[string, string[], string]>([
    ['accepts other values of the same number', ['D', 'E', 'F'], 'True Converged'],
    ['accepts fewer variables', ['A', 'B'], 'True Converged'],
    ['rejects more variables', ['A', 'B', 'C', 'D'], 'False Refused'],
  ])('%s', async (_what, names, expected) => {
    const world = await narrowed(withVariables('web:1', 1, ['A', 'B', 'C']), FEW);
    world.change(withVariables('web:2', 2, names));
    await world.converge();
    expect(world.condition('Ready')).toBe(expected);
    if (expected !== 'False Refused') return;
    expect(message(world, 'Ready')).toMatch(/spec\.podTemplate\.env: must not have more than 2 entries/);
    expect(world.status.activeRevision?.number).toBe(1);
  });

  test('rejects variables of pods that were allowed without them', async () => {
    const { podTemplate } = helper('helper');
    const world = judgedBy(new World(revised('web:1', 1, { podTemplate })), WIDE);
    await world.converge();
    judgedBy(world, FEW);
    world.change(withVariables('web:1', 2, ['A', 'B', 'C'], podTemplate));
    await world.converge();
    expect(message(world, 'Ready')).toContain('spec.podTemplate.env');
    expect(message(world, 'Ready')).not.toContain('privileged');
  });

  test('accepts a change of variables of pods that were allowed before', async () => {
    const world = await narrowed();
    world.change(withVariables('web:1', 2, ['A'], helper('helper').podTemplate));
    await world.converge();
    expect(world.condition('Ready')).toBe('True Converged');
  });
});
