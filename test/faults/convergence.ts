/** How long Berth has taken since the last fault, and how long it may (O1). */
import { hubEffect, kubernetesEffect } from './effects.ts';
import { isSqlHeartbeat } from './heartbeats.ts';
import type { FaultPlan } from './plan.ts';
import type { FaultWorld } from './world.ts';

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

/** When something that lasts was done last, as the proxies have seen it; undefined: nothing has been. */
export function lastEffect({
  kubernetes,
  hub,
  postgres,
}: Pick<FaultWorld, 'kubernetes' | 'hub' | 'postgres'>): number | undefined {
  const times = [
    ...kubernetes
      .exchanges()
      .filter((exchange) => {
        const effect = exchange.upstreamStatus < 300 ? kubernetesEffect(exchange) : undefined;
        return exchange.upstreamStatus > 0 && effect !== undefined && effect !== 'tell events';
      })
      .map(({ endedAt }) => endedAt),
    ...hub
      .exchanges()
      .filter((exchange) => hubEffect(exchange) === 'post reports')
      .map(({ endedAt }) => endedAt),
    ...postgres
      .messages()
      .filter((message) => !isSqlHeartbeat(message))
      .map(({ at }) => at),
  ];
  return times.length === 0 ? undefined : times.reduce((latest, at) => Math.max(latest, at));
}

/** As it stands among the figures of a plan, and how it is read there: the page tells the worst of each kind. */
export const convergedFigure = (seconds: number, what: string) =>
  `converged ${seconds.toFixed(1)} s after the last fault (${what})`;
const FIGURE = /^converged (\d+\.\d) s after the last fault/;

export function convergedSeconds(figure: string): number | undefined {
  const [, seconds] = FIGURE.exec(figure) ?? [];
  return seconds === undefined ? undefined : Number(seconds);
}
