import { expect, test } from 'vitest';
import { givenPullPolicy, pullPolicy } from '../../../src/workloads/pull-policy.ts';

const DIGEST = `sha256:${'ab'.repeat(32)}`;

// Source: SetDefaults_Container of the API server.
test.each([
  ['registry.example/app', 'Always'],
  ['registry.example:5000/app', 'Always'],
  ['registry.example/app:latest', 'Always'],
  ['registry.example/app:1.0', 'IfNotPresent'],
  [`registry.example/app@${DIGEST}`, 'IfNotPresent'],
  [`registry.example/app:1.0@${DIGEST}`, 'IfNotPresent'],
  [`registry.example/app:latest@${DIGEST}`, 'Always'],
])('%s is pulled %s where nothing is said, as Kubernetes has it for a new container', (image, policy) => {
  expect(pullPolicy(image)).toBe(policy);
});

test('between strangers an image that one of them names is pulled each time, whatever he says', () => {
  for (const asked of ['Always', 'IfNotPresent', 'Never', undefined] as const) {
    expect(givenPullPolicy('registry.example/app:1.0', { hosting: 'cloud' }, asked)).toBe('Always');
    expect(givenPullPolicy('registry.example/app:1.0', { hosting: 'self_hosted' }, asked)).toBe(
      asked ?? 'IfNotPresent',
    );
  }
});
