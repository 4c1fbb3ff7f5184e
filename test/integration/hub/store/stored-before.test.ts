/**
 * Custom resources that an earlier, laxer CRD let through and the present one refuses: they are stored, and come with
 * every list and watch. Each is told of, nothing of it is touched, and all others go on.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { waitFor } from '../../../cluster/wait.ts';
import { type ListenerFixture, startListenerFixture } from '../../harness/listener.ts';
import {
  condition,
  type OperatorWorld,
  operatorWorld,
  type RunningOperator,
  startOperator,
} from '../../harness/operator.ts';
import { changeStored } from '../../harness/stored.ts';

type Spec = Record<string, unknown>;

const specOf = (version: number): Spec => ({
  revision: { number: version, image: `registry.test/web:${version}` },
  database: { external: true },
  cache: { external: true },
});

/** Each as it was once stored, and the field that the operator has to name. */
const UNREADABLE: readonly { name: string; what: string; field: string; stored: (spec: Spec) => Spec }[] = [
  {
    name: 'beneath',
    what: 'a number below its minimum',
    field: 'spec.components.api.scale.min',
    stored: (spec) => ({ ...spec, components: { api: { scale: { min: -3, max: 1 } } } }),
  },
  {
    name: 'lacking',
    what: 'no revision',
    field: 'spec.revision',
    stored: ({ revision: _, ...rest }) => rest,
  },
];
/** With a text where fields belong: the API server cannot go by its own rules then, and refuses every change of it. */
const MISTAKEN = 'mistaken';
const NAMES = [...UNREADABLE.map(({ name }) => name), MISTAKEN];
const HEALTHY = 'healthy';

describe('an operator with resources that it cannot read', () => {
  let world: OperatorWorld;
  let operator: RunningOperator;
  const workloads = new Map<string, string>();
  const workloadOf = async (name: string) => {
    const found = await world.get('deployment', `${name}-api`);
    return `${found?.metadata.uid} ${found?.metadata.generation}`;
  };

  beforeAll(async () => {
    world = await operatorWorld('stored-before');
    operator = await startOperator(world.settings);
    const names = [...NAMES, HEALTHY];
    for (const name of names) await world.apply(name, specOf(1));
    for (const name of names) await world.ready(name);
    for (const name of NAMES) workloads.set(name, await workloadOf(name));
    for (const { name, stored } of UNREADABLE) await changeStored(world.namespace, name, stored);
    await changeStored(world.namespace, MISTAKEN, (spec) => ({ ...spec, database: 'large' }));
  });
  afterAll(async () => {
    await operator.stop();
    await world.end();
  });

  const refusedStatus = (name: string) =>
    world.until(name, 'refused', (now) => condition(now, 'Ready') === 'False Refused');

  test.each(UNREADABLE)('reports $what with its field, and keeps the workloads', async ({ name, field }) => {
    const status = await refusedStatus(name);
    expect(status.conditions?.find(({ type }) => type === 'Ready')?.message).toContain(field);
    expect(status).toMatchObject({ deploymentStatus: 'READY', activeRevision: { number: 1 } });
    expect(condition(status, 'Serving')).toBe('True Available');
    expect(await workloadOf(name)).toBe(workloads.get(name));
  });

  test('records an Event when the API server rejects a status, and keeps the workloads', async () => {
    const isReported = async () => {
      const events = await world.kubectl('events', `--for=ManagedDeployment/${MISTAKEN}`, '--output=json');
      const { items } = JSON.parse(events) as { items: { reason: string; message: string }[] };
      return items.some(({ reason, message }) => reason === 'Refused' && message.includes('spec.database'));
    };
    await waitFor('the Event', isReported, { timeoutMs: 60_000, intervalMs: 200 });
    expect(await workloadOf(MISTAKEN)).toBe(workloads.get(MISTAKEN));
  });

  test('continues to serve other resources', async () => {
    await world.apply(HEALTHY, specOf(2));
    expect((await world.ready(HEALTHY)).activeRevision?.number).toBe(2);
  });

  test('serves other resources after a restart, and writes no object of the unreadable ones', async () => {
    await operator.stop();
    operator = await startOperator(world.another('next'));
    await world.apply(HEALTHY, specOf(3));
    expect((await world.ready(HEALTHY)).activeRevision?.number).toBe(3);
    for (const { name } of UNREADABLE)
      expect(condition(await world.status(name), 'Ready')).toBe('False Refused');
    for (const name of NAMES) expect(await workloadOf(name)).toBe(workloads.get(name));
    const isWrite = (verb: string) => !['get', 'list', 'raw'].includes(verb);
    const isTheirs = (path: string) => NAMES.some((name) => path.includes(`/${name}`));
    // It tries to report the resource in its status and with Events, and changes nothing.
    const isTelling = (resource: string, path: string) =>
      resource === 'events' || path.includes(`/${MISTAKEN}/status`);
    const written = operator.requests.filter(
      ({ verb, resource, path }) => isWrite(verb) && isTheirs(path) && !isTelling(resource, path),
    );
    expect(written).toEqual([]);
  });

  test('handles a resource like any other when it is valid again', async () => {
    const wanted = JSON.stringify([{ op: 'add', path: '/spec', value: specOf(4) }]);
    await world.kubectl('patch', 'mdep', 'lacking', '--type=json', '-p', wanted);
    expect((await world.ready('lacking')).activeRevision?.number).toBe(4);
  });

  // In the foreground the garbage collector would have to change the resource, which the API server refuses for the second.
  test.each([
    { name: 'beneath', cascade: 'foreground' },
    { name: MISTAKEN, cascade: 'background' },
  ])('removes the workloads of $name when the resource is deleted', async ({ name, cascade }) => {
    await world.kubectl('delete', 'mdep', name, `--cascade=${cascade}`, '--timeout=60s');
    expect(await world.get('mdep', name)).toBeUndefined();
    const isGone = async () => (await world.get('deployment', `${name}-api`)) === undefined;
    await waitFor('what ran of it to be gone', isGone, { timeoutMs: 60_000, intervalMs: 200 });
  });
});

describe('a listener with resources that others have made invalid', () => {
  let fixture: ListenerFixture;
  beforeAll(async () => {
    fixture = await startListenerFixture('stored');
    await fixture.start();
  });
  afterAll(() => fixture.stop());

  const deployed = async (name: string) => {
    const record = await fixture.deploy(name);
    await fixture.acknowledged(record.id);
    return record;
  };

  test('rewrites a resource that lacks required fields to the desired state', async () => {
    const record = await deployed('lacking');
    const before = await fixture.until(record, 'there', () => true);
    await changeStored(fixture.namespace, record.appName, ({ revision: _, ...rest }) => rest);
    const after = await fixture.until(record, 'put back', ({ spec }) => spec.revision?.number === 1);
    expect(after.spec).toEqual(before.spec);
  });

  const UNWRITABLE: readonly { what: string; stored: (spec: Spec) => Spec | undefined }[] = [
    { what: 'bare', stored: () => undefined },
    { what: 'mistaken', stored: (spec) => ({ ...spec, database: 'large' }) },
  ];
  test.each(UNWRITABLE)(
    'reports an invalid resource ($what), serves the others, and creates it again when it is deleted',
    async (row) => {
      const record = await deployed(row.what);
      await changeStored(fixture.namespace, record.appName, row.stored);
      await fixture.change(record);
      const { store } = fixture.hub;
      const isReported = () =>
        store.sql(
          `SELECT 1 FROM events WHERE deployment_id = $1 AND reason IN ('Conflict', 'Refused', 'ReconcileFailed')`,
          [record.id],
        );
      await waitFor('the report to the hub', async () => (await isReported()).length > 0, {
        timeoutMs: 60_000,
      });
      const other = await deployed(`beside-${row.what}`);
      await fixture.change(other);
      await fixture.until(other, 'changed', ({ spec }) => spec.recordGeneration === 2);
      await fixture.kubectl('delete', 'mdep', record.appName);
      await fixture.until(record, 'there again', ({ spec }) => spec?.revision?.number === 2);
    },
  );
});
