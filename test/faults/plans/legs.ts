/** Where the time of a rollout goes, by what passes the proxies: which part is Berth's own, and which is the cluster's. */
import type { FaultWorld } from '../world.ts';

/** One change, as its client has seen it. Milliseconds since the epoch. */
export interface Rollout {
  /** Of the deployment; no other's name begins with it. */
  readonly name: string;
  readonly from: number;
  readonly answered: number;
  readonly ready: number;
}

/** Milliseconds of each part, in the order of time; they add up to the whole. */
export interface Legs {
  /** Request to answer. */
  readonly api: number;
  /** To the moment that the listener sends the custom resource. */
  readonly listener: number;
  /** To the moment that the operator is told of it. */
  readonly taken: number;
  /** To the operator's first apply of a Deployment: its looks, the templates stored, the rollout named in the status. */
  readonly apply: number;
  /** To the last change of Deployment or pods that the operator is told of before it tells READY. */
  readonly cluster: number;
  /** To the operator's last status before READY is seen. */
  readonly status: number;
  /** To READY at the API: listener, API, and the client's looks. */
  readonly back: number;
}

export const LEGS = ['api', 'listener', 'taken', 'apply', 'cluster', 'status', 'back'] as const;

interface Told {
  readonly at: number;
  readonly resource: string;
  readonly name: string;
}

/** What the operator is told of by its watches, from now on. */
export function legsFrom(world: FaultWorld): (rollout: Rollout) => Legs | undefined {
  const told: Told[] = [];
  for (const resource of ['manageddeployments', 'deployments', 'pods'])
    world.kubernetes.add({
      match: ({ client, verb, ...request }) =>
        client === 'operator' && verb === 'watch' && request.resource === resource,
      fault: {
        kind: 'filter-watch',
        drop: ({ object }) => {
          const { name = '' } = object.metadata;
          told.push({ at: Date.now(), resource, name });
          return false;
        },
      },
    });
  return (rollout) => legsOf(world, told, rollout);
}

function legsOf(
  { kubernetes }: FaultWorld,
  told: readonly Told[],
  { name, from, answered, ready }: Rollout,
): Legs | undefined {
  const [begin, end] = [from, ready];
  const of = <E extends { at: number; name: string }>(all: readonly E[]) =>
    all.filter((one) => one.at >= begin && one.at <= end && one.name.startsWith(name));
  const operator = of(kubernetes.exchanges('operator'));
  const sent = of(kubernetes.exchanges('listener')).find(({ verb }) => verb === 'apply')?.at;
  const seen = of(told);
  const apply = operator.find(({ verb, resource }) => verb === 'apply' && resource === 'deployments')?.at;
  // The first: those after it are of what the operator itself has told.
  const taken = seen.find(({ at, resource }) => resource === 'manageddeployments' && at >= (sent ?? end))?.at;
  const status = operator.findLast(({ subresource }) => subresource === 'status')?.at;
  const last = seen.findLast(
    ({ at, resource }) => resource !== 'manageddeployments' && at <= (status ?? 0),
  )?.at;
  if (sent === undefined || taken === undefined || apply === undefined) return undefined;
  if (last === undefined || status === undefined) return undefined;
  return {
    api: answered - from,
    listener: sent - answered,
    taken: taken - sent,
    apply: apply - taken,
    cluster: last - apply,
    status: status - last,
    back: ready - status,
  };
}
