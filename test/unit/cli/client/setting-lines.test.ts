import { expect, test } from 'vitest';
import { podSettingLines } from '../../../../src/cli/client/deployments/setting-lines.ts';
import { fullPodSettings } from '../../../arbitraries/pod-settings.ts';

type Config = Parameters<typeof podSettingLines>[0];
const linesOf = (settings: object) => podSettingLines(settings as Config);

test('shows the pod settings by component', () => {
  expect(linesOf(fullPodSettings)).toEqual([
    ['Security profile', 'restricted'],
    [
      'Health checks',
      'api: http /healthz?full=1 port 9000, timeout_seconds 2, period_seconds 20, failure_threshold 4, ' +
        'startup_seconds 90; queue: exec /bin/check --queue',
    ],
    [
      'Placement',
      'api: nodes with kubernetes.io/arch=arm64, affinity; queue: nodes with example.com/pool=batch',
    ],
    ['GPUs', 'api: 2 nvidia.com/gpu; queue: 1 nvidia.com/mig-1g.5gb'],
  ]);
});

test('shows tolerations as taints', () => {
  const tolerations = [{ key: 'a/b', value: 'c', effect: 'NoSchedule' }, { operator: 'Exists' }];
  expect(linesOf({ placement: { api: { tolerations }, queue: {} } })).toEqual([
    ['Placement', 'api: tolerates a/b=c:NoSchedule *; queue: any node'],
  ]);
});

test('has no line for settings that are not set', () => expect(linesOf({})).toEqual([]));
