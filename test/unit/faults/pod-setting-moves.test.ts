import { expect, test } from 'vitest';
import { parsePolicy } from '../../../src/app/policy/policy-file.ts';
import { sourceConfigBodySchema } from '../../../src/domain/deployment/deployment-bodies.ts';
import type { PodSettings } from '../../../src/domain/pod-settings/pod-settings.ts';
import { podPolicyViolations } from '../../../src/domain/policy/policy-rules.ts';
import { POD_SETTING_CHANGES, WALK_POLICY } from '../../faults/walk/pod-setting-moves.ts';

const policy = parsePolicy({ hosting: 'self_hosted' }, WALK_POLICY, 'policy.yaml');

/** Without what a change clears. */
const setBy = (change: object): object =>
  Object.fromEntries(Object.entries(change).filter(([, value]) => value !== null));

test.each(POD_SETTING_CHANGES)('a walk can make the change %j', (change) => {
  expect(sourceConfigBodySchema.safeParse(change).error).toBeUndefined();
  const settings = Object.fromEntries(
    Object.entries(setBy(change)).map(([field, value]) => [
      field,
      typeof value === 'object' ? setBy(value as object) : value,
    ]),
  ) as PodSettings;
  expect(podPolicyViolations({ spec: {}, settings }, 'shop', policy)).toEqual([]);
});

test.each([
  /"security_profile":"/,
  /"health_checks":\{"/,
  /"node_selector":\{"/,
  /"tolerations":\[\{/,
  /"affinity":\{"/,
  /"gpu":\{"/,
])('a walk can set %s', (setting) => expect(JSON.stringify(POD_SETTING_CHANGES)).toMatch(setting));
