import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { formerSpec } from '../../../../src/contract/resource/former-names.ts';
import { contentHash } from '../../../../src/domain/core/hash.ts';
import {
  eventually,
  type ListenerFixture,
  type RunningListener,
  startListenerFixture,
} from '../../harness/listener.ts';

let fixture: ListenerFixture;
let listener: RunningListener;
beforeAll(async () => {
  fixture = await startListenerFixture('apply');
  listener = await fixture.start();
});
afterAll(() => fixture.stop());

const writes = (from: number) =>
  listener.requests
    .slice(from)
    .filter(({ verb }) => ['create', 'apply', 'patch', 'update', 'delete'].includes(verb))
    .map(({ verb, resource }) => `${verb} ${resource}`);

describe('a deployment in the hub', () => {
  it('becomes the desired custom resource after its environment, and is acknowledged', async () => {
    const from = listener.requests.length;
    const record = await fixture.deploy('shop', { secrets: [{ name: 'TOKEN', value: 's3cret' }] });
    const { appName, id, tenantId } = record;
    const mdep = await fixture.until(record, 'there', () => true);
    expect(mdep.metadata.labels).toMatchObject({
      'berth.dev/deployment-id': id,
      'berth.dev/tenant-id': tenantId,
    });
    expect(mdep.spec).toMatchObject({
      recordGeneration: 1,
      revision: { number: 1, envSecretName: `${appName}-env-1` },
    });
    expect(JSON.stringify(mdep)).not.toContain('s3cret');
    expect(mdep.metadata.annotations['berth.dev/spec-hash']).toBe(contentHash(formerSpec(mdep.spec)));
    const secret = JSON.parse(await fixture.kubectl('get', 'secret', `${appName}-env-1`, '-o', 'json'));
    expect(secret).toMatchObject({
      immutable: true,
      data: { TOKEN: Buffer.from('s3cret').toString('base64') },
    });
    await fixture.acknowledged(id);
    expect(writes(from)).toEqual(['create secrets', 'create manageddeployments']);
  });

  it('costs one apply for a change, and a new environment only if that changed', async () => {
    const record = await fixture.deploy('changing', { secrets: [{ name: 'A', value: '1' }] });
    await fixture.acknowledged(record.id);
    const from = listener.requests.length;
    const sourceRevisionConfig = { ...record.sourceRevisionConfig, image_uri: 'registry.example/web:2.0.0' };
    const changed = await fixture.change(record, { sourceRevisionConfig, revision: null });
    await fixture.acknowledged(record.id);
    expect(writes(from)).toEqual(['apply manageddeployments']);
    await fixture.change(changed, { secrets: { kind: 'values', secrets: [{ name: 'A', value: '2' }] } });
    await fixture.until(record, 'revision 2', ({ spec }) => spec.revision.number === 2);
    await fixture.acknowledged(record.id);
    expect(writes(from).slice(1)).toEqual(['create secrets', 'apply manageddeployments']);
  });

  it('replaces the environment of a lost revision with the same number after a restore of the hub', async () => {
    const record = await fixture.deploy('restored', { secrets: [{ name: 'A', value: '1' }] });
    await fixture.acknowledged(record.id);
    const name = `${record.appName}-env-2`;
    await fixture.kubectl('create', 'secret', 'generic', name, '--from-literal=A=lost');
    await fixture.kubectl('patch', 'secret', name, '-p', '{"immutable": true}');
    const marks = {
      'berth.dev/deployment-id': record.id,
      'app.kubernetes.io/managed-by': 'berth',
      'berth.dev/revision-id': 'lost',
    };
    const labels = Object.entries(marks).map(([key, value]) => `${key}=${value}`);
    await fixture.kubectl('label', 'secret', name, ...labels);
    await fixture.change(record, { secrets: { kind: 'values', secrets: [{ name: 'A', value: '2' }] } });
    await fixture.until(record, 'revision 2', ({ spec }) => spec.revision.number === 2);
    const secret = JSON.parse(await fixture.kubectl('get', 'secret', name, '-o', 'json'));
    expect(secret).toMatchObject({ immutable: true, data: { A: Buffer.from('2').toString('base64') } });
  });

  it('converges to the last of fifty simultaneous changes', async () => {
    let record = await fixture.deploy('busy');
    const from = listener.requests.length;
    for (let i = 0; i < 50; i += 1) record = await fixture.change(record);
    await fixture.until(
      record,
      'the last',
      ({ spec }) => spec.recordGeneration === 51 && spec.revision.number === 51,
    );
    await fixture.acknowledged(record.id);
    expect(writes(from).length).toBeLessThan(50);
  });
});

describe('a custom resource that another account changes', () => {
  it('gets its spec back, and keeps a foreign label', async () => {
    const record = await fixture.deploy('edited');
    const before = await fixture.until(record, 'there', () => true);
    await fixture.acknowledged(record.id);
    await fixture.kubectl('label', 'mdep', record.appName, 'team=blue');
    await fixture.kubectl(
      'patch',
      'mdep',
      record.appName,
      '--type=merge',
      '-p',
      '{"spec":{"recordGeneration":99,"suspend":true,"database":{"storage":"900Gi"},"routing":{"url":"https://evil.example"}}}',
    );
    const after = await fixture.until(
      record,
      'put back',
      ({ spec, metadata }) => metadata.generation >= 3 && spec.recordGeneration === 1,
    );
    expect(after.spec).toEqual(before.spec);
    expect(after.metadata.labels).toMatchObject({ team: 'blue' });
    await eventually(
      'the event',
      async () =>
        (
          await fixture.hub.store.sql(
            `SELECT 1 FROM events WHERE deployment_id = $1 AND reason = 'ObjectCorrected'`,
            [record.id],
          )
        ).length > 0 || undefined,
    );
  });

  it('is created again when it was deleted', async () => {
    const record = await fixture.deploy('deleted', { secrets: [{ name: 'A', value: '1' }] });
    const before = await fixture.until(record, 'there', () => true);
    await fixture.acknowledged(record.id);
    await fixture.kubectl('delete', 'secret', `${record.appName}-env-1`);
    await fixture.kubectl('delete', 'mdep', record.appName, '--wait=false');
    const after = await fixture.until(
      record,
      'there again',
      ({ metadata }) => metadata.uid !== before.metadata.uid,
    );
    expect(after.spec).toEqual(before.spec);
    await fixture.kubectl('get', 'secret', `${record.appName}-env-1`);
  });

  it('causes no request when only an annotation or the status changes', async () => {
    const record = await fixture.deploy('quiet');
    await fixture.acknowledged(record.id);
    const from = listener.requests.length;
    await fixture.kubectl('annotate', 'mdep', record.appName, 'note=1');
    await fixture.kubectl(
      'patch',
      'mdep',
      record.appName,
      '--subresource=status',
      '--type=merge',
      '-p',
      '{"status":{"observedRecordGeneration":1,"suspended":false}}',
    );
    await eventually('observed', async () => (await fixture.read(record.id))?.observation ?? undefined);
    expect(listener.requests.slice(from).filter(({ path }) => path !== '/version')).toEqual([]);
  });

  it('is reported and not changed when it is another resource of the same name', async () => {
    const added = { id: '01900000-0000-7000-8000-0000000c0ffe', appName: 'taken-000c0ffe' };
    const manifest = `{"apiVersion":"berth.dev/v1alpha1","kind":"ManagedDeployment","metadata":{"name":"${added.appName}"},"spec":{"revision":{"image":"mine"}}}`;
    const { kubectlAsAdmin } = await import('../../harness/environment.ts');
    await kubectlAsAdmin(['apply', '-n', fixture.namespace, '-f', '-'], manifest);
    await fixture.deploy('taken', added);
    const events = await eventually('the event', async () => {
      const rows = await fixture.hub.store.sql<{ message: string }>(
        `SELECT message FROM events WHERE deployment_id = $1 AND reason = 'Conflict'`,
        [added.id],
      );
      return rows.length > 0 ? rows : undefined;
    });
    expect(events[0]?.message).toContain('that Berth did not create');
    expect((await fixture.mdep(added.appName))?.spec.revision.image).toBe('mine');
    await kubectlAsAdmin(['delete', 'mdep', '-n', fixture.namespace, added.appName]);
    await fixture.until(
      added,
      'ours once the other is gone',
      ({ spec }) => spec['deploymentId'] === added.id,
    );
  });

  it('fails its revision with the reason when the API server rejects it permanently', async () => {
    const record = await fixture.deploy('refused', { appName: 'Not A Name' });
    await eventually('failed', async () => {
      const [row] = await fixture.hub.store.sql<{ status: string; message: string }>(
        'SELECT status, message FROM revisions WHERE deployment_id = $1',
        [record.id],
      );
      return row?.status === 'DEPLOY_FAILED' && row.message.includes('Not A Name') ? row : undefined;
    });
  });

  it('is reported with a reason when the listener may not use its namespace', async () => {
    const record = await fixture.deploy('elsewhere', { namespace: 'kube-system' });
    await eventually(
      'the event',
      async () =>
        (
          await fixture.hub.store.sql(
            `SELECT 1 FROM events WHERE deployment_id = $1 AND reason = 'NamespaceNotAllowed'`,
            [record.id],
          )
        ).length > 0 || undefined,
    );
  });
});
