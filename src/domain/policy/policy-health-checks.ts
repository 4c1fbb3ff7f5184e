import { HEALTH_CHECK_DEFAULTS } from '../pod-settings/health-check.ts';
import { COMPONENTS } from '../resource-spec/components.ts';
import type { Policy } from './policy.ts';
import type { PodView, Violation } from './policy-view.ts';

/** Health checks that the policy does not allow: commands, and checks that are too frequent. */
export function healthCheckIssues({ settings }: PodView, { health_checks: allowed }: Policy): Violation[] {
  return COMPONENTS.flatMap((component) => {
    const check = settings.health_checks?.[component];
    if (check === undefined) return [];
    const loc = ['source_config', 'health_checks', component];
    const { period_seconds: sent } = check;
    const period = sent ?? HEALTH_CHECK_DEFAULTS.periodSeconds;
    const found: Violation[] = [];
    if (check.type === 'exec' && !allowed.exec)
      found.push({ loc: [...loc, 'type'], msg: 'must not be exec, because the policy does not allow it' });
    if (check.type !== 'none' && period < allowed.min_period_seconds) {
      const minimum = `at least ${allowed.min_period_seconds}, the minimum of the policy`;
      const msg =
        sent === undefined
          ? `must be set to ${minimum}. Without it, the period is ${period}`
          : `must be ${minimum}`;
      found.push({ loc: [...loc, 'period_seconds'], msg });
    }
    return found;
  });
}
