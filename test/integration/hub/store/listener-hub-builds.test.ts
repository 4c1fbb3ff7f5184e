/** Builds in the listener protocol, on the database: what a work item asks for, and what the reports of a build make of it. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Report } from '../../../../src/contract/protocol/report-protocol.ts';
import type { ApplyWork } from '../../../../src/contract/protocol/work-protocol.ts';
import { uuidv7 } from '../../../../src/domain/core/id.ts';
import type { Secret } from '../../../../src/domain/deployment/deployment.ts';
import { createIntegration, updateIntegration } from '../../../../src/hub/store/builds/integrations.ts';
import type { DeploymentRecord } from '../../../../src/hub/store/core/records.ts';
import { updateDesiredState } from '../../../../src/hub/store/deployments/deployments.ts';
import { listRevisions } from '../../../../src/hub/store/deployments/revisions.ts';
import { renewBuildCredentials } from '../../../../src/hub/store/secrets/build-credentials.ts';
import { pendingPullSecrets, redeliverPullSecrets } from '../../../../src/hub/store/secrets/pull-secrets.ts';
import { type HubFixture, observedReport, protocolClient, startHub } from '../../harness/hub.ts';
import { insert, newDeployment, newTenant, untilLockWait } from '../../harness/store.ts';

const TOKEN = 'token-of-the-integration';
const COMMIT = 'c'.repeat(40);
const DIGEST = `sha256:${'d'.repeat(64)}`;

let hub: HubFixture;
let listener: ReturnType<typeof protocolClient>;
let tenantId: string;
beforeAll(async () => {
  hub = await startHub({ registry: 'https://registry.example/apps' });
  ({ tenantId } = await newTenant(hub.store));
  listener = protocolClient(hub, 'a');
  await listener.lease();
});
afterAll(() => hub.stop());

const { sourceConfig, sourceRevisionConfig } = newDeployment('');
const GIT = { ...sourceRevisionConfig, image_uri: null, workflow_config_path: 'app.json', repo_ref: 'main' };

async function deploy(
  name: string,
  more: { integrationId?: string; repoUrl?: string; secrets?: Secret[] } = {},
) {
  const { integrationId = null, repoUrl = 'https://git.example/team/app', secrets = [] } = more;
  return insert(hub.store, tenantId, name, {
    source: 'git_host',
    sourceConfig: {
      ...sourceConfig,
      repo_url: repoUrl,
      integration_id: integrationId,
      build_command: 'make',
    },
    sourceRevisionConfig: GIT,
    secrets,
    imageVersion: null,
    revision: { id: uuidv7(), status: 'AWAITING_BUILD' },
  });
}

async function itemOf({ id }: DeploymentRecord): Promise<ApplyWork> {
  await hub.store.sql('UPDATE deployments SET next_attempt_at = now() WHERE id = $1', [id]);
  const { items } = (await listener.work()).body;
  return items.find(({ deployment_id }) => deployment_id === id) as ApplyWork;
}

const revisions = (record: DeploymentRecord) =>
  hub.store.database
    .forTenant(tenantId)
    .read((reader) => listRevisions(reader, tenantId, record.id, {}, { limit: 100, offset: 0 }));

async function reportBuild(
  record: DeploymentRecord,
  build: NonNullable<Extract<Report, { kind: 'observed' }>['build']>,
): Promise<void> {
  const answer = await listener.report([observedReport(record, { observed_spec_generation: 1, build })]);
  expect(answer.status).toBe(200);
}

async function rowOf({ id }: DeploymentRecord) {
  const [row] = await hub.store.sql(
    `SELECT generation, acknowledged_generation, has_runnable_revision, recorded_status, source_revision_config
     FROM deployments WHERE id = $1`,
    [id],
  );
  return row as { generation: number; has_runnable_revision: boolean; recorded_status: string };
}

describe('a work item with a build', () => {
  it('states what to build and where to push the image', async () => {
    const record = await deploy('asked');
    const { spec, build_secret: secret } = await itemOf(record);
    expect(spec.build).toEqual({
      revisionId: record.latestRevisionId,
      number: 1,
      repoUrl: 'https://git.example/team/app',
      ref: 'main',
      configPath: 'app.json',
      buildCommand: 'make',
      repository: `registry.example/apps/${tenantId}/${record.appName}`,
      secretName: secret?.name,
    });
    expect(secret).toMatchObject({
      revision_id: record.latestRevisionId,
      data: { 'config.json': '{"auths":{}}' },
    });
  });

  it('has the token of the integration only for its own host, and never in the custom resource', async () => {
    const made = { name: 'git', provider: 'gitlab', hostUrl: 'https://git.example', token: TOKEN } as const;
    const { id: integrationId } = await hub.store.database
      .forTenant(tenantId)
      .transaction((tx) => createIntegration(tx, hub.store.box, tenantId, made, { kind: 'system' }));
    const own = await itemOf(await deploy('own host', { integrationId }));
    expect(own.build_secret?.data).toMatchObject({ 'git-username': 'oauth2', 'git-token': TOKEN });
    expect(JSON.stringify(own.spec)).not.toContain(TOKEN);
    const foreign = await deploy('other host', {
      integrationId,
      repoUrl: 'https://elsewhere.example/team/app',
    });
    expect(JSON.stringify(await itemOf(foreign))).not.toContain(TOKEN);
  });

  const itemNow = async ({ id }: DeploymentRecord) =>
    ((await listener.work()).body.items as ApplyWork[]).find(({ deployment_id }) => deployment_id === id);

  async function toldApplied(item: ApplyWork | undefined): Promise<void> {
    const { deployment_id = '', generation = 0, work_version } = item ?? {};
    const answer = await listener.report([{ kind: 'applied', deployment_id, generation, work_version }]);
    expect(answer.status).toBe(200);
  }
  async function isWork({ id }: DeploymentRecord): Promise<boolean> {
    const rows = await hub.store.sql(
      'SELECT 1 FROM deployments WHERE id = $1 AND generation > acknowledged_generation',
      [id],
    );
    return rows.length > 0;
  }

  async function settled(record: DeploymentRecord): Promise<void> {
    await toldApplied(await itemOf(record));
    expect(await isWork(record)).toBe(false);
  }

  /** An integration of its own, and what gives it another token. */
  async function renewable(name: string) {
    const made = { name, provider: 'gitlab', hostUrl: 'https://git.example', token: TOKEN } as const;
    const actor = { kind: 'system' } as const;
    const own = hub.store.database.forTenant(tenantId);
    const { id: integrationId } = await own.transaction((tx) =>
      createIntegration(tx, hub.store.box, tenantId, made, actor),
    );
    const change = (token: string) =>
      own.transaction((tx) =>
        updateIntegration(tx, hub.store.box, tenantId, integrationId, { change: { token }, actor }),
      );
    return { integrationId, change };
  }

  it('is handed out again with the new token of its integration while its build is unfinished', async () => {
    const { integrationId, change } = await renewable('renewed');
    const [waiting, over] = [
      await deploy('waits', { integrationId }),
      await deploy('is over', { integrationId }),
    ];
    await settled(waiting);
    await settled(over);
    await hub.store.sql("UPDATE revisions SET status = 'BUILD_FAILED' WHERE deployment_id = $1", [over.id]);
    await change('another-token');
    const { items } = (await listener.work()).body as { items: ApplyWork[] };
    expect(items.map(({ deployment_id }) => deployment_id)).toEqual([waiting.id]);
    expect(items[0]?.build_secret?.data['git-token']).toBe('another-token');
    expect(items[0]?.generation).toBe(waiting.generation);
  });

  it('is followed by another when the token changes, and its late acknowledgement does not cover that one', async () => {
    const { integrationId, change } = await renewable('renewed meanwhile');
    const record = await deploy('is out', { integrationId });
    const first = await itemOf(record);
    await change('another-token');
    const second = await itemNow(record);
    expect(second?.build_secret?.data['git-token']).toBe('another-token');
    expect(second?.generation).toBe(first.generation);
    await toldApplied(first);
    await toldApplied(first);
    expect(await isWork(record)).toBe(true);
    await toldApplied(second);
    await toldApplied(first);
    expect(await isWork(record)).toBe(false);
  });

  it('has the new token when the build is requested while the token changes', async () => {
    const { integrationId, change } = await renewable('renewed at once');
    const record = await deploy('is pushed to', { integrationId });
    await settled(record);
    await hub.store.sql("UPDATE revisions SET status = 'BUILD_FAILED' WHERE deployment_id = $1", [record.id]);
    const pushing = hub.store.database.platform.transaction(async (transaction) => {
      await transaction.query('SELECT 1 FROM deployments WHERE id = $1 FOR UPDATE', [record.id]);
      const changed = change('another-token');
      await untilLockWait(hub.store, 'the change of the token to wait');
      await transaction.query(`UPDATE revisions SET status = 'AWAITING_BUILD' WHERE deployment_id = $1`, [
        record.id,
      ]);
      return { changed };
    });
    await (await pushing).changed;
    expect((await itemNow(record))?.build_secret?.data['git-token']).toBe('another-token');
  });

  it('is acknowledged by an earlier listener that reports no work version', async () => {
    const { integrationId, change } = await renewable('renewed, and not told');
    const record = await deploy('is of before', { integrationId });
    const { work_version: _, ...first } = await itemOf(record);
    await change('another-token');
    await toldApplied(first);
    expect(await isWork(record)).toBe(false);
  });

  it('is not acknowledged by a report of the earlier item when the key of the registry changed in between', async () => {
    const { platform } = hub.store.database;
    const record = await deploy('pulls meanwhile');
    const first = await itemOf(record);
    const before = await platform.read(pendingPullSecrets);
    expect(await platform.transaction(redeliverPullSecrets)).toBeGreaterThan(0);
    await toldApplied(first);
    expect(await platform.read(pendingPullSecrets)).toBeGreaterThanOrEqual(before);
    expect(await isWork(record)).toBe(true);
    await settled(record);
  });

  it('is handed out again before its credentials expire', async () => {
    const record = await deploy('waits for long');
    await settled(record);
    const renew = () => hub.store.database.platform.transaction(renewBuildCredentials);
    await renew();
    expect(await itemNow(record)).toBeUndefined();
    const { id } = record;
    await hub.store.sql(
      `UPDATE deployments SET next_attempt_at = now() - interval '13 hours' WHERE id = $1`,
      [id],
    );
    await renew();
    expect((await itemNow(record))?.build_secret?.data).toHaveProperty('config.json');
  });

  it('is postponed when the token of its integration cannot be decrypted, and an event names the fix', async () => {
    const { integrationId, change } = await renewable('lost');
    const record = await deploy('lost token', { integrationId });
    await hub.store.sql(
      'UPDATE integrations SET sealed = set_byte(sealed, 20, get_byte(sealed, 20) # 1) WHERE id = $1',
      [integrationId],
    );
    expect(await itemOf(record)).toBeUndefined();
    const why = {
      reason: 'TokenUnreadable',
      message: expect.stringContaining(`PATCH /v2/integrations/${integrationId}`),
    };
    expect(
      await hub.store.sql(
        'SELECT reason, message FROM events WHERE deployment_id = $1 ORDER BY id DESC LIMIT 1',
        [record.id],
      ),
    ).toMatchObject([why]);
    await change('another-token');
    expect((await itemNow(record))?.build_secret?.data['git-token']).toBe('another-token');
  });

  it('names the replacing revision when the active one cannot be decrypted, and starts nothing until it is built', async () => {
    const record = await deploy('mended', { secrets: [{ name: 'TOKEN', value: 'lost' }] });
    await hub.store.sql(
      `UPDATE revisions SET status = 'DEPLOYED', resolved_image = 'registry.example/apps/a@${DIGEST}' WHERE id = $1`,
      [record.latestRevisionId],
    );
    await hub.store.sql('UPDATE deployments SET active_revision_id = latest_revision_id WHERE id = $1', [
      record.id,
    ]);
    await hub.store.sql(
      'UPDATE secret_sets SET sealed = set_byte(sealed, 20, get_byte(sealed, 20) # 1) WHERE deployment_id = $1',
      [record.id],
    );
    expect(await itemOf(record)).toBeUndefined();
    const next = uuidv7();
    await hub.store.database.forTenant(tenantId).transaction((transaction) =>
      updateDesiredState(transaction, hub.store.box, tenantId, record.id, {
        expectedGeneration: record.generation,
        sourceConfig: record.sourceConfig,
        sourceRevisionConfig: GIT,
        secrets: { kind: 'values', secrets: [{ name: 'TOKEN', value: 'anew' }] },
        imageVersion: null,
        revision: { id: next, status: 'AWAITING_BUILD' },
        actor: { kind: 'system' },
        message: 'Changed: secrets.',
      }),
    );
    const { spec, env_secrets: environments } = await itemOf(record);
    expect(spec.build).toMatchObject({ revisionId: next });
    expect(spec.revision).toEqual({ id: next, number: 2, envSecretName: `${record.appName}-env-2` });
    expect(environments.map(({ revision_id, data }) => [revision_id, data])).toEqual([
      [next, { TOKEN: 'anew' }],
    ]);
    const image = `${spec.build?.repository}@${DIGEST}`;
    await reportBuild(record, { revisionId: next, number: 2, phase: 'Succeeded', image, commit: COMMIT });
    const built = await itemOf(record);
    expect(built.spec.revision).toMatchObject({ id: next, image });
    expect(built.env_secrets.map(({ revision_number }) => revision_number)).toEqual([2]);
  });

  it('states no build when no registry is configured', async () => {
    const bare = await startHub();
    try {
      const other = protocolClient(bare, 'b');
      await other.lease();
      const { tenantId: owner } = await newTenant(bare.store);
      await insert(bare.store, owner, 'bare', {
        source: 'git_host',
        sourceConfig: { ...sourceConfig, repo_url: 'https://git.example/a/b' },
        sourceRevisionConfig: GIT,
        revision: { id: uuidv7(), status: 'AWAITING_BUILD' },
      });
      const [item] = (await other.work()).body.items as ApplyWork[];
      expect([item?.spec.build, item?.build_secret]).toEqual([undefined, undefined]);
    } finally {
      await bare.stop();
    }
  });
});

describe('the report of a build', () => {
  it('requests the image at once when a running build succeeds, and ignores a repeated report', async () => {
    const record = await deploy('built');
    const { spec } = await itemOf(record);
    const revisionId = record.latestRevisionId ?? '';
    await reportBuild(record, {
      revisionId,
      number: 1,
      phase: 'Running',
      step: 'image',
      startedAt: '2026-01-01T00:00:00Z',
    });
    expect((await revisions(record))[0]).toMatchObject({
      status: 'BUILDING',
      build: { phase: 'Running', step: 'image', started_at: '2026-01-01T00:00:00Z' },
    });
    const image = `${spec.build?.repository}@${DIGEST}`;
    const last = { revisionId, number: 1, phase: 'Succeeded', image, commit: COMMIT } as const;
    for (let time = 0; time < 3; time += 1) await reportBuild(record, last);
    const all = await revisions(record);
    expect(all).toHaveLength(1);
    expect(all[0]).toMatchObject({
      resolvedImage: image,
      sourceRevisionConfig: { image_uri: image, repo_commit_sha: COMMIT, repo_ref: 'main' },
    });
    expect(await rowOf(record)).toMatchObject({
      generation: 2,
      source_revision_config: { image_uri: image, repo_commit_sha: COMMIT },
    });
    const next = await itemOf(record);
    expect(next.spec).toMatchObject({ generation: 2, revision: { id: revisionId, image } });
    expect([next.spec.build, next.build_secret]).toEqual([undefined, undefined]);
    const events = await hub.store.sql(
      `SELECT count(*)::int AS n FROM events WHERE revision_id = $1 AND reason = 'ImageBuilt'`,
      [revisionId],
    );
    expect(events).toEqual([{ n: 1 }]);
    const cleanings = await hub.store.sql(
      'SELECT whole, attempts FROM repository_cleanings WHERE deployment_id = $1',
      [record.id],
    );
    // Only once, though it was reported three times: the previous image is no longer needed.
    expect(cleanings).toEqual([{ whole: false, attempts: 0 }]);
  });

  it.each([
    { phase: 'Succeeded', image: `r/a@${DIGEST}`, commit: COMMIT },
    { phase: 'Failed', step: 'source', reason: 'RefNotFound', message: 'no x' },
  ] as const)('keeps the author of the revision when the build ends as $phase', async (end) => {
    const record = await deploy(`authored ${end.phase}`);
    await itemOf(record);
    const authorOf = async () => {
      const [row] = await hub.store.sql('SELECT updated_by, generation FROM deployments WHERE id = $1', [
        record.id,
      ]);
      return row as { updated_by: { generation: number } | null; generation: number };
    };
    const { updated_by: author } = await authorOf();
    expect(author).toMatchObject({ generation: 1 });
    const report = { revisionId: record.latestRevisionId ?? '', number: 1, ...end };
    await reportBuild(record, report);
    expect(await authorOf()).toEqual({ generation: 2, updated_by: { ...author, generation: 2 } });
  });

  it('sets BUILD_FAILED with its reason when the build failed, and suspends a deployment without an image', async () => {
    const record = await deploy('failed');
    await itemOf(record);
    const revisionId = record.latestRevisionId ?? '';
    const last = {
      revisionId,
      number: 1,
      phase: 'Failed',
      step: 'source',
      reason: 'RefNotFound',
      message: 'no x',
    } as const;
    await reportBuild(record, last);
    await reportBuild(record, {
      revisionId,
      number: 1,
      phase: 'Succeeded',
      image: 'r/a@sha256:1',
      commit: COMMIT,
    });
    expect((await revisions(record))[0]).toMatchObject({
      status: 'BUILD_FAILED',
      reason: 'RefNotFound',
      message: 'no x',
      resolvedImage: null,
    });
    expect(await rowOf(record)).toMatchObject({
      generation: 2,
      has_runnable_revision: false,
      recorded_status: 'UNUSED',
    });
    expect((await itemOf(record)).spec).toMatchObject({ suspend: true });
  });

  it('sets no image for a revision that a newer one has replaced', async () => {
    const record = await deploy('overtaken');
    await itemOf(record);
    const first = record.latestRevisionId ?? '';
    const changed = await hub.store.database.forTenant(tenantId).transaction((tx) =>
      updateDesiredState(tx, hub.store.box, tenantId, record.id, {
        expectedGeneration: record.generation,
        sourceConfig: record.sourceConfig,
        sourceRevisionConfig: { ...GIT, repo_ref: 'next' },
        secrets: { kind: 'set', id: null },
        imageVersion: null,
        revision: { id: uuidv7(), status: 'AWAITING_BUILD' },
        actor: { kind: 'system' },
        message: 'changed',
      }),
    );
    const { spec } = await itemOf(changed);
    expect(spec.build).toMatchObject({ number: 2, ref: 'next', revisionId: changed.latestRevisionId });
    await reportBuild(changed, { revisionId: changed.latestRevisionId ?? '', number: 2, phase: 'Running' });
    await reportBuild(changed, {
      revisionId: first,
      number: 1,
      phase: 'Succeeded',
      image: 'r/a@sha256:1',
      commit: COMMIT,
    });
    expect((await revisions(changed)).map(({ status, resolvedImage }) => [status, resolvedImage])).toEqual([
      ['BUILDING', null],
      ['SKIPPED', null],
    ]);
  });

  const PROCFILE = { web: 'node server.js', worker: 'node worker.js' };
  const done = (record: DeploymentRecord, number = 1) => ({
    revisionId: record.latestRevisionId ?? '',
    number,
    phase: 'Succeeded' as const,
    image: `registry.example/apps/${tenantId}/${record.appName}@${DIGEST}`,
    commit: COMMIT,
  });
  const shell = (line: string) => ({ command: ['/bin/sh', '-c'], args: [line] });

  it('sets the commands of the Procfile, whose worker creates the queue component', async () => {
    const record = await deploy('procfile');
    await itemOf(record);
    await reportBuild(record, { ...done(record), procfile: PROCFILE });
    expect((await revisions(record))[0]?.sourceRevisionConfig).toMatchObject({ procfile: PROCFILE });
    expect(await rowOf(record)).toMatchObject({ source_revision_config: { procfile: PROCFILE } });
    const { spec } = await itemOf(record);
    expect(spec.podTemplate.commands).toEqual({
      api: shell('node server.js'),
      queue: shell('node worker.js'),
    });
    expect(spec.components.queue).toMatchObject({ byCommand: true });
    expect(spec.podTemplate).not.toHaveProperty('procfile');
    const [{ measured } = { measured: true }] = await hub.store.sql<{ measured: boolean }>(
      'SELECT quota_cpu_m IS NOT NULL AS measured FROM deployments WHERE id = $1',
      [record.id],
    );
    expect(measured, 'the usage is measured again, with the queue').toBe(false);
    const events = await hub.store.sql(
      `SELECT details FROM events WHERE revision_id = $1 AND reason = 'ImageBuilt'`,
      [record.latestRevisionId],
    );
    expect(JSON.stringify(events)).not.toContain('worker.js');
  });

  it('causes a new measurement of the usage when a newer revision is not built yet', async () => {
    const record = await deploy('procfile of the former');
    await itemOf(record);
    await hub.store.database.forTenant(tenantId).transaction((tx) =>
      updateDesiredState(tx, hub.store.box, tenantId, record.id, {
        expectedGeneration: record.generation,
        sourceConfig: record.sourceConfig,
        sourceRevisionConfig: { ...GIT, repo_ref: 'next' },
        secrets: { kind: 'set', id: null },
        imageVersion: null,
        revision: { id: uuidv7(), status: 'AWAITING_BUILD' },
        usage: { cpuM: 1, memoryMb: 1, storageGi: 1 },
        actor: { kind: 'system' },
        message: 'changed',
      }),
    );
    const measured = async () => {
      const [row] = await hub.store.sql<{ measured: boolean }>(
        `SELECT quota_cpu_m IS NOT NULL AND quota_gpus_generation IS NOT DISTINCT FROM generation AS measured
         FROM deployments WHERE id = $1`,
        [record.id],
      );
      return row?.measured;
    };
    expect(await measured()).toBe(true);
    await reportBuild(record, { ...done(record), procfile: PROCFILE });
    expect((await revisions(record)).map(({ status }) => status)).toEqual(['AWAITING_BUILD', 'QUEUED']);
    expect(await measured()).toBe(false);
  });

  it('sets no commands when the repository has no Procfile', async () => {
    const record = await deploy('without procfile');
    await itemOf(record);
    await reportBuild(record, done(record));
    expect((await revisions(record))[0]?.sourceRevisionConfig).not.toHaveProperty('procfile');
    expect((await itemOf(record)).spec.podTemplate).not.toHaveProperty('commands');
  });

  it('fails the build when the worker of the Procfile would exceed a quota', async () => {
    const record = await deploy('worker above quota');
    await itemOf(record);
    await hub.store.sql(`UPDATE tenants SET quotas = '{"cpu": 0.001}' WHERE id = $1`, [tenantId]);
    try {
      await reportBuild(record, { ...done(record), procfile: PROCFILE });
      const [failed] = await revisions(record);
      expect(failed).toMatchObject({
        status: 'BUILD_FAILED',
        reason: 'BuildConfigInvalid',
        resolvedImage: null,
      });
      expect(failed?.message).toMatch(
        /^the worker of the Procfile creates the queue component, which is not allowed: .*the tenant would use .* cores/,
      );
      // The same report again changes nothing, and a web command alone needs no quota.
      await reportBuild(record, { ...done(record), procfile: PROCFILE });
      expect((await revisions(record))[0]?.status).toBe('BUILD_FAILED');
      const other = await deploy('web only');
      await itemOf(other);
      await reportBuild(other, { ...done(other), procfile: { web: 'node server.js' } });
      expect((await revisions(other))[0]?.status).toBe('QUEUED');
    } finally {
      await hub.store.sql(`UPDATE tenants SET quotas = '{}' WHERE id = $1`, [tenantId]);
    }
  });

  it('ignores a report with an invalid or unknown id', async () => {
    const record = await deploy('nobody');
    for (const revisionId of ['not-an-id', uuidv7()])
      await reportBuild(record, { revisionId, number: 1, phase: 'Running' });
    expect((await revisions(record))[0]).toMatchObject({ status: 'AWAITING_BUILD', build: null });
  });
});
