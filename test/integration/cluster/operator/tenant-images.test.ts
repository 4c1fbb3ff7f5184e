/**
 * Images in cloud, where custom resources written by hand name them: what is on a node already is used only of the tenant
 * whose namespace it is, whatever tenant the resource names.
 */
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { KubeClient } from '../../../../src/cluster/kube/client/client.ts';
import { RESOURCES } from '../../../../src/cluster/kube/client/resources.ts';
import { tenantNamespace } from '../../../../src/contract/resource/names.ts';
import { uuidv7 } from '../../../../src/domain/core/id.ts';
import { deleteNamespace, kubectlAsAdmin } from '../../harness/environment.ts';
import {
  type OperatorWorld,
  operatorWorld,
  RENDERING,
  type RunningOperator,
  startOperator,
} from '../../harness/operator.ts';
import { App, adminClient, appSpec } from '../../harness/rollouts.ts';

const [WRITER, OTHER] = [uuidv7(), uuidv7()];
const DIGEST = `sha256:${'ab'.repeat(32)}`;
const imageOf = (tenantId: string, { name }: App) => `registry.test/${tenantId}/${name}@${DIGEST}`;

let world: OperatorWorld;
let operator: RunningOperator;
let client: KubeClient;

beforeAll(async () => {
  world = await operatorWorld('tenant-images');
  const namespace = tenantNamespace(WRITER);
  await kubectlAsAdmin(['create', 'namespace', namespace]);
  await kubectlAsAdmin(['-n', namespace, 'wait', '--for=create', 'serviceaccount/default', '--timeout=30s']);
  client = await adminClient();
  const config = { ...RENDERING, hosting: 'cloud' as const, registry: 'registry.test' };
  operator = await startOperator({ ...world.settings, namespace, moreNamespaces: [world.namespace], config });
});
afterAll(async () => {
  await operator.stop();
  await client.close();
  await deleteNamespace(tenantNamespace(WRITER));
  await world.end();
});

async function pullPolicyOf(app: App, tenantId: string): Promise<string | undefined> {
  await app.apply(
    appSpec(1, imageOf(tenantId, app), { source: 'internal_image', tenantId, recordGeneration: 1 }),
  );
  await app.until('serving', ({ activeRevision }) => activeRevision?.number === 1);
  const [deployment] = await app.list(RESOURCES.Deployment);
  const spec = deployment?.['spec'] as
    | { template: { spec: { containers: { image: string; imagePullPolicy: string }[] } } }
    | undefined;
  return spec?.template.spec.containers.find(({ image }) => image === imageOf(tenantId, app))
    ?.imagePullPolicy;
}

test('allows the node cache for an image by digest of the same tenant', async () => {
  const own = new App(client, tenantNamespace(WRITER), 'own');
  expect(await pullPolicyOf(own, WRITER)).toBe('IfNotPresent');
});

test.each([
  ['in the namespace of its writer', 'taken', () => tenantNamespace(WRITER)],
  ['in a namespace without a tenant', 'outside', () => world.namespace],
])('pulls an image by digest of another tenant each time (%s)', async (_, name, namespace) => {
  expect(await pullPolicyOf(new App(client, namespace(), name), OTHER)).toBe('Always');
});
