import { globSync, readFileSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { parseAllDocuments, parseDocument } from 'yaml';
import { createKubeClient } from '../../../../src/cluster/kube/client/client.ts';
import type { KubeClient, ObservedRequest } from '../../../../src/cluster/kube/client/client-types.ts';
import { unknownFields } from '../../../../src/cluster/kube/client/errors.ts';
import { EventRecorder } from '../../../../src/cluster/kube/client/events.ts';
import type { UntypedObject } from '../../../../src/cluster/kube/client/object.ts';
import { RESOURCES } from '../../../../src/cluster/kube/client/resources.ts';
import { subsetDiff, whyApply, withHash } from '../../../../src/cluster/kube/compare/compare.ts';
import { recordingLogger, temporaryFolder } from '../../../unit/cluster/kube/support.ts';
import { createNamespace, deleteNamespace, environment } from '../../harness/environment.ts';

const HASH = 'berth.dev/applied-hash';
const seen: ObservedRequest[] = [];
let client: KubeClient;
let namespace: string;

beforeAll(async () => {
  client = await createKubeClient({
    kubeconfigPath: environment().kubeconfigPath,
    userAgent: 'kube-client-test',
    requestTimeoutMs: 20_000,
    observer: (request) => seen.push(request),
  });
  namespace = await createNamespace('kube');
});
afterAll(async () => {
  await client.close();
  await deleteNamespace(namespace);
});

function configMap(name: string, fields: object = {}, metadata: object = {}): UntypedObject {
  return { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, namespace, ...metadata }, ...fields };
}

describe('fences', () => {
  test('prevent server-side apply with a uid from creating a missing object or changing a recreated one', async () => {
    const first = await client.create(configMap('fenced'));
    const { uid } = first.metadata;
    await client.apply(configMap('fenced', { data: { a: '1' } }, { uid }), { fieldManager: 'me' });
    await client.delete(RESOURCES.ConfigMap, first.metadata, { uid });
    const resurrect = client.apply(configMap('fenced', {}, { uid }), { fieldManager: 'me' });
    await expect(resurrect).rejects.toMatchObject({ kind: 'conflict' });
    await client.create(configMap('fenced'));
    const misled = client.apply(configMap('fenced', {}, { uid }), { fieldManager: 'me' });
    await expect(misled).rejects.toMatchObject({ kind: 'conflict' });
    const remove = client.delete(RESOURCES.ConfigMap, first.metadata, { uid });
    await expect(remove).rejects.toMatchObject({ kind: 'conflict', status: 409 });
    expect(await client.find(RESOURCES.ConfigMap, first.metadata)).toBeDefined();
  });

  test('reject a second create, a stale replacement and a foreign field', async () => {
    const made = await client.create(configMap('busy', { data: { a: '1' } }), { fieldManager: 'first' });
    await expect(client.create(configMap('busy'))).rejects.toMatchObject({ kind: 'already_exists' });
    const { resourceVersion } = made.metadata;
    await client.patch(RESOURCES.ConfigMap, made.metadata, { data: { a: '2' } });
    const stale = client.replace(configMap('busy', {}, { resourceVersion }));
    await expect(stale).rejects.toMatchObject({ kind: 'conflict', reason: 'Conflict' });
    const polite = client.apply(configMap('busy', { data: { a: '3' } }), {
      fieldManager: 'second',
      force: false,
    });
    await expect(polite).rejects.toMatchObject({ kind: 'conflict', causes: [{ field: '.data.a' }] });
    const forced = await client.apply(configMap('busy', { data: { a: '3' } }), { fieldManager: 'second' });
    expect(forced).toMatchObject({ data: { a: '3' } });
  });
});

describe('errors', () => {
  test('name the invalid field', async () => {
    const service = {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { name: 's', namespace },
      spec: { ports: [{ port: 0 }] },
    };
    await expect(client.create(service)).rejects.toMatchObject({
      kind: 'invalid',
      retryable: false,
      causes: [{ field: 'spec.ports[0].port', reason: 'FieldValueInvalid' }, expect.anything()],
    });
  });

  test('reject a field that the server does not know, instead of dropping it', async () => {
    const unknown = client.create(configMap('unknown', { dataa: {} }));
    await expect(unknown).rejects.toMatchObject({
      kind: 'bad_request',
      message: expect.stringContaining('dataa'),
    });
    const applied = client.apply(configMap('unknown', { dataa: {} }), { fieldManager: 'me' });
    for (const write of [unknown, applied]) {
      expect(await write.catch((error) => unknownFields(error))).toEqual(['dataa']);
    }
  });

  test('distinguish a missing object, a missing kind and a missing namespace', async () => {
    expect(await client.find(RESOURCES.ConfigMap, { namespace, name: 'none' })).toBeUndefined();
    const foreign = { ...RESOURCES.HTTPRoute, group: 'not.installed.example' };
    await expect(client.find(foreign, { namespace, name: 'x' })).rejects.toMatchObject({
      kind: 'unknown_resource',
    });
    const typo = { ...RESOURCES.Deployment, plural: 'deploymentz' };
    await expect(client.list(typo, { namespace })).rejects.toMatchObject({ kind: 'unknown_resource' });
    const lost = { ...configMap('x'), metadata: { name: 'x', namespace: 'does-not-exist' } };
    await expect(client.create(lost)).rejects.toMatchObject({ kind: 'not_found' });
  });
});

describe('lists', () => {
  test('come in pages of one resource version', async () => {
    await Promise.all(
      Array.from({ length: 7 }, (_value, index) =>
        client.create(configMap(`page-${index}`, {}, { labels: { paged: 'yes' } })),
      ),
    );
    const before = seen.length;
    const all = await client.listAll(RESOURCES.ConfigMap, {
      namespace,
      labelSelector: 'paged=yes',
      limit: 3,
    });
    expect(all.items.map(({ kind, metadata }) => `${kind} ${metadata.name}`)).toEqual(
      Array.from({ length: 7 }, (_value, index) => `ConfigMap page-${index}`),
    );
    expect(seen.slice(before).map(({ verb }) => verb)).toEqual(['list', 'list', 'list']);
    expect(BigInt(all.resourceVersion)).toBeGreaterThan(0n);
  });

  test('return the same objects as a stream as in pages', async () => {
    const options = { namespace, labelSelector: 'paged=yes' };
    const paged = await client.listAll(RESOURCES.ConfigMap, options);
    const before = seen.length;
    const names: string[] = [];
    const all = await client.listAll(RESOURCES.ConfigMap, {
      ...options,
      streamed: true,
      transform: (item) => {
        names.push(item.metadata.name);
        return item;
      },
    });
    expect(all.items).toEqual(paged.items);
    expect(names).toEqual(paged.items.map(({ metadata }) => metadata.name));
    expect(BigInt(all.resourceVersion)).toBeGreaterThanOrEqual(BigInt(paged.resourceVersion));
    expect(seen.slice(before)).toMatchObject([{ verb: 'list', status: 200, resource: 'configmaps' }]);
  });

  test('use HTTP/2 with the server', async () => {
    const old = await createKubeClient({
      kubeconfigPath: environment().kubeconfigPath,
      userAgent: 'kube-client-test',
      requestTimeoutMs: 20_000,
      protocol: 'http1',
    });
    const options = { namespace, labelSelector: 'paged=yes' };
    const [one, two] = await Promise.all(
      [client, old].map((each) => each.listAll(RESOURCES.ConfigMap, options)),
    );
    expect(one?.items).toEqual(two?.items);
    await old.close();
  });
});

test('impersonates a user with several groups, each of which may contain a comma', async () => {
  const groups = ['team-a', 'team-b, and others'];
  const config = parseDocument(await readFile(environment().kubeconfigPath, 'utf8'));
  config.setIn(['users', 0, 'user', 'as'], 'someone');
  config.setIn(['users', 0, 'user', 'as-groups'], groups);
  const kubeconfigPath = path.join(await temporaryFolder(), 'config');
  await writeFile(kubeconfigPath, String(config));
  const someone = await createKubeClient({
    kubeconfigPath,
    userAgent: 'kube-client-test',
    requestTimeoutMs: 20_000,
  });
  onTestFinished(() => someone.close());
  const { body } = await someone.request('POST', '/apis/authentication.k8s.io/v1/selfsubjectreviews', {
    body: { apiVersion: 'authentication.k8s.io/v1', kind: 'SelfSubjectReview' },
  });
  expect(body).toMatchObject({
    status: { userInfo: { username: 'someone', groups: expect.arrayContaining(groups) } },
  });
});

describe('the comparison with the stored object', () => {
  const golden = globSync(fileURLToPath(new URL('../../../golden/**/objects.yaml', import.meta.url))).flatMap(
    (file) =>
      parseAllDocuments(readFileSync(file, 'utf8')).map(
        (document) => document.toJS() as UntypedObject | null,
      ),
  );
  const installed = golden.filter(
    (object) => object !== null && object.kind !== 'HTTPRoute',
  ) as UntypedObject[];

  test('finds no difference between any golden object and its version of the API server', async () => {
    expect(installed.length).toBeGreaterThan(200);
    const differences = await Promise.all(
      installed.map(async (object, index) => {
        const metadata = { ...object.metadata, namespace, ownerReferences: undefined };
        const desired = withHash({ ...object, metadata }, HASH);
        const live =
          index % 2 === 0
            ? await client.create(desired, { dryRun: true })
            : await client.apply(desired, { fieldManager: 'me', dryRun: true });
        return whyApply(desired, live, HASH).map((difference) => ({ kind: object.kind, ...difference }));
      }),
    );
    expect(differences.flat()).toEqual([]);
  });

  test('ignores additions of others, and finds changes of others that one apply reverts', async () => {
    const pod = {
      containers: [{ name: 'app', image: 'x:1', args: ['a'], env: [{ name: 'A', value: '1' }] }],
    };
    const labels = { app: 'drift' };
    const template = { metadata: { labels }, spec: pod };
    const spec = { replicas: 0, selector: { matchLabels: labels }, template };
    const desired = {
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata: { name: 'drift', namespace, labels },
      spec,
    };
    await client.apply(desired, { fieldManager: 'me' });
    const at = { namespace, name: 'drift' };
    const changed = {
      name: 'app',
      image: 'x:2',
      args: ['a', 'b'],
      env: [
        { name: 'A', value: '1' },
        { name: 'B', value: '2' },
      ],
    };
    const live = await client.patch(RESOURCES.Deployment, at, {
      metadata: { labels: { theirs: 'yes' } },
      spec: { template: { spec: { containers: [changed] } } },
    });
    expect(subsetDiff(desired, live).map(({ path }) => path)).toEqual([
      'spec.template.spec.containers[name=app].image',
      'spec.template.spec.containers[name=app].args',
    ]);
    const healed = await client.apply(desired, { fieldManager: 'me' });
    expect(subsetDiff(desired, healed)).toEqual([]);
    expect(healed.metadata.labels).toMatchObject({ theirs: 'yes' });
    const container = (healed as unknown as typeof desired).spec.template.spec.containers[0];
    expect(container).toMatchObject({ image: 'x:1', args: ['a'], env: [{ name: 'A' }, { name: 'B' }] });
  });
});

describe('events', () => {
  test('are listed by their object, with their count', async () => {
    const object = await client.create(configMap('eventful'));
    const recorder = new EventRecorder({ client, component: 'berth-operator', logger: recordingLogger() });
    recorder.record(object, 'Warning', 'RolloutFailed', 'the image does not exist');
    await recorder.flush();
    recorder.record(object, 'Warning', 'RolloutFailed', 'the image does not exist');
    await recorder.flush();
    const { items } = await client.listAll(RESOURCES.Event, {
      namespace,
      fieldSelector: `involvedObject.uid=${object.metadata.uid},reason=RolloutFailed`,
    });
    expect(items).toMatchObject([{ type: 'Warning', count: 2, source: { component: 'berth-operator' } }]);
  });
});
