import { COMPONENTS } from '../resource-spec/components.ts';
import type { Policy } from './policy.ts';
import type { PodView, Violation } from './policy-view.ts';

/** Health checks that the policy does not allow: commands, and checks that are too frequent. */
export function healthCheckIssues({ settings }: PodView, { health_checks: allowed }: Policy): Violation[] {
  return COMPONENTS.flatMap((component) => {
    const check = settings.health_checks?.[component];
    if (check === undefined) return [];
    const loc = ['source_config', 'health_checks', component];
    const { period_seconds: period } = check;
    const found: Violation[] = [];
    if (check.type === 'exec' && !allowed.exec)
      found.push({ loc: [...loc, 'type'], msg: 'must not be exec, because the policy does not allow it' });
    if (period !== undefined && period < allowed.min_period_seconds) {
      const msg = `must be at least ${allowed.min_period_seconds}, the minimum of the policy`;
      found.push({ loc: [...loc, 'period_seconds'], msg });
    }
    return found;
  });
}
