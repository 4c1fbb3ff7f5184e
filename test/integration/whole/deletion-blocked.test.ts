/** What blocks a deletion is named, and nothing that goes is reported as available. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { waitFor } from '../../cluster/wait.ts';
import {
  type DeploymentAnswer,
  smallDeployment,
  startWholeBerth,
  type WholeBerth,
} from '../harness/berth.ts';
import { createNamespace, deleteNamespace, kubectlAsAdmin } from '../harness/environment.ts';

const WAIT = { timeoutMs: 120_000, intervalMs: 300 };
const HOLD = 'example.com/hold';

let berth: WholeBerth;
let leaving: string;
beforeAll(async () => {
  leaving = await createNamespace('blocked-ns');
  berth = await startWholeBerth('blocked', {
    moreNamespaces: [leaving],
    settings: { BERTH_ROUTING: 'ingress' },
  });
});
afterAll(async () => {
  await berth?.stop();
  await deleteNamespace(leaving);
});

interface Condition {
  type: string;
  status: string;
  reason: string;
  message: string;
}
interface Explanation {
  causes: { reason: string; message: string; object: { kind?: string; object?: string } | null }[];
  remedy: { kind: string; reason: string; text: string } | null;
}

const appOf = ({ id, name }: DeploymentAnswer) => `${name}-${id.replaceAll('-', '').slice(-8)}`;
const kubectl = (...args: string[]) => kubectlAsAdmin(['-n', berth.namespace, ...args]);
const patch = (namespace: string, object: string, finalizers: readonly string[] | null) =>
  kubectlAsAdmin([
    '-n',
    namespace,
    'patch',
    object,
    '--type=merge',
    '-p',
    JSON.stringify({ metadata: { finalizers } }),
  ]);
const hold = (object: string, ...finalizers: string[]) => patch(berth.namespace, object, finalizers);
const release = (object: string, namespace = berth.namespace) => patch(namespace, object, null);

async function ready(name: string, more: object = {}): Promise<DeploymentAnswer> {
  const created = await berth.create(smallDeployment(name, more));
  await berth.ready(created.id);
  return created;
}

async function askForDeletion({ id }: DeploymentAnswer): Promise<void> {
  expect((await berth.call('DELETE', `/v2/deployments/${id}`)).status).toBe(204);
}

async function conditionsOf({ id }: DeploymentAnswer): Promise<Condition[]> {
  return (await berth.call<{ conditions: Condition[] }>('GET', `/v2/deployments/${id}`)).body.conditions;
}

const statusOf = (conditions: readonly Condition[], type: string) =>
  conditions.find((condition) => condition.type === type)?.status;

/** Waits until `Ready` names the words under this reason; then nothing else is reported as available. */
async function blocked(
  deployment: DeploymentAnswer,
  reason: string,
  ...words: string[]
): Promise<Condition[]> {
  let conditions: Condition[] = [];
  const named = async () => {
    conditions = await conditionsOf(deployment);
    const reported = conditions.find(({ type }) => type === 'Ready');
    return reported?.reason === reason && words.every((word) => reported.message.includes(word));
  };
  await waitFor(`${reason} to be named`, named, WAIT).catch((error) => {
    throw new Error(`${error.message}: ${JSON.stringify(conditions, null, 1)}`);
  });
  return conditions;
}

async function explained({ id, latest_revision_id: revision }: DeploymentAnswer): Promise<Explanation> {
  const url = `/v2/deployments/${id}/revisions/${revision}/explain`;
  return (await berth.call<Explanation>('GET', url)).body;
}

const ended = ({ id }: DeploymentAnswer) =>
  waitFor(
    `${id} to be gone`,
    async () => (await berth.call('GET', `/v2/deployments/${id}`)).status === 404,
    WAIT,
  );

describe('a blocked deletion', () => {
  test.concurrent('names the claim and its finalizer, and completes when the finalizer is removed', async () => {
    const custom_url = `https://claim-held.${berth.namespace}.example.com`;
    const created = await ready('claim-held', { source_config: { custom_url } });
    const urlOf = async () =>
      (await berth.call<{ url: string | null }>('GET', `/v2/deployments/${created.id}`)).body.url;
    await waitFor('its URL to be reported', async () => (await urlOf()) === custom_url, WAIT);
    const claim = `${appOf(created)}-db`;
    const second = 'other.example/second';
    await hold(`pvc/${claim}`, 'kubernetes.io/pvc-protection', HOLD, second);
    await askForDeletion(created);
    const conditions = await blocked(created, 'FinalizerBlocks', claim, HOLD);
    expect(['Serving', 'DatabaseReady', 'CacheReady'].map((type) => statusOf(conditions, type))).toEqual([
      'Unknown',
      'Unknown',
      'Unknown',
    ]);
    expect(conditions.filter(({ status }) => status === 'True')).toEqual([]);
    expect(await urlOf()).toBeNull();
    const { causes, remedy } = await explained(created);
    expect(causes.at(-1)).toMatchObject({
      reason: 'FinalizerBlocks',
      object: { kind: 'PersistentVolumeClaim', object: claim },
      message: expect.stringContaining(HOLD),
    });
    expect(JSON.stringify(causes)).not.toContain('has not applied it to the cluster');
    expect(remedy).toMatchObject({ kind: 'act', reason: 'FinalizerBlocks' });
    expect(remedy?.text).not.toMatch(/^Nothing/);

    await hold(`pvc/${claim}`, second);
    const isLeft = async () => {
      const reported = (await conditionsOf(created)).find(({ type }) => type === 'Ready')?.message ?? '';
      return reported.includes(second) && !reported.includes(HOLD);
    };
    await waitFor('only the second finalizer to be named', isLeft, WAIT);
    await release(`pvc/${claim}`);
    await ended(created);
  });

  test.concurrent.each([
    ['statefulset', (app: string) => `${app}-db`, 'StatefulSet'],
    ['service', (app: string) => app, 'Service'],
    ['deployment', (app: string) => `${app}-api`, 'Deployment'],
    ['secret', (app: string) => `${app}-db`, 'Secret'],
    ['mdep', (app: string) => app, 'ManagedDeployment'],
  ] as const)('names the object and its finalizer (%s)', async (kind, nameOf, shown) => {
    const created = await ready(`held-${kind}`);
    const name = nameOf(appOf(created));
    await hold(`${kind}/${name}`, HOLD);
    await askForDeletion(created);
    const conditions = await blocked(created, 'FinalizerBlocks', `${shown} ${name}`, HOLD);
    expect(conditions.filter(({ status }) => status === 'True')).toEqual([]);
    expect((await explained(created)).causes.at(-1)?.object).toMatchObject({ kind: shown, object: name });
    await release(`${kind}/${name}`);
    await ended(created);
  });

  test.concurrent('names a stored template and its finalizer', async () => {
    const created = await ready('held-template');
    const selector = `berth.dev/deployment-id=${created.id}`;
    const names = await kubectl('get', 'controllerrevisions.apps', '-l', selector, '-o', 'name');
    const template = names.split('\n').find((name) => name.endsWith('-1')) ?? '';
    await hold(template, HOLD);
    await askForDeletion(created);
    await blocked(created, 'FinalizerBlocks', template.split('/')[1] ?? '', HOLD);
    await release(template);
    await ended(created);
  });

  test.concurrent('names a pod of the deployment and its finalizer', async () => {
    const created = await ready('held-pod');
    const pod = `pod/${appOf(created)}-db-0`;
    await hold(pod, HOLD);
    await askForDeletion(created);
    await blocked(created, 'FinalizerBlocks', `Pod ${appOf(created)}-db-0`, HOLD);
    await release(pod);
    await ended(created);
  });

  test.concurrent('names a pod of another owner that uses the claim', async () => {
    const created = await ready('in-use');
    const claim = `${appOf(created)}-db`;
    const user = `user-of-${appOf(created)}`;
    const pod = {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name: user },
      spec: {
        containers: [{ name: 'main', image: 'registry.example/any:1' }],
        volumes: [{ name: 'data', persistentVolumeClaim: { claimName: claim } }],
      },
    };
    await kubectlAsAdmin(['-n', berth.namespace, 'create', '-f', '-'], JSON.stringify(pod));
    await kubectl('wait', '--for=condition=Ready', `pod/${user}`, '--timeout=60s');
    await askForDeletion(created);
    await blocked(created, 'VolumeInUse', `PersistentVolumeClaim ${claim}`, `Pod ${user}`);
    expect((await explained(created)).remedy).toMatchObject({ reason: 'VolumeInUse' });
    await kubectl('delete', 'pod', user, '--wait=false');
    await ended(created);
  });

  test.concurrent('names the admission rule, and completes when the rule is removed', async () => {
    const created = await ready('refused');
    const claim = `${appOf(created)}-db`;
    const name = `keep-${appOf(created)}`;
    const api = 'admissionregistration.k8s.io/v1';
    const policy = {
      apiVersion: api,
      kind: 'ValidatingAdmissionPolicy',
      metadata: { name },
      spec: {
        failurePolicy: 'Fail',
        matchConstraints: {
          resourceRules: [
            {
              apiGroups: [''],
              apiVersions: ['v1'],
              operations: ['DELETE'],
              resources: ['persistentvolumeclaims'],
            },
          ],
        },
        validations: [
          { expression: `oldObject.metadata.name != '${claim}'`, message: 'claims are kept for the audit' },
        ],
      },
    };
    const binding = {
      apiVersion: api,
      kind: 'ValidatingAdmissionPolicyBinding',
      metadata: { name },
      spec: { policyName: name, validationActions: ['Deny'] },
    };
    const rules = JSON.stringify({ apiVersion: 'v1', kind: 'List', items: [policy, binding] });
    await kubectlAsAdmin(['create', '-f', '-'], rules);
    // A rule is in effect a moment after it was made.
    await waitFor(
      'the rule to be in effect',
      async () =>
        (await kubectl('delete', 'pvc', claim, '--dry-run=server').catch((error) => String(error))).includes(
          'audit',
        ),
      WAIT,
    );
    await askForDeletion(created);
    await blocked(
      created,
      'DeletionRefused',
      `PersistentVolumeClaim ${claim}`,
      'claims are kept for the audit',
    );
    expect((await explained(created)).remedy).toMatchObject({ reason: 'DeletionRefused' });
    await kubectlAsAdmin(['delete', '-f', '-'], rules);
    await ended(created);
  });
});

describe('a deployment that is not deleted', () => {
  test.concurrent('is not reported as available when its custom resource has a blocked deletion', async () => {
    const created = await ready('mdep-goes');
    const object = `mdep/${appOf(created)}`;
    await hold(object, HOLD);
    await kubectl('delete', object, '--wait=false');
    const conditions = await blocked(created, 'FinalizerBlocks', `ManagedDeployment ${appOf(created)}`, HOLD);
    expect(statusOf(conditions, 'Serving')).toBe('Unknown');
    expect(statusOf(conditions, 'DatabaseReady')).toBe('Unknown');
    expect((await explained(created)).remedy).toMatchObject({ reason: 'FinalizerBlocks' });
    await release(object);
    await waitFor(
      'it to serve again',
      async () => statusOf(await conditionsOf(created), 'Ready') === 'True',
      WAIT,
    );
  });

  test.concurrent('names a StatefulSet with a blocked deletion, and creates it again once it is gone', async () => {
    const created = await ready('sts-goes');
    const name = `${appOf(created)}-db`;
    await hold(`statefulset/${name}`, HOLD);
    await kubectl('delete', 'statefulset', name, '--wait=false');
    const conditions = await blocked(created, 'FinalizerBlocks', `StatefulSet ${name}`, HOLD);
    expect(statusOf(conditions, 'DatabaseReady')).not.toBe('True');
    await release(`statefulset/${name}`);
    await waitFor(
      'the database to be there again',
      async () => statusOf(await conditionsOf(created), 'Ready') === 'True',
      WAIT,
    );
  });

  test('names its terminating namespace, and then the objects left in it', async () => {
    const created = await ready('homeless', {
      source_config: { listener_config: { cluster_namespace: leaving } },
    });
    const claim = `pvc/${appOf(created)}-db`;
    await patch(leaving, claim, ['kubernetes.io/pvc-protection', HOLD]);
    await deleteNamespace(leaving);
    const conditions = await blocked(created, 'NamespaceTerminating', leaving);
    expect(statusOf(conditions, 'Serving')).not.toBe('True');
    expect(statusOf(conditions, 'DatabaseReady')).not.toBe('True');
    expect((await explained(created)).remedy).toMatchObject({ reason: 'NamespaceTerminating' });
    await askForDeletion(created);
    const after = await blocked(created, 'FinalizerBlocks', `${appOf(created)}-db`, HOLD);
    expect(after.filter(({ status }) => status === 'True')).toEqual([]);
    await release(claim, leaving);
    await ended(created);
  });
});
