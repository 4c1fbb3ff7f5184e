import { describe, expect, test } from 'vitest';
import { sourceConfigBodySchema } from '../../../../src/domain/deployment/deployment-bodies.ts';

/** Paths below placement.api that the schema rejects. */
function rejected(placement: object): string[] {
  const { error } = sourceConfigBodySchema.safeParse({ placement: { api: placement } });
  return (error?.issues ?? []).map(({ path }) => path.slice(2).join('.'));
}
const REQUIRED = 'requiredDuringSchedulingIgnoredDuringExecution';
const nodes = (...matchExpressions: object[]) => ({
  affinity: { nodeAffinity: { [REQUIRED]: { nodeSelectorTerms: [{ matchExpressions }] } } },
});
const EXPRESSION = `affinity.nodeAffinity.${REQUIRED}.nodeSelectorTerms.0.matchExpressions.0`;
const TERM = `affinity.podAntiAffinity.${REQUIRED}.0`;
const pods = (term: object) => ({ affinity: { podAntiAffinity: { [REQUIRED]: [term] } } });

describe('a placement', () => {
  test.each<[string, object, string[]]>([
    ['a key that is no label', { node_selector: { 'a b': 'c' } }, ['node_selector.a b']],
    ['a value that is no label', { node_selector: { a: '-' } }, ['node_selector.a']],
    ['the name of a node', { node_name: 'node-1' }, ['']],
    [
      'a toleration with value and Exists',
      { tolerations: [{ key: 'a', operator: 'Exists', value: 'b' }] },
      ['tolerations.0.value'],
    ],
    ['a toleration without a key and Equal', { tolerations: [{ value: 'b' }] }, ['tolerations.0.operator']],
    [
      'seconds without NoExecute',
      { tolerations: [{ key: 'a', tolerationSeconds: 1 }] },
      ['tolerations.0.tolerationSeconds'],
    ],
    ['no values for In', nodes({ key: 'a', operator: 'In' }), [`${EXPRESSION}.values`]],
    ['values for Exists', nodes({ key: 'a', operator: 'Exists', values: ['b'] }), [`${EXPRESSION}.values`]],
    ['text for Gt', nodes({ key: 'a', operator: 'Gt', values: ['b'] }), [`${EXPRESSION}.values`]],
    [
      'no term',
      { affinity: { nodeAffinity: { [REQUIRED]: { nodeSelectorTerms: [] } } } },
      [`affinity.nodeAffinity.${REQUIRED}.nodeSelectorTerms`],
    ],
    ['no topology key', pods({ labelSelector: {} }), [`affinity.podAntiAffinity.${REQUIRED}.0.topologyKey`]],
    [
      'label keys without a selector',
      pods({ topologyKey: 'a', matchLabelKeys: ['b'] }),
      [`${TERM}.matchLabelKeys`],
    ],
    [
      'other label keys without a selector',
      pods({ topologyKey: 'a', mismatchLabelKeys: ['b'] }),
      [`${TERM}.mismatchLabelKeys`],
    ],
    [
      'a label key of both lists',
      pods({ topologyKey: 'a', labelSelector: {}, matchLabelKeys: ['b', 'c'], mismatchLabelKeys: ['c'] }),
      [`${TERM}.matchLabelKeys.1`],
    ],
    [
      'a label key of the selector',
      pods({ topologyKey: 'a', labelSelector: { matchLabels: { b: '1' } }, matchLabelKeys: ['b'] }),
      [`${TERM}.matchLabelKeys.0`],
    ],
    [
      'a label key that occurs twice',
      pods({ topologyKey: 'a', labelSelector: {}, matchLabelKeys: ['b', 'b'] }),
      [`${TERM}.matchLabelKeys.1`],
    ],
    [
      'nothing wrong with another label key of the selector',
      pods({ topologyKey: 'a', labelSelector: { matchLabels: { b: '1' } }, mismatchLabelKeys: ['b'] }),
      [],
    ],
    [
      'Gt for pods',
      pods({
        topologyKey: 'a',
        labelSelector: { matchExpressions: [{ key: 'a', operator: 'Gt', values: ['1'] }] },
      }),
      [`affinity.podAntiAffinity.${REQUIRED}.0.labelSelector.matchExpressions.0.operator`],
    ],
    [
      'an affinity that is too large',
      nodes(
        ...Array.from({ length: 32 }, () => ({
          key: 'a',
          operator: 'In',
          values: Array.from({ length: 64 }, () => 'b'.repeat(63)),
        })),
      ),
      ['affinity'],
    ],
  ])('is rejected with %s, and the error names the member', (_what, placement, paths) => {
    expect(rejected(placement)).toEqual(paths);
  });

  test('treats null inside it as absent', () => {
    const sent = {
      placement: { api: { node_selector: { a: 'b' }, tolerations: null, affinity: { podAffinity: null } } },
    };
    expect(sourceConfigBodySchema.parse(sent).placement).toEqual({
      api: { node_selector: { a: 'b' }, affinity: {} },
    });
  });
});
