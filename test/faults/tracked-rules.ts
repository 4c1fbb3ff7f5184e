/** Records the rules that are added to a proxy, so that the runner can remove them, and the times of faults. */
import { type AnyRule, type LastFault, noted } from './oracles/last-fault.ts';
import type { ActiveRule } from './proxies/kubernetes-traffic.ts';

interface Faulty<R> {
  add(rule: R): ActiveRule;
  open(client?: string): void;
}

/** A proxy whose rules can all be removed at once. */
export interface Tracked<P> {
  readonly proxy: P;
  /** Removes every rule and ends cuts and blackholes. */
  removeRules(): void;
}

/** Functions that affect all connections at once. */
const TO_ALL: ReadonlySet<PropertyKey> = new Set(['cut', 'blackhole', 'open', 'dropNotifications']);

/**
 * Wraps a proxy. Rules that a plan leaves behind must not affect the next plan, and the time limit of O1 starts at the last
 * fault.
 */
export function tracked<R extends AnyRule, P extends Faulty<R>>(
  proxy: P & Faulty<R>,
  faults: LastFault,
): Tracked<P> {
  let rules: ActiveRule[] = [];
  const noting = new Proxy(proxy, {
    get(target, property) {
      if (property === 'add')
        return (rule: R) => {
          const added = removalNoted(target.add(noted(rule, faults)), rule, faults);
          rules.push(added);
          return added;
        };
      const value = Reflect.get(target, property, target) as unknown;
      if (typeof value !== 'function') return value;
      if (!TO_ALL.has(property)) return value.bind(target);
      return (...args: unknown[]) => {
        faults.note(String(property));
        return Reflect.apply(value, target, args);
      };
    },
  });
  return {
    proxy: noting,
    removeRules: () => {
      for (const rule of rules) rule.remove();
      rules = [];
      proxy.open();
    },
  };
}

/** A rule that could still apply counts as a fault until it is removed. */
function removalNoted<A extends ActiveRule>(
  added: A,
  { fault, times = Number.POSITIVE_INFINITY }: AnyRule,
  faults: LastFault,
): A {
  const remove = added.remove.bind(added);
  const onlyCounts = fault.kind === 'delay' && (fault.ms ?? 0) === 0;
  return Object.assign(added, {
    remove: () => {
      if (!onlyCounts && added.taken() < times) faults.note(`${fault.kind} removed`);
      remove();
    },
  });
}
