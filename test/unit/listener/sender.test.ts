import { beforeEach, describe, expect, it } from 'vitest';
import type { InventoryRequest, ReportsRequest } from '../../../src/contract/report-protocol.ts';
import { HubError } from '../../../src/listener/hub-client.ts';
import { goneItem } from '../../../src/listener/observe.ts';
import { Outbox } from '../../../src/listener/outbox.ts';
import type { Resource } from '../../../src/listener/resource-view.ts';
import { runSender } from '../../../src/listener/sender.ts';
import { FakeClock, recordingLogger } from '../kube/support.ts';
import { fakeTerm, ID, NAME, NAMESPACE, settle, specOf } from './fixtures.ts';

const resource: Resource = {
  apiVersion: 'berth.dev/v1alpha1',
  kind: 'ManagedDeployment',
  metadata: { name: NAME, namespace: NAMESPACE, uid: 'u1' },
  spec: specOf(1),
};
const applied = (generation: number, id = ID) =>
  ({ kind: 'applied', deployment_id: id, generation }) as const;

function setUp() {
  const calls: (({ kind: 'reports' } & ReportsRequest) | ({ kind: 'inventory' } & InventoryRequest))[] = [];
  const failures: unknown[] = [];
  const fail = () => {
    const failure = failures.shift();
    if (failure !== undefined) throw failure;
  };
  let resources = [resource];
  let wanted = false;
  const outbox = new Outbox();
  const term = fakeTerm();
  const draining = new AbortController();
  const clock = new FakeClock();
  const logger = recordingLogger();
  const hub = {
    reports: async (request: ReportsRequest) => {
      calls.push({ kind: 'reports', ...request });
      fail();
      return { accepted_seq: request.seq, ...(wanted ? { inventory_wanted: true } : {}) };
    },
    inventory: async (request: InventoryRequest) => {
      calls.push({ kind: 'inventory', ...request });
      fail();
      return { due: 0, unknown: ['x'] };
    },
  };
  const view = {
    listed: () => [NAMESPACE],
    list: () => resources,
    get: (namespace: string, name: string) =>
      resources.find(({ metadata }) => metadata.namespace === namespace && metadata.name === name),
  };
  const done = runSender({
    hub,
    outbox,
    view,
    term,
    draining: draining.signal,
    logger,
    clock,
    random: () => 1,
  });
  return {
    want: (is: boolean) => {
      wanted = is;
    },
    calls,
    failures,
    outbox,
    term,
    draining,
    clock,
    logger,
    done,
    /** Turns the hands by as long as it gathers after a call. */
    next: async () => {
      clock.advance(40);
      await settle();
    },
    setResources: (now: Resource[]) => {
      resources = now;
    },
  };
}
let t: ReturnType<typeof setUp>;
beforeEach(() => {
  t = setUp();
});

describe('the sender', () => {
  it('sends at once, then with a seq that counts up what came meanwhile together', async () => {
    t.outbox.addOutcome(applied(1));
    await settle();
    t.outbox.addOutcome(applied(2));
    await settle();
    t.outbox.addOutcome(applied(1, 'b'));
    await settle();
    expect(t.calls).toHaveLength(1);
    await t.next();
    expect(t.calls).toMatchObject([
      { kind: 'reports', epoch: 3, seq: 1, reports: [applied(1)] },
      { kind: 'reports', epoch: 3, seq: 2, reports: [applied(2), applied(1, 'b')] },
    ]);
  });

  it('sends what failed again under the next seq, after a while, with what is newer', async () => {
    t.failures.push(new HubError('unavailable', 'away', 503));
    t.outbox.addOutcome(applied(1));
    await settle();
    t.outbox.addOutcome(applied(2));
    t.clock.advance(60_000);
    await settle();
    expect(t.calls).toMatchObject([
      { seq: 1, reports: [applied(1)] },
      { seq: 2, reports: [applied(2)] },
    ]);
    expect(t.outbox.isEmpty).toBe(true);
  });

  it('waits as long as the hub asks for', async () => {
    t.failures.push(new HubError('unavailable', 'busy', 429, 5000));
    t.outbox.addOutcome(applied(1));
    await settle();
    t.clock.advance(4999);
    await settle();
    expect(t.calls).toHaveLength(1);
    t.clock.advance(1);
    await settle();
    expect(t.calls).toHaveLength(2);
  });

  it('finds the one report that the hub does not take, and drops only that', async () => {
    const refused = new HubError('refused', 'no', 422);
    t.failures.push(refused, undefined, refused, undefined);
    for (const id of ['a', 'b', 'c']) t.outbox.addOutcome(applied(1, id));
    await settle();
    expect(t.calls.slice(1)).toMatchObject(['a', 'b', 'c'].map((id) => ({ reports: [applied(1, id)] })));
    expect(t.logger.lines.filter(({ level }) => level === 'error')).toMatchObject([
      { fields: { deploymentId: 'b' } },
    ]);
    expect(t.outbox.isEmpty).toBe(true);
  });

  it('tells a hub of the version before what that knows, and the next reports at once', async () => {
    const refused = new HubError('refused', 'unrecognized key: routes', 422);
    const before = {
      kind: 'observed' as const,
      deployment_id: ID,
      name: NAME,
      namespace: NAMESPACE,
      observed_spec_generation: 1,
      conditions: [],
      off: false,
      url: null,
      active_revision: null,
      rollout_revision: null,
      failed_revision: null,
    };
    const report = { ...before, routes: { generation: 1, hosts: [] } };
    t.failures.push(refused, refused);
    t.outbox.addObserved(report);
    await settle();
    const sent = () => t.calls.map((call) => (call.kind === 'reports' ? call.reports : []));
    expect(sent()).toEqual([[report], [report], [before]]);
    t.outbox.addObserved({ ...report, url: 'https://a.example.com' });
    await t.next();
    expect(sent().at(-1)).toEqual([{ ...before, url: 'https://a.example.com' }]);
    expect(t.logger.lines.filter(({ level }) => level === 'error')).toEqual([]);
  });

  it('ends the term when the hub says that the lease is another’s', async () => {
    t.failures.push(new HubError('conflict', 'stale', 409));
    t.outbox.addOutcome(applied(1));
    await t.done;
    expect(t.term.endedBecause).toBe('stale');
  });

  it('tells of a touched resource what is true when it is sent', async () => {
    t.outbox.touch(`${NAMESPACE}/${NAME}`, goneItem(resource));
    await settle();
    t.setResources([]);
    t.outbox.touch(`${NAMESPACE}/${NAME}`, goneItem(resource));
    await t.next();
    expect(t.calls).toMatchObject([
      { kind: 'inventory', complete: false, items: [{ deployment_id: ID, uid: 'u1' }] },
      { kind: 'inventory', complete: false, items: [{ deployment_id: ID, uid: null }] },
    ]);
  });

  it('sends reports before an inventory, so that the hub misses nothing that it was told of', async () => {
    t.outbox.touchEverything();
    t.outbox.addOutcome(applied(1));
    await settle();
    expect(t.calls.map(({ kind }) => kind)).toEqual(['reports', 'inventory']);
    expect(t.calls[1]).toMatchObject({
      complete: true,
      namespaces: [NAMESPACE],
      items: [{ deployment_id: ID }],
    });
  });

  it('sends a complete inventory when the hub asks for one with its answer to a report', async () => {
    t.want(true);
    t.outbox.addOutcome(applied(1));
    await settle();
    expect(t.calls.map(({ kind }) => kind)).toEqual(['reports', 'inventory']);
    expect(t.calls[1]).toMatchObject({ complete: true });
  });

  it('takes a failed inventory again, and tells an unknown id once', async () => {
    t.failures.push(new HubError('unavailable', 'away'));
    t.outbox.touchEverything();
    await settle();
    t.clock.advance(60_000);
    await settle();
    t.outbox.touchEverything();
    await t.next();
    expect(t.calls.map(({ kind }) => kind)).toEqual(['inventory', 'inventory', 'inventory']);
    expect(t.logger.lines.filter(({ message }) => message.includes('does not know'))).toHaveLength(1);
  });

  it('drains: what it was gathering goes out at once', async () => {
    t.outbox.addOutcome(applied(1));
    await settle();
    t.outbox.addOutcome(applied(2));
    t.draining.abort();
    await t.done;
    expect(t.calls).toMatchObject([{ reports: [applied(1)] }, { reports: [applied(2)] }]);
  });

  it('drains: sends what is there, then ends', async () => {
    t.outbox.addOutcome(applied(1));
    t.draining.abort();
    await t.done;
    expect(t.calls).toHaveLength(1);
  });
});
