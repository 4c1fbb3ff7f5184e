/** O1: the time since the last fault, and its limit. */
import { hubEffect, kubernetesEffect } from '../effects.ts';
import { isSqlHeartbeat } from '../heartbeats.ts';
import type { FaultPlan } from '../plan.ts';
import type { FaultWorld } from '../world.ts';

const CONVERGED_WITHIN_MS = 30_000;
/** What is made anew after the fault has pods that have to come up, and what comes at the end of a rollout is told then. */
const LEAST_POD_MS = 15_000;

/** @param withoutFaultMs what the change takes here when there is no fault */
export function allowedMs(
  { convergesWithinSeconds }: Pick<FaultPlan, 'convergesWithinSeconds'>,
  withoutFaultMs = 0,
): number {
  const within = convergesWithinSeconds === undefined ? CONVERGED_WITHIN_MS : convergesWithinSeconds * 1000;
  return within + Math.max(LEAST_POD_MS, withoutFaultMs);
}

type Passed = Pick<FaultWorld, 'kubernetes' | 'hub' | 'postgres'>;

interface Lasting {
  readonly at: number;
  readonly what: string;
}

/** All that lasts and was done, as the proxies have seen it. */
function lasting({ kubernetes, hub, postgres }: Passed): Lasting[] {
  return [
    ...kubernetes.exchanges().flatMap((exchange): Lasting[] => {
      const { client, upstreamStatus, endedAt } = exchange;
      const effect = kubernetesEffect(exchange);
      const isOne = upstreamStatus > 0 && upstreamStatus < 300 && effect !== 'tell events';
      return effect === undefined || !isOne ? [] : [{ at: endedAt, what: `${client}: ${effect}` }];
    }),
    ...hub
      .exchanges()
      .filter((exchange) => hubEffect(exchange) === 'post reports')
      .map(({ endedAt, client }) => ({ at: endedAt, what: `${client}: post reports` })),
    ...postgres
      .messages()
      .filter((message) => !isSqlHeartbeat(message))
      .map(({ at, client, sql }) => ({ at, what: `${client}: ${sql.slice(0, 200)}` })),
  ];
}

/** When something that lasts was done last; undefined: nothing has been. */
export function lastEffect(world: Passed): number | undefined {
  const times = lasting(world).map(({ at }) => at);
  return times.length === 0 ? undefined : times.reduce((latest, at) => Math.max(latest, at));
}

const TOLD = 10;

/** The last of it, with the seconds since then: who has come late shows in it. */
export function lastEffects(world: Passed, since: number): string[] {
  return lasting(world)
    .sort((left, right) => left.at - right.at)
    .slice(-TOLD)
    .map(({ at, what }) => `after ${((at - since) / 1000).toFixed(1)} s: ${what}`);
}

/** As it stands among the figures of a plan, and how it is read there: the page tells the worst of each kind. */
export const convergedFigure = (seconds: number, what: string) =>
  `converged ${seconds.toFixed(1)} s after the last fault (${what})`;
const FIGURE = /^converged (\d+\.\d) s after the last fault/;

export function convergedSeconds(figure: string): number | undefined {
  const [, seconds] = FIGURE.exec(figure) ?? [];
  return seconds === undefined ? undefined : Number(seconds);
}
