import { beforeEach, describe, expect, it } from 'vitest';
import { goneItem } from '../../../../../src/cluster/listener/report/observe.ts';
import { Outbox } from '../../../../../src/cluster/listener/report/outbox.ts';
import { runSender } from '../../../../../src/cluster/listener/report/sender.ts';
import type { Resource } from '../../../../../src/cluster/listener/resource-view.ts';
import { HubError } from '../../../../../src/cluster/listener/session/hub-client.ts';
import {
  asBefore,
  type InventoryRequest,
  type ObservedReport,
  type Report,
  type ReportsRequest,
} from '../../../../../src/contract/protocol/report-protocol.ts';
import { FakeClock, recordingLogger } from '../../kube/support.ts';
import { fakeTerm, ID, NAME, NAMESPACE, settle, specOf } from '../fixtures.ts';

const resource: Resource = {
  apiVersion: 'berth.dev/v1alpha1',
  kind: 'ManagedDeployment',
  metadata: { name: NAME, namespace: NAMESPACE, uid: 'u1' },
  spec: specOf(1),
};
const applied = (generation: number, id = ID) =>
  ({ kind: 'applied', deployment_id: id, generation }) as const;
const refused = (id = ID) =>
  ({
    kind: 'refused',
    deployment_id: id,
    generation: 1,
    reason: 'Conflict',
    message: 'no',
    retryable: true,
  }) as const;
const observed: ObservedReport = {
  kind: 'observed',
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
/** Time for which it gathers reports after a call. */
const GATHER_MS = 40;
/** Time for which reports that are not urgent wait for others. */
const BATCH_WAIT_MS = 250;

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
    /** Advances the clock. */
    pass: async (ms: number) => {
      await settle();
      clock.advance(ms);
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
  it('sends the first report at once, and the reports of the next period together with the next seq', async () => {
    t.outbox.addOutcome(refused('a'));
    await settle();
    t.outbox.addOutcome(applied(2));
    await settle();
    t.outbox.addOutcome(refused('b'));
    await settle();
    expect(t.calls).toHaveLength(1);
    await t.pass(GATHER_MS);
    expect(t.calls).toMatchObject([
      { kind: 'reports', epoch: 3, seq: 1, reports: [refused('a')] },
      { kind: 'reports', epoch: 3, seq: 2, reports: [applied(2), refused('b')] },
    ]);
  });

  it('delays the report of an applied item until the status that follows', async () => {
    t.outbox.addOutcome(applied(1));
    await t.pass(BATCH_WAIT_MS - 1);
    expect(t.calls).toEqual([]);
    t.outbox.addObserved(observed);
    await settle();
    expect(t.calls).toMatchObject([{ reports: [applied(1), observed] }]);
  });

  it('delays the progress of a rollout until the next report, but sends its end at once', async () => {
    const rolling = { ...observed, rollout_revision: { id: 'r1', number: 1 } };
    t.outbox.addObserved(rolling);
    await t.pass(BATCH_WAIT_MS - 1);
    expect(t.calls).toEqual([]);
    t.outbox.addObserved({ ...observed, active_revision: { id: 'r1', number: 1 } });
    await settle();
    expect(t.calls).toMatchObject([{ reports: [rolling, { active_revision: { id: 'r1' } }] }]);
    t.outbox.addObserved(rolling);
    await t.pass(GATHER_MS);
    await t.pass(BATCH_WAIT_MS);
    expect(t.calls.slice(1)).toMatchObject([{ reports: [rolling] }]);
  });

  it('limits the delay of reports, even when more items are applied meanwhile', async () => {
    t.outbox.addOutcome(applied(1));
    await t.pass(BATCH_WAIT_MS - 1);
    t.outbox.addOutcome(applied(1, 'b'));
    t.outbox.addObserved({ ...observed, rollout_revision: { id: 'r1', number: 1 } });
    await t.pass(1);
    expect(t.calls).toMatchObject([{ reports: [applied(1), applied(1, 'b'), { kind: 'observed' }] }]);
  });

  it('sends a delayed status at once when it drains', async () => {
    t.outbox.addObserved({ ...observed, rollout_revision: { id: 'r1', number: 1 } });
    await settle();
    t.draining.abort();
    await t.done;
    expect(t.calls).toMatchObject([{ reports: [{ kind: 'observed' }] }]);
  });

  it('sends fewer and larger reports under permanent load', async () => {
    const SECONDS = 10;
    let told = 0;
    for (let ms = 0; ms < SECONDS * 1000; ms += GATHER_MS) {
      t.outbox.addOutcome(refused(`id-${told}`));
      told += 1;
      await settle();
      await t.pass(GATHER_MS);
    }
    const PER_SECOND = 4;
    const BURST = 8;
    expect(t.calls.length).toBeGreaterThan(SECONDS * PER_SECOND);
    expect(t.calls.length).toBeLessThanOrEqual(SECONDS * PER_SECOND + BURST);
    await t.pass(1000 / PER_SECOND);
    expect(t.calls.flatMap((call) => (call.kind === 'reports' ? call.reports : []))).toHaveLength(told);
    // After a pause it is as fast as before.
    await t.pass((BURST * 1000) / PER_SECOND);
    const before = t.calls.length;
    t.outbox.addOutcome(refused('late'));
    await settle();
    t.outbox.addOutcome(refused('later'));
    await t.pass(GATHER_MS);
    expect(t.calls.length).toBe(before + 2);
  });

  it('sends failed reports again under the next seq after a pause, together with newer ones', async () => {
    t.failures.push(new HubError('unavailable', 'away', 503));
    t.outbox.addOutcome(applied(1));
    await t.pass(BATCH_WAIT_MS);
    t.outbox.addOutcome(applied(2));
    await t.pass(60_000);
    await t.pass(BATCH_WAIT_MS);
    expect(t.calls).toMatchObject([
      { seq: 1, reports: [applied(1)] },
      { seq: 2, reports: [applied(2)] },
    ]);
    expect(t.outbox.isEmpty).toBe(true);
  });

  it('waits as long as the hub requests', async () => {
    t.failures.push(new HubError('unavailable', 'busy', 429, 5000));
    t.outbox.addOutcome(refused());
    await settle();
    await t.pass(4999);
    expect(t.calls).toHaveLength(1);
    await t.pass(1);
    expect(t.calls).toHaveLength(2);
  });

  it('drops only the one report that the hub rejects', async () => {
    const refusal = new HubError('refused', 'no', 422);
    t.failures.push(refusal, undefined, refusal, undefined);
    for (const id of ['a', 'b', 'c']) t.outbox.addOutcome(applied(1, id));
    await t.pass(BATCH_WAIT_MS);
    expect(t.calls.slice(1)).toMatchObject(['a', 'b', 'c'].map((id) => ({ reports: [applied(1, id)] })));
    expect(t.logger.lines.filter(({ level }) => level === 'error')).toMatchObject([
      { fields: { deploymentId: 'b' } },
    ]);
    expect(t.outbox.isEmpty).toBe(true);
  });

  it('omits fields that a hub of the previous version rejects, and omits them at once from later reports', async () => {
    const refusal = new HubError('refused', 'unrecognized key: routes', 422);
    const report = { ...observed, routes: { generation: 1, hosts: [] } };
    t.failures.push(refusal, refusal);
    t.outbox.addObserved(report);
    await settle();
    const sent = () => t.calls.map((call) => (call.kind === 'reports' ? call.reports : []));
    expect(sent()).toEqual([[report], [report], [observed]]);
    t.outbox.addObserved({ ...report, url: 'https://a.example.com' });
    await t.pass(GATHER_MS);
    expect(sent().at(-1)).toEqual([{ ...observed, url: 'https://a.example.com' }]);
    expect(t.logger.lines.filter(({ level }) => level === 'error')).toEqual([]);
  });

  it('ends the term when another process has the lease', async () => {
    t.failures.push(new HubError('conflict', 'stale', 409));
    t.outbox.addOutcome(refused());
    await t.done;
    expect(t.term.endedBecause).toBe('stale');
  });

  it('sends the current state of a touched resource', async () => {
    t.outbox.touch(`${NAMESPACE}/${NAME}`, goneItem(resource));
    await settle();
    t.setResources([]);
    t.outbox.touch(`${NAMESPACE}/${NAME}`, goneItem(resource));
    await t.pass(GATHER_MS);
    expect(t.calls).toMatchObject([
      { kind: 'inventory', complete: false, items: [{ deployment_id: ID, uid: 'u1' }] },
      { kind: 'inventory', complete: false, items: [{ deployment_id: ID, uid: null }] },
    ]);
  });

  it('sends reports before an inventory, so that the hub considers no reported resource missing', async () => {
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

  it('sends a complete inventory when the hub requests one in its response to a report', async () => {
    t.want(true);
    t.outbox.addOutcome(refused());
    await settle();
    expect(t.calls.map(({ kind }) => kind)).toEqual(['reports', 'inventory']);
    expect(t.calls[1]).toMatchObject({ complete: true });
  });

  it('sends a failed inventory again, and logs an unknown id once', async () => {
    t.failures.push(new HubError('unavailable', 'away'));
    t.outbox.touchEverything();
    await settle();
    t.clock.advance(60_000);
    await settle();
    t.outbox.touchEverything();
    await t.pass(GATHER_MS);
    expect(t.calls.map(({ kind }) => kind)).toEqual(['inventory', 'inventory', 'inventory']);
    expect(t.logger.lines.filter(({ message }) => message.includes('does not know'))).toHaveLength(1);
  });

  it('sends gathered reports at once when it drains', async () => {
    t.outbox.addOutcome(refused());
    await settle();
    t.outbox.addOutcome(applied(2));
    t.draining.abort();
    await t.done;
    expect(t.calls).toMatchObject([{ reports: [refused()] }, { reports: [applied(2)] }]);
  });

  it('sends a delayed outcome at once when it drains', async () => {
    t.outbox.addOutcome(applied(1));
    await settle();
    t.draining.abort();
    await t.done;
    expect(t.calls).toMatchObject([{ reports: [applied(1)] }]);
    expect(t.clock.timers).toBe(0);
  });

  it('sends the remaining reports when it drains, and then ends', async () => {
    t.outbox.addOutcome(applied(1));
    t.draining.abort();
    await t.done;
    expect(t.calls).toHaveLength(1);
  });
});

it('a hub of the previous version receives the source of a failure under the name that it knows', () => {
  const failed = { id: 'r1', number: 1, reason: 'CrashLoop', message: 'm', culprit: { object: 'pod' } };
  const report = {
    ...observed,
    failed_revision: { ...failed, failure_source: failed.culprit },
    in_place_failure: { reason: 'CrashLoop', message: 'm', failure_source: { container: 'app' } },
  };
  expect(asBefore(report)).toEqual({
    ...observed,
    failed_revision: failed,
    in_place_failure: { reason: 'CrashLoop', message: 'm' },
  });
});

it('a hub of the previous version receives the blocker of a purge as a retryable refusal', () => {
  const blocked: Report = {
    kind: 'refused',
    deployment_id: '01900000-0000-7000-8000-000000000001',
    generation: 2,
    reason: 'FinalizerBlocks',
    message: 'Pod a is held',
    retryable: true,
  };
  expect(asBefore({ ...blocked, waiting: true })).toEqual(blocked);
});
