/** The writes of a recording again, under other names: what floors send. */

import type { KubeClient } from '../../../src/cluster/kube/client/client.ts';
import type { KubeObject } from '../../../src/cluster/kube/client/object.ts';
import { onBehalfOf } from '../../../src/cluster/kube/transport/flow-context.ts';
import { ITEMS_AT_ONCE } from '../../../src/cluster/listener/act.ts';
import { ITEMS_OF_ONE_TENANT } from '../../../src/cluster/listener/apply/work-table.ts';
import { MAX_RECONCILES_OF_TENANT, RECONCILE_WORKERS } from '../../../src/cluster/operator/operator.ts';
import { uuidv7 } from '../../../src/domain/core/id.ts';
import { FairLimiter, NO_TENANT } from '../../../src/domain/scheduling/fair-limiter.ts';
import { CLUSTER_ROLES, type ClusterBerth, type ClusterRole } from './berth.ts';
import type { Recording, Step } from './recording.ts';

/** As many as each role works on side by side, of all and of one tenant. */
const OF_ALL = { listener: ITEMS_AT_ONCE, operator: RECONCILE_WORKERS };
const OF_ONE_TENANT = { listener: ITEMS_OF_ONE_TENANT, operator: MAX_RECONCILES_OF_TENANT };

/** Where the writes go on their second time. */
export interface Place {
  readonly name: string;
  readonly namespace: string;
}

function rewriter(recording: Recording, { name, namespace }: Place): (text: string) => string {
  const id = uuidv7();
  return (text) =>
    text
      .replaceAll(recording.name, name)
      .replaceAll(recording.namespace, namespace)
      .replaceAll(recording.deploymentId, id);
}

/** A name as long as the recorded one. */
export const nameLike = ({ name }: Recording, prefix: string, index: number) =>
  `${prefix}-${String(index).padStart(Math.max(1, name.length - prefix.length - 1), '0')}`;

const isEvent = ({ body }: Step) => body?.kind === 'Event';

/** Whose deployments a floor writes that stands beside Berth's of one tenant. */
export const ONE_TENANT = 'floor';

/** Each deployment is another tenant's, so that no tenant's share bounds how many writes are under way: the roles' own limit does. */
export const EACH_ITS_OWN = Symbol('each its own tenant');

/** By which writes go. */
interface Lanes {
  readonly clients: Readonly<Record<ClusterRole, KubeClient>>;
  /** Deployments under way at a time. */
  readonly slots: Readonly<Record<ClusterRole, FairLimiter>>;
  /** Told of what nothing waits for. */
  beside(sending: Promise<void>): void;
}

/**
 * Sends the writes of one deployment; those of the custom resource carry its own uid and version, and owners are the
 * objects that were made for it: the garbage collector would take away what has another owner. Events go beside the
 * others, as the roles send them: on behalf of nobody, and nothing waits for one.
 */
async function playOne(recording: Recording, place: Place, { clients, slots, beside }: Lanes): Promise<void> {
  const rewrite = rewriter(recording, place);
  let parent: KubeObject['metadata'] = { name: place.name };
  /** By kind and name. */
  const uids = new Map<string, string | undefined>();
  const send = async ({ role, method, contentType, isResource, path, body }: Step) => {
    const text = rewrite(JSON.stringify(body ?? null)).replaceAll(recording.uid, parent.uid ?? recording.uid);
    const sent = JSON.parse(text) as KubeObject | null;
    if (isResource && sent?.metadata.resourceVersion !== undefined)
      sent.metadata.resourceVersion = parent.resourceVersion ?? '';
    for (const owner of sent?.metadata.ownerReferences ?? [])
      owner.uid = uids.get(`${owner.kind}/${owner.name}`) ?? owner.uid;
    const options = { contentType, ...(sent === null ? {} : { body: sent }) };
    const { kind, metadata } = (await clients[role].request(method, rewrite(path), options))
      .body as KubeObject;
    uids.set(`${kind}/${metadata.name}`, metadata.uid);
    if (isResource) parent = metadata;
  };
  const roles = Map.groupBy(recording.waves, (wave) => wave[0]?.role);
  for (const role of CLUSTER_ROLES)
    await slots[role].run(NO_TENANT, async () => {
      for (const wave of roles.get(role) ?? []) {
        const [events, others] = [wave.filter(isEvent), wave.filter((step) => !isEvent(step))];
        for (const event of events) beside(onBehalfOf(NO_TENANT, () => send(event)));
        await Promise.all(others.map(send));
      }
    });
}

export interface Player {
  /** Sends the writes of one deployment; resolves when all were answered, but for Events. */
  one(prefix: string, index: number): Promise<void>;
}

/** Two clients, as listener and operator have them. */
export interface Stage extends AsyncDisposable {
  /**
   * With as much under way as the roles have.
   * @param tenant whose writes they are: of one tenant's the roles have few under way, and tenants take turns (decision 0048);
   *   default: nobody's, of whom as few writes are under way as of a tenant, but without turns
   */
  player(tenant?: string | typeof EACH_ITS_OWN): Player;
}

export async function openStage(
  recording: Recording,
  berth: Pick<ClusterBerth, 'clientOf' | 'namespace'>,
): Promise<Stage> {
  const { namespace } = berth;
  const clients = { listener: await berth.clientOf('listener'), operator: await berth.clientOf('operator') };
  const underWay = new Set<Promise<void>>();
  const beside = (sending: Promise<void>) => {
    // An Event that was refused is told by nobody; neither does Berth fail by one.
    const settled = sending.catch(() => undefined).finally(() => underWay.delete(settled));
    underWay.add(settled);
  };
  return {
    player: (tenant = NO_TENANT) => {
      const limiter = (role: ClusterRole) =>
        new FairLimiter({
          total: (tenant === NO_TENANT || tenant === EACH_ITS_OWN ? OF_ALL : OF_ONE_TENANT)[role],
        });
      const slots = { listener: limiter('listener'), operator: limiter('operator') };
      return {
        one: (prefix, index) => {
          const name = nameLike(recording, prefix, index);
          return onBehalfOf(tenant === EACH_ITS_OWN ? name : tenant, () =>
            playOne(recording, { name, namespace }, { clients, slots, beside }),
          );
        },
      };
    },
    [Symbol.asyncDispose]: async () => {
      await Promise.all(underWay);
      await Promise.all(Object.values(clients).map((client) => client.close()));
    },
  };
}

/** Sends the writes of `count` deployments at once. @param done called for each when all of its writes were answered */
export async function play(
  { one }: Player,
  { prefix, count }: { prefix: string; count: number },
  done: () => void = () => undefined,
): Promise<void> {
  await Promise.all(
    Array.from({ length: count }, async (_, index) => {
      await one(prefix, index);
      done();
    }),
  );
}
