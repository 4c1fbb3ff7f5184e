/** Checks of the doctor, in order. Each check depends on the earlier checks of its side (hub or cluster). */
export const CHECKS = {
  settings: 'settings',
  hub_name: 'name of the hub',
  hub_connection: 'connection to the hub',
  hub_tls: 'TLS of the hub',
  hub_answer: 'response of the hub',
  clock: 'clock',
  key: 'listener key',
  scope: 'scope of the key',
  listener: 'listener id',
  version: 'versions',
  lease: 'lease',
  rendering: 'rendering settings',
  kubeconfig: 'kubeconfig',
  cluster_connection: 'connection to the cluster',
  cluster_account: 'account in the cluster',
  cluster_version: 'Kubernetes version',
  custom_resource: 'custom resource',
  rights: 'rights',
  namespaces: 'namespaces',
} as const;
export type Check = keyof typeof CHECKS;

/**
 * `warning`: the checked item works, but needs attention. `skipped`: the item could not be checked, because of another
 * finding.
 */
export type CheckOutcome = 'ok' | 'warning' | 'failed' | 'skipped';

/** The result of one check. */
export interface Finding {
  readonly check: Check;
  readonly outcome: CheckOutcome;
  readonly message: string;
  /** The remedy; only for a warning or failure. */
  readonly next?: string;
}

export const ok = (check: Check, message: string): Finding => ({ check, outcome: 'ok', message });
export const warning = (check: Check, message: string, next: string): Finding => ({
  check,
  outcome: 'warning',
  message,
  next,
});
export const failed = (check: Check, message: string, next: string): Finding => ({
  check,
  outcome: 'failed',
  message,
  next,
});
export const skipped = (check: Check, because: Check): Finding => ({
  check,
  outcome: 'skipped',
  message: `not checked: fix ${CHECKS[because]} first`,
});

const ORDER = Object.keys(CHECKS) as Check[];

/**
 * The findings in the order of the checks. A check without a finding was skipped because of the last failure before it.
 */
export function complete(findings: readonly Finding[], checks: readonly Check[] = ORDER): Finding[] {
  let cause: Check = 'settings';
  return checks.flatMap((check) => {
    const found = findings.filter((finding) => finding.check === check);
    if (found.some(({ outcome }) => outcome === 'failed')) cause = check;
    return found.length > 0 ? found : [skipped(check, cause)];
  });
}
