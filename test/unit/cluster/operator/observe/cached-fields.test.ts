import { describe, expect, test } from 'vitest';
import type { UntypedObject } from '../../../../../src/cluster/kube/client/object.ts';
import { transformPod } from '../../../../../src/cluster/operator/observe/cached-fields.ts';
import { ANNOTATIONS } from '../../../../../src/contract/resource/names.ts';

describe('the output of a container', () => {
  test('is masked and cut once, when the pod enters the cache', () => {
    const terminated = { exitCode: 1, message: `${'x'.repeat(3000)} PASSWORD=s3cret` };
    const containerStatuses = [{ name: 'app', state: { terminated }, lastState: { terminated } }];
    const pod = transformPod({
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name: 'web-1' },
      status: { containerStatuses, initContainerStatuses: containerStatuses },
    } as UntypedObject);
    const text = JSON.stringify(pod);
    expect(text).not.toContain('s3cret');
    expect(text.match(/PASSWORD=\*\*\*/g)).toHaveLength(4);
    expect(text.length).toBeLessThan(6000);
  });

  test('is not shown when the pod uses references to Secrets, because their values are not known', () => {
    const terminated = { exitCode: 1, message: 'printed-value' };
    const containerStatuses = [{ name: 'app', state: { terminated }, lastState: { terminated } }];
    const pod = (annotations: Record<string, string>) =>
      JSON.stringify(
        transformPod({
          apiVersion: 'v1',
          kind: 'Pod',
          metadata: { name: 'web-1', annotations },
          status: { containerStatuses, initContainerStatuses: containerStatuses },
        } as UntypedObject),
      );
    expect(pod({})).toContain('printed-value');
    const withheld = pod({ [ANNOTATIONS.secretReferences]: '0'.repeat(32) });
    expect(withheld).not.toContain('printed-value');
    expect(withheld).toContain('see its logs');
  });
});
