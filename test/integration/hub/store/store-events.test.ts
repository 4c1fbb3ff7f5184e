/** History as it is read is what was appended, whatever it says. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { uuidv7 } from '../../../../src/domain/core/id.ts';
import { appendEvents, type NewEvent } from '../../../../src/hub/store/core/events.ts';
import { listEvents } from '../../../../src/hub/store/events/event-list.ts';
import { newTenant, type StoreFixture, startStore } from '../../harness/store.ts';

let store: StoreFixture;
beforeAll(async () => {
  store = await startStore();
});
afterAll(() => store?.stop());

test('events that are appended together keep their order, their references and every character', async () => {
  const { tenantId, scope } = await newTenant(store);
  const [deploymentId, revisionId, listenerId, keyId] = [uuidv7(), uuidv7(), uuidv7(), uuidv7()];
  const added: NewEvent[] = [
    {
      tenantId,
      deploymentId,
      revisionId,
      actor: { kind: 'api_key', id: keyId, name: 'NULL' },
      reason: 'Reconciling',
      message: '"a", \\b\\, {c}, NULL, \'d\'\n– ü 🚢',
      details: { from: null, to: { deep: ['"', '\\', {}] } },
    },
    {
      tenantId,
      listenerId,
      actor: { kind: 'listener', id: listenerId },
      reason: 'ListenerLost',
      message: '',
    },
    { tenantId, actor: { kind: 'system', name: 'tracing' }, reason: 'Refused', message: 'NULL' },
  ];
  await scope.transaction((transaction) => appendEvents(transaction, added));
  const page = { limit: 10, offset: 0 };
  const read = await scope.read((reader) => listEvents(reader, tenantId, {}, page));
  const nothing = { deploymentId: null, revisionId: null, listenerId: null, actorId: null, actorName: null };
  const [first, second, third] = added.map(({ actor: _, ...event }) => event);
  expect(read.reverse()).toMatchObject([
    { ...nothing, ...first, actorKind: 'api_key', actorId: keyId, actorName: 'NULL' },
    { ...nothing, ...second, actorKind: 'listener', actorId: listenerId, details: {} },
    { ...nothing, ...third, actorKind: 'system', actorName: 'tracing', details: {} },
  ]);
});

test('read the source of a failure in events of earlier versions under its new name', async () => {
  const { tenantId, scope } = await newTenant(store);
  const source = { component: 'api', exit_code: 7 };
  const deploymentId = uuidv7();
  const event = {
    tenantId,
    deploymentId,
    actor: { kind: 'system' },
    reason: 'CrashLoop',
    message: '',
  } as const;
  const stored = [{ culprit: source, to: 'DEPLOY_FAILED' }, { failure_source: source }];
  await scope.transaction((transaction) =>
    appendEvents(
      transaction,
      stored.map((details) => ({ ...event, details })),
    ),
  );
  const page = { limit: 10, offset: 0 };
  const read = await scope.read((reader) => listEvents(reader, tenantId, {}, page));
  const ofDeployment = await scope.read((reader) => listEvents(reader, tenantId, { deploymentId }, page));
  const expected = [{ failure_source: source }, { failure_source: source, to: 'DEPLOY_FAILED' }];
  expect(read.map(({ details }) => details)).toEqual(expected);
  expect(ofDeployment).toEqual(read);
});

test('an event for another tenant is rejected, and one without a tenant is accepted only from the platform', async () => {
  const [ours, theirs] = [await newTenant(store), await newTenant(store)];
  const event = (tenantId: string | null): NewEvent => ({
    tenantId,
    actor: { kind: 'system' },
    reason: 'ListenerLost',
    message: 'any',
  });
  for (const tenantId of [theirs.tenantId, null]) {
    const added = [event(ours.tenantId), event(tenantId)];
    await expect(ours.scope.transaction((transaction) => appendEvents(transaction, added))).rejects.toThrow(
      /row-level security/,
    );
  }
  await store.database.platform.transaction((transaction) => appendEvents(transaction, [event(null)]));
  const page = { limit: 10, offset: 0 };
  expect(await ours.scope.read((reader) => listEvents(reader, ours.tenantId, {}, page))).toEqual([]);
});
