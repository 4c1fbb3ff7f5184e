import { type AnyRule, type LastFault, noted } from './oracles/last-fault.ts';
import type { ActiveRule } from './proxies/kubernetes-traffic.ts';

interface Faulty<R> {
  add(rule: R): ActiveRule;
  open(client?: string): void;
}

/** A proxy whose rules can all be taken back at once. */
export interface Tracked<P> {
  readonly proxy: P;
  /** Removes every rule and ends cuts and blackholes. */
  removeRules(): void;
}

/** What is done to every connection at once. */
const TO_ALL: ReadonlySet<PropertyKey> = new Set(['cut', 'blackhole', 'open', 'dropNotifications']);

/**
 * Notes the rules that are added to a proxy: what a plan leaves behind must not meet the next one, and from the last
 * fault on Berth has its time.
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

/** A rule that could have been played on is a fault until it is taken back. */
function removalNoted<A extends ActiveRule>(
  added: A,
  { fault, times = Number.POSITIVE_INFINITY }: AnyRule,
  faults: LastFault,
): A {
  const remove = added.remove.bind(added);
  const isLook = fault.kind === 'delay' && (fault.ms ?? 0) === 0;
  return Object.assign(added, {
    remove: () => {
      if (!isLook && added.taken() < times) faults.note(`${fault.kind} taken back`);
      remove();
    },
  });
}
