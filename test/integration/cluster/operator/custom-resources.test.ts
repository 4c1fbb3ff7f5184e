/**
 * What the table of inputs refuses at the API, sent past it: straight to the API server, as a custom resource, by
 * somebody who may write those in a namespace and nothing else. Each is refused by the custom resource's own rules, loses
 * what may not be on the way in, or is taken and confined: the operator says which field, and makes nothing of it.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { HOSTING_MODES, type HostingMode } from '../../../../src/domain/deployment/source.ts';
import type { CustomResourceRow } from '../../harness/custom-resource-rows.ts';
import {
  customResourceRows,
  droppedRows,
  routed,
  switchedOff,
  withoutUnknown,
} from '../../harness/custom-resource-table.ts';
import {
  CustomResourceWorld,
  drainQueue,
  holds,
  type NotStored,
  OF_A_FIELD,
  objectsIn,
  refusedByRules,
  resource,
} from '../../harness/custom-resource-world.ts';
import { uniqueName } from '../../harness/environment.ts';

/** How a bad input ended. */
type Outcome =
  | NotStored
  /** What may not be is no field, and was left out before the rest was stored. */
  | { kind: 'left out'; name: string; stored: unknown }
  /** A field was pruned without a warning about an unknown field. */
  | { kind: 'lost' }
  /** It was stored. */
  | { kind: 'taken'; name: string };

let world: CustomResourceWorld;
const outcomes = new Map<Sent, Outcome>();

interface Sent {
  hosting: HostingMode;
  row: CustomResourceRow;
}
const ALL = HOSTING_MODES.flatMap((hosting) =>
  customResourceRows(hosting).map((row): Sent => ({ hosting, row })),
);

async function outcomeOf({ hosting, row }: Sent): Promise<Outcome> {
  const name = uniqueName('bad');
  try {
    if (row.unknown !== undefined) {
      const { spec } = (await world.send(
        world.acceptingNamespaces[hosting],
        resource(name, switchedOff(row.spec)),
      )) as {
        spec?: unknown;
      };
      return { kind: 'left out', name, stored: spec };
    }
    const { spec } = (await world.send(world.namespaces[hosting], resource(name, row.spec))) as {
      spec?: unknown;
    };
    return holds(spec, row.spec) ? { kind: 'taken', name } : { kind: 'lost' };
  } catch (error) {
    return refusedByRules(error);
  }
}

beforeAll(async () => {
  world = await CustomResourceWorld.start();
  await drainQueue(ALL, Array(8).fill(null), async (sent) => void outcomes.set(sent, await outcomeOf(sent)));
}, 300_000);
afterAll(() => world.end());

describe('an invalid input in a custom resource', () => {
  test.each(ALL.map((sent) => ({ ...sent.row, ...sent, sent })))(
    'is rejected or pruned, and the field is named ($hosting, $row.row: $what)',
    async ({ hosting, row, sent }) => {
      const outcome = outcomes.get(sent);
      if (row.unknown !== undefined) return await isLeftOut(sent, outcome);
      const message =
        outcome?.kind === 'taken'
          ? (await world.untilReported(world.namespaces[hosting], outcome.name)).message
          : outcome?.kind === 'refused'
            ? outcome.message
            : JSON.stringify(outcome);
      expect(message).toMatch(OF_A_FIELD);
      expect(row.named).not.toEqual([]);
      for (const name of row.named) expect(message.toLowerCase()).toContain(name.toLowerCase());
    },
  );

  /** All the rest was stored; the operator makes of it what it makes of the rest. */
  async function isLeftOut({ hosting, row }: Sent, outcome: Outcome | undefined): Promise<void> {
    if (outcome?.kind !== 'left out') throw new Error(`not left out: ${JSON.stringify(outcome)}`);
    const rest = switchedOff(withoutUnknown(row));
    expect(holds(outcome.stored, rest)).toBe(true);
    expect(holds(outcome.stored, switchedOff(row.spec))).toBe(false);
    await world.untilReported(world.acceptingNamespaces[hosting], outcome.name, 'SwitchedOff');
  }

  test('is rejected by the rules of the CRD, by pruning, or by the operator', () => {
    const kinds = Map.groupBy(outcomes.values(), ({ kind }) => kind);
    expect([...kinds].map(([kind]) => kind).sort()).toEqual(['left out', 'refused', 'taken']);
  });

  test('gets no pod, route or Job', async () => {
    // Objects that lead to no pod are created before that is known.
    const harmless = /^(service|serviceaccount|endpoints|endpointslice\.discovery\.k8s\.io)\/bad-/;
    for (const namespace of Object.values(world.namespaces)) {
      const made = await objectsIn(namespace);
      expect(made.filter((name) => !harmless.test(name))).toEqual([]);
    }
  });

  test('is sent for every input of the design, except those in a list with reasons', () => {
    expect(droppedRows()).toMatchInlineSnapshot(`
      {
        "address": [
          "repo_url: https",
          "repo_url: https://localhost/a",
          "repo_url: https://127.0.0.1/a",
          "repo_url: https://0x7f.1/a",
          "repo_url: https://2130706433/a",
          "repo_url: https://10.0.0.1/a",
          "repo_url: https://169.254.169.254/latest",
          "repo_url: https://[::1]/a",
          "repo_url: https://[::ffff:127.0.0.1]/a",
          "repo_url: https://[fd00::1]/a",
          "repo_url: https://kubernetes.default.svc/a",
          "repo_url: https://metadata.google.internal/a",
        ],
        "deployment_type": [
          "sizes: the cap of a deployment_type",
        ],
        "host of a network": [
          "custom_url: localhost",
          "custom_url: kubernetes.default.svc",
          "custom_url: a.svc.cluster.local",
        ],
        "host of the policy": [
          "custom_url: a host",
          "custom_url: the platform's own",
          "custom_url: the platform's own in capitals",
          "custom_url: the registry's, which is the platform's own",
          "domains: a host",
          "domains: the platform's own",
          "domains: the platform's own in capitals",
          "domains: 127.0.0.1",
        ],
        "place": [
          "namespace: of the list",
          "namespace: of no list",
          "namespace: of the system",
          "namespace: Berth's own",
          "namespace: the tenant's own",
          "namespace: another tenant's",
        ],
        "quota": [
          "sizes: max_scale at the lower cap",
          "sizes: max_scale above it",
          "sizes: queue_max_scale at the lower cap",
          "sizes: queue_max_scale above it",
          "sizes: cpu at the lower cap",
          "sizes: cpu above it",
          "sizes: cpu_limit at the lower cap",
          "sizes: cpu_limit above it",
          "sizes: memory_mb at the lower cap",
          "sizes: memory_mb above it",
          "sizes: db_storage_gi at the lower cap",
          "sizes: db_storage_gi above it",
          "what only the cluster can know is accepted: more than a quota has",
        ],
        "secrets": [
          "sizes: secrets",
        ],
      }
    `);
  });
});

test('the operator continues to reconcile other resources', async () => {
  for (const hosting of HOSTING_MODES) {
    const namespace = world.acceptingNamespaces[hosting];
    const name = uniqueName('good');
    await world.send(namespace, resource(name, routed(`https://${name}.example.com`)));
    await world.untilReported(namespace, name, 'Converged');
  }
});
