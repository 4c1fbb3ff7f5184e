/** Repeats the writes of a recording with other names, for floors. */

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

/** Number of deployments that each role works on in parallel, in total and for one tenant. */
const OF_ALL = { listener: ITEMS_AT_ONCE, operator: RECONCILE_WORKERS };
const OF_ONE_TENANT = { listener: ITEMS_OF_ONE_TENANT, operator: MAX_RECONCILES_OF_TENANT };

/** Name and namespace of a repeated deployment. */
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

/** A name with the length of the recorded one. */
export const nameLike = ({ name }: Recording, prefix: string, index: number) =>
  `${prefix}-${String(index).padStart(Math.max(1, name.length - prefix.length - 1), '0')}`;

const isEvent = ({ body }: Step) => body?.kind === 'Event';

/** The tenant of a floor that is compared with the deployments of one tenant in Berth. */
export const ONE_TENANT = 'floor';

/** Each deployment has its own tenant, so only the total limit of the roles restricts the writes in progress. */
export const EACH_ITS_OWN = Symbol('each its own tenant');

/** What a replay uses to send writes. */
interface Lanes {
  readonly clients: Readonly<Record<ClusterRole, KubeClient>>;
  /** Limits of the deployments in progress. */
  readonly slots: Readonly<Record<ClusterRole, FairLimiter>>;
  /** Registers a write for which nothing waits. */
  background(sending: Promise<void>): void;
}

/**
 * Sends the writes of one deployment. Writes of the custom resource get its new uid and version, and owner references get the
 * uids of the new objects, because the garbage collector deletes objects whose owner does not exist. Events are sent as the
 * roles send them: for no tenant, and nothing waits for them.
 */
async function playOne(
  recording: Recording,
  place: Place,
  { clients, slots, background }: Lanes,
): Promise<void> {
  const rewrite = rewriter(recording, place);
  let parent: KubeObject['metadata'] = { name: place.name };
  /** Uids by kind and name. */
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
        for (const event of events) background(onBehalfOf(NO_TENANT, () => send(event)));
        await Promise.all(others.map(send));
      }
    });
}

/** Repeats the recorded writes. */
export interface Player {
  /** Sends the writes of one deployment. Resolves when all except Events were answered. */
  one(prefix: string, index: number): Promise<void>;
}

/** Two clients, like those of listener and operator. */
export interface Stage extends AsyncDisposable {
  /**
   * A player with the parallelism of the roles.
   * @param tenant tenant of the writes, for which the roles have only few in progress, and tenants take turns (decision 0048);
   *   default: no tenant, with the total limit and without turns
   */
  player(tenant?: string | typeof EACH_ITS_OWN): Player;
}

/** Opens the clients. */
export async function openStage(
  recording: Recording,
  berth: Pick<ClusterBerth, 'clientOf' | 'namespace'>,
): Promise<Stage> {
  const { namespace } = berth;
  const clients = { listener: await berth.clientOf('listener'), operator: await berth.clientOf('operator') };
  const pending = new Set<Promise<void>>();
  const background = (sending: Promise<void>) => {
    // Like Berth, ignores an Event that was rejected.
    const settled = sending.catch(() => undefined).finally(() => pending.delete(settled));
    pending.add(settled);
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
            playOne(recording, { name, namespace }, { clients, slots, background }),
          );
        },
      };
    },
    [Symbol.asyncDispose]: async () => {
      await Promise.all(pending);
      await Promise.all(Object.values(clients).map((client) => client.close()));
    },
  };
}

/** Sends the writes of `count` deployments at once. @param done called when all writes of a deployment were answered */
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
