/**
 * A healthy custom resource that is turned into what may not be, past the API: what was let once must not let in what
 * comes by a change of it, nor what comes by the one after. What runs stays as it is, to the byte.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createKubeClient, type KubeClient } from '../../../../src/cluster/kube/client/client.ts';
import type { UntypedObject } from '../../../../src/cluster/kube/client/object.ts';
import { HOSTING_MODES, type HostingMode } from '../../../../src/domain/deployment/source.ts';
import { waitFor } from '../../../cluster/wait.ts';
import type { CustomResourceRow } from '../../harness/custom-resource-rows.ts';
import { customResourceRows, routed, withoutUnknown } from '../../harness/custom-resource-table.ts';
import {
  BOTH,
  CustomResourceWorld,
  drainQueue,
  holds,
  type NotStored,
  OF_A_FIELD,
  objects,
  pathOf,
  refusedByRules,
  resource,
} from '../../harness/custom-resource-world.ts';
import { environment, uniqueName } from '../../harness/environment.ts';
import { ObjectJournal } from '../../harness/object-journal.ts';

/** Of each hosting mode, turned bad side by side. */
const HEALTHY = 4;

type Outcome =
  | NotStored
  /** What would be stored, had it been no dry run. */
  | { kind: 'left out'; stored: unknown }
  | { kind: 'lost' }
  | { kind: 'reported'; message: string; touched: readonly string[] };

interface Change {
  readonly hosting: HostingMode;
  readonly row: CustomResourceRow;
}
const ALL = HOSTING_MODES.flatMap((hosting) =>
  customResourceRows(hosting).map((row): Change => ({ hosting, row })),
);

let world: CustomResourceWorld;
let admin: KubeClient;
let journal: ObjectJournal;
const outcomes = new Map<Change, Outcome>();

const healthySpec = (name: string) => ({
  ...routed(`https://${name}.example.com`),
  // Another one than a bad one asks for: what is done of it would show.
  revision: { image: 'registry.test/web:0' },
  podTemplate: { labels: { team: 'shop' } },
});

async function healthy(hosting: HostingMode): Promise<string> {
  const name = uniqueName('healthy');
  const namespace = world.namespaces[hosting];
  await world.send(namespace, resource(name, healthySpec(name)));
  await world.untilReported(namespace, name, 'Converged');
  return name;
}

/** Resolves with what is stored then, or would be. */
async function patch(hosting: HostingMode, name: string, spec: object, query = ''): Promise<UntypedObject> {
  const path = `${pathOf(world.namespaces[hosting])}/${name}?fieldValidation=Ignore${query}`;
  const type = 'application/merge-patch+json';
  const { body } = await world.call(world.namespaces[hosting], 'PATCH', path, { spec }, type);
  return body as UntypedObject;
}

async function heal(hosting: HostingMode, name: string): Promise<void> {
  const namespace = world.namespaces[hosting];
  const replace = [{ op: 'replace', path: '/spec', value: healthySpec(name) }];
  const path = `${pathOf(namespace)}/${name}`;
  const { body } = await world.call(namespace, 'PATCH', path, replace, 'application/json-patch+json');
  await world.untilReported(namespace, name, 'Converged', (body as UntypedObject).metadata.generation);
}

const touchedSince = (from: number, name: string) =>
  journal.lines.slice(from).filter((line) => line.includes(` ${name}`));

async function outcomeOf({ hosting, row }: Change, name: string): Promise<Outcome> {
  const from = journal.lines.length;
  try {
    if (row.unknown !== undefined) {
      const { spec } = (await patch(hosting, name, row.spec, '&dryRun=All')) as { spec?: unknown };
      return { kind: 'left out', stored: spec };
    }
    const stored = await patch(hosting, name, row.spec);
    if (!holds(stored['spec'], row.spec)) return { kind: 'lost' };
    const { generation } = stored.metadata;
    const { message } = await world.untilReported(world.namespaces[hosting], name, 'Refused', generation);
    const touched = touchedSince(from, name);
    await heal(hosting, name);
    return { kind: 'reported', message, touched };
  } catch (error) {
    return refusedByRules(error);
  }
}

beforeAll(async () => {
  world = await CustomResourceWorld.start();
  const { kubeconfigPath } = environment();
  admin = await createKubeClient({ kubeconfigPath, userAgent: 'berth-test', requestTimeoutMs: 30_000 });
  const names = new Map<HostingMode, string[]>();
  for (const hosting of HOSTING_MODES)
    names.set(hosting, await Promise.all(Array.from({ length: HEALTHY }, () => healthy(hosting))));
  journal = new ObjectJournal(admin, Object.values(world.namespaces));
  await journal.start();
  const workAt = async (hosting: HostingMode) => {
    const mine = ALL.filter((change) => change.hosting === hosting);
    await drainQueue(mine, names.get(hosting) ?? [], async (change, name) => {
      outcomes.set(change, await outcomeOf(change, name));
    });
  };
  await Promise.all(HOSTING_MODES.map(workAt));
}, 300_000);
afterAll(async () => {
  await journal.stop();
  await admin.close();
  await world.end();
});

describe('a healthy custom resource that becomes invalid', () => {
  test.each(ALL.map((change) => ({ ...change.row, ...change, change })))(
    'is rejected or reported with its field, or is stored without it: $hosting: $row.row: $what',
    ({ row, change }) => {
      const outcome = outcomes.get(change);
      if (row.unknown !== undefined) {
        if (outcome?.kind !== 'left out') throw new Error(`not left out: ${JSON.stringify(outcome)}`);
        expect(holds(outcome.stored, withoutUnknown(row))).toBe(true);
        expect(holds(outcome.stored, row.spec)).toBe(false);
        return;
      }
      if (outcome?.kind !== 'refused' && outcome?.kind !== 'reported')
        throw new Error(JSON.stringify(outcome));
      expect(outcome.message).toMatch(OF_A_FIELD);
      for (const name of row.named) expect(outcome.message.toLowerCase()).toContain(name.toLowerCase());
      if (outcome.kind === 'reported') expect(outcome.touched).toEqual([]);
    },
  );

  test('has each of the outcomes: pruned, rejected and reported', () => {
    const kinds = new Set([...outcomes.values()].map(({ kind }) => kind));
    expect([...kinds].sort()).toEqual(['left out', 'refused', 'reported']);
  });

  test('creates, changes and deletes no object in any of these cases', () => {
    expect(outcomes.size).toBe(ALL.length);
    expect(journal.lines).toEqual([]);
  });
});

describe('a further change of an invalid custom resource', () => {
  const helper = { name: 'helper', image: 'registry.test/helper:1' };
  const bad = { podTemplate: { sidecars: [{ ...helper, securityContext: { privileged: true } }] } };

  test.each(BOTH)('does not apply the invalid part, whatever it changes ($hosting)', async ({ hosting }) => {
    const namespace = world.namespaces[hosting];
    const name = await healthy(hosting);
    const [before] = await objects(namespace, 'deployments', name);
    const from = journal.lines.length;
    for (const spec of [
      bad,
      { revision: { image: 'registry.test/web:2' } },
      { revision: { number: 7 } },
      { podTemplate: { labels: { team: 'another' } } },
    ]) {
      const { generation } = (await patch(hosting, name, spec)).metadata;
      const { message } = await world.untilReported(namespace, name, 'Refused', generation);
      expect(message).toContain('spec.podTemplate.sidecars[0].securityContext.privileged');
    }
    expect(touchedSince(from, name)).toEqual([]);
    const [after] = await objects(namespace, 'deployments', name);
    expect(after?.metadata.generation).toBe(before?.metadata.generation);
  });

  test('is applied when it removes the invalid part', async () => {
    const name = await healthy('cloud');
    const from = journal.lines.length;
    await patch('cloud', name, bad);
    await world.untilReported(world.namespaces.cloud, name, 'Refused');
    await patch('cloud', name, {
      revision: { image: 'registry.test/web:2' },
      podTemplate: { sidecars: null },
    });
    await waitFor(
      'the Deployment to be changed',
      async () => touchedSince(from, name).some((line) => line.startsWith('Deployment ')),
      { timeoutMs: 60_000 },
    );
  });
});
