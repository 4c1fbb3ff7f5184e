/** O1: the time since the last fault, and its limit. */
import { hubEffect, kubernetesEffect } from '../effects.ts';
import { isSqlHeartbeat } from '../heartbeats.ts';
import type { FaultPlan } from '../plan.ts';
import type { FaultWorld } from '../world.ts';

const CONVERGED_WITHIN_MS = 30_000;
/** Time for pods to start if an object is created after the fault, and for the events at the end of the rollout. */
const LEAST_POD_MS = 15_000;

/**
 * How long convergence may take after the last fault, in milliseconds.
 * @param withoutFaultMs how long the change takes on this machine without a fault
 */
export function allowedMs(
  { convergesWithinSeconds }: Pick<FaultPlan, 'convergesWithinSeconds'>,
  withoutFaultMs = 0,
): number {
  const within = convergesWithinSeconds === undefined ? CONVERGED_WITHIN_MS : convergesWithinSeconds * 1000;
  return within + Math.max(LEAST_POD_MS, withoutFaultMs);
}

type Proxies = Pick<FaultWorld, 'kubernetes' | 'hub' | 'postgres'>;

interface TimedEffect {
  readonly at: number;
  readonly what: string;
}

/** All durable effects that the proxies have recorded. */
function timedEffects({ kubernetes, hub, postgres }: Proxies): TimedEffect[] {
  return [
    ...kubernetes.exchanges().flatMap((exchange): TimedEffect[] => {
      const { client, upstreamStatus, endedAt } = exchange;
      const effect = kubernetesEffect(exchange);
      const succeeded = upstreamStatus > 0 && upstreamStatus < 300 && effect !== 'tell events';
      return effect === undefined || !succeeded ? [] : [{ at: endedAt, what: `${client}: ${effect}` }];
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

/** The time of the last durable effect, in milliseconds since the epoch. Undefined before the first effect. */
export function lastEffect(world: Proxies): number | undefined {
  const times = timedEffects(world).map(({ at }) => at);
  return times.length === 0 ? undefined : times.reduce((latest, at) => Math.max(latest, at));
}

const MAX_REPORTED = 10;

/** The last effects, with the seconds since `since`. They show which process was late. */
export function lastEffects(world: Proxies, since: number): string[] {
  return timedEffects(world)
    .sort((left, right) => left.at - right.at)
    .slice(-MAX_REPORTED)
    .map(({ at, what }) => `after ${((at - since) / 1000).toFixed(1)} s: ${what}`);
}

/** The figure of a plan that says when it converged. The results page reads it with `convergedSeconds`. */
export const convergedFigure = (seconds: number, what: string) =>
  `converged ${seconds.toFixed(1)} s after the last fault (${what})`;
const FIGURE = /^converged (\d+\.\d) s after the last fault/;

/** The seconds in such a figure. Undefined if it is another figure. */
export function convergedSeconds(figure: string): number | undefined {
  const [, seconds] = FIGURE.exec(figure) ?? [];
  return seconds === undefined ? undefined : Number(seconds);
}
