/** What the doctor looks at, in this order: each rests on those before it of its side. */
export const CHECKS = {
  settings: 'settings',
  hub_name: "the hub's name",
  hub_connection: 'connection to the hub',
  hub_tls: 'TLS of the hub',
  hub_answer: 'the hub answers',
  clock: 'clock',
  key: 'listener key',
  scope: 'scope of the key',
  listener: 'listener id',
  version: 'versions',
  lease: 'lease',
  rendering: 'rendering reported',
  kubeconfig: 'kubeconfig',
  cluster_connection: 'connection to the cluster',
  cluster_account: "the cluster's account",
  cluster_version: 'Kubernetes version',
  custom_resource: 'custom resource',
  rights: 'rights',
  namespaces: 'namespaces',
} as const;
export type Check = keyof typeof CHECKS;

/** `warning`: works, but somebody should know. `skipped`: could not be looked at, because of another finding. */
export type Outcome = 'ok' | 'warning' | 'failed' | 'skipped';

/** What was found at one check. */
export interface Finding {
  readonly check: Check;
  readonly outcome: Outcome;
  readonly message: string;
  /** What to do; only of a warning or failure. */
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
  message: `not looked at: ${CHECKS[because]} comes first`,
});

const ORDER = Object.keys(CHECKS) as Check[];

/** The findings in the order of the checks; a check without one was skipped because of the failure nearest before it. */
export function complete(findings: readonly Finding[], checks: readonly Check[] = ORDER): Finding[] {
  let cause: Check = 'settings';
  return checks.flatMap((check) => {
    const found = findings.filter((finding) => finding.check === check);
    if (found.some(({ outcome }) => outcome === 'failed')) cause = check;
    return found.length > 0 ? found : [skipped(check, cause)];
  });
}
