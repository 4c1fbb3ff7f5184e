/**
 * Calls of operator and listener about one deployment, and answers that the proxy gives instead of the API server.
 */
import type { Workload } from '../plan.ts';
import type { KubernetesExchange, KubernetesRequest, KubernetesVerb } from '../proxies/kubernetes-traffic.ts';
import { workloadNamed } from '../workloads.ts';
import type { FaultRole, FaultWorld } from '../world.ts';
import { isRefused } from './retries.ts';

/** A verb that a role uses, the kind of object, and a workload in which this happens. */
export interface Use {
  readonly role: FaultRole;
  readonly verb: KubernetesVerb;
  readonly resource: string;
  readonly workload: Workload;
}

const use = (role: FaultRole, verb: KubernetesVerb, resource: string, workload: string): Use => ({
  role,
  verb,
  resource,
  workload: workloadNamed(workload),
});

export const USES: readonly Use[] = [
  use('operator', 'get', 'manageddeployments', 'create'),
  use('operator', 'list', 'deployments', 'update'),
  use('operator', 'watch', 'deployments', 'update'),
  use('operator', 'create', 'persistentvolumeclaims', 'create'),
  use('operator', 'apply', 'deployments', 'update'),
  use('operator', 'patch', 'persistentvolumeclaims', 'storage'),
  use('operator', 'update', 'manageddeployments', 'update'),
  use('operator', 'delete', 'horizontalpodautoscalers', 'autoscaler-off'),
  use('listener', 'get', 'manageddeployments', 'delete'),
  use('listener', 'list', 'manageddeployments', 'update'),
  use('listener', 'watch', 'manageddeployments', 'update'),
  use('listener', 'create', 'manageddeployments', 'create'),
  use('listener', 'apply', 'manageddeployments', 'update'),
  use('listener', 'delete', 'manageddeployments', 'delete'),
];

/** Reads that cover all deployments: if they fail, all deployments wait. */
export const isCommon = ({ verb }: Use) => verb === 'list' || verb === 'watch';
export const isRead = ({ verb }: Use) => verb === 'get' || verb === 'list' || verb === 'watch';
/** Custom resource and objects of the deployment `shop`. The name of the second deployment differs. */
export const isOfShop = (name: string) => name.startsWith('shop-');
const isOf =
  (used: Use) =>
  ({ client, verb, resource, name, dryRun }: KubernetesRequest): boolean =>
    client === used.role &&
    verb === used.verb &&
    resource === used.resource &&
    !dryRun &&
    (isCommon(used) || isOfShop(name));

/** Responses that the proxy injects. */
export interface Answers {
  readonly says: string;
  readonly statuses: readonly number[];
  readonly headers?: Readonly<Record<string, string>>;
  /** Whether they are injected until the rules are removed, instead of once each. */
  readonly lasts?: boolean;
  readonly fits: (used: Use) => boolean;
}

/** Rules that are active. */
export interface Injection {
  /** The attempts that got an injected response, and the first attempt after them. */
  tries(): readonly KubernetesExchange[];
  removeRules(): void;
}

/** Injects the responses for the calls that `used` describes. */
export function injectAnswers(
  world: FaultWorld,
  used: Use,
  { statuses, headers = {}, lasts }: Answers,
): Injection {
  const from = Date.now();
  const is = isOf(used);
  // The proxy checks the newest rule first.
  const rules = statuses.toReversed().map((status) =>
    world.kubernetes.add({
      match: is,
      fault: { kind: 'answer', status, headers },
      ...(lasts ? {} : { times: 1 }),
    }),
  );
  const tries = () =>
    world.kubernetes.exchanges(used.role).filter((exchange) => exchange.at >= from && is(exchange));
  return {
    tries: () => {
      const all = tries();
      const last = all.findLastIndex(isRefused);
      return all.slice(0, last + 2);
    },
    removeRules: () => {
      for (const rule of rules) rule.remove();
    },
  };
}
