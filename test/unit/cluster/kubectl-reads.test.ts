import { describe, expect, it } from 'vitest';
import { objectRead, printed } from '../../cluster/kubectl-reads.ts';

const words = (text: string) => text.split(' ');

describe('objectRead', () => {
  it.each([
    [
      '-n apps get mdep shop -o json --ignore-not-found',
      '/apis/berth.dev/v1alpha1/namespaces/apps/manageddeployments/shop',
      true,
    ],
    ['--namespace=apps get pods --output=json', '/api/v1/namespaces/apps/pods', false],
    [
      'get -n apps -o json hpa -l a=b,c',
      '/apis/autoscaling/v2/namespaces/apps/horizontalpodautoscalers?labelSelector=a%3Db%2Cc',
      false,
    ],
    ['-n apps get service/shop -o json', '/api/v1/namespaces/apps/services/shop', false],
  ])('is the request for "%s"', (text, path, ignoresMissing) => {
    expect(objectRead(words(text))).toEqual({ path, ignoresMissing });
  });

  it.each([
    ['another verb', '-n apps delete pod a -o json'],
    ['another format', '-n apps get pod a -o name'],
    ['no format', '-n apps get pod a'],
    ['another option', '-n apps get pods -o json --show-managed-fields'],
    ['all namespaces', 'get pods -A -o json'],
    ['no namespace', 'get pods -o json'],
    ['an unknown type', '-n apps get widgets -o json'],
    ['several types', '-n apps get pods,services -o json'],
    ['several names', '-n apps get pods a b -o json'],
    ['a name with a selector', '-n apps get pod a -l x=y -o json'],
  ])('leaves %s to kubectl', (_what, text) => {
    expect(objectRead(words(text))).toBeUndefined();
  });
});

describe('printed', () => {
  it('leaves out the managers of the fields', () => {
    const object = { kind: 'Pod', metadata: { name: 'a', managedFields: [{ manager: 'x' }] } };
    expect(JSON.parse(printed(JSON.stringify(object)))).toEqual({ kind: 'Pod', metadata: { name: 'a' } });
  });

  it('gives each item of a list its kind', () => {
    const list = {
      kind: 'PodList',
      apiVersion: 'v1',
      metadata: { resourceVersion: '7' },
      items: [{ metadata: { name: 'a' } }],
    };
    expect(JSON.parse(printed(JSON.stringify(list)))).toEqual({
      apiVersion: 'v1',
      kind: 'List',
      metadata: { resourceVersion: '' },
      items: [{ apiVersion: 'v1', kind: 'Pod', metadata: { name: 'a' } }],
    });
  });
});
