import { describe, expect, test } from 'vitest';
import { chooseCluster, isOpen } from '../../../scripts/demo/choose-cluster.ts';

const context = { name: 'kind-dev', server: 'https://127.0.0.1:6443', variable: undefined };
const missing = ['kube-apiserver', 'kwok'];
const buildTime = 'about 8 min with 2 processors';

describe('chooseCluster', () => {
  test('stops with both ways when a build is needed and the current context responds', () => {
    const choice = chooseCluster({ context, missing, buildTime });
    expect(choice).toMatchObject({
      kind: 'stop',
      message: expect.stringMatching(
        /kind-dev .*https:\/\/127\.0\.0\.1:6443.*npm run demo -- --context kind-dev\n.*npm run demo -- --local\n.*kube-apiserver, kwok, once \(about 8 min with 2 processors\)/s,
      ),
    });
  });

  test('builds and says how long it takes when no context responds', () => {
    expect(chooseCluster({ context: null, missing, buildTime })).toEqual({
      kind: 'go on',
      hint: 'Needs a build of kube-apiserver, kwok, once (about 8 min with 2 processors).',
    });
  });

  test('uses the local cluster and says how to use the context when nothing has to be built', () => {
    expect(chooseCluster({ context, missing: [], buildTime })).toEqual({
      kind: 'go on',
      hint: 'To use the current context kind-dev instead: npm run demo -- --context kind-dev',
    });
    expect(chooseCluster({ context: null, missing: [], buildTime })).toEqual({ kind: 'go on', hint: null });
  });

  test('quotes the name of the context when a shell would split it', () => {
    const named = { ...context, name: "it's mine; rm -rf" };
    expect(chooseCluster({ context: named, missing: [], buildTime })).toMatchObject({
      hint: expect.stringContaining(`--context 'it'\\''s mine; rm -rf'`),
    });
  });

  test('names the file of the context when KUBECONFIG selects it', () => {
    const named = { ...context, variable: '/home/ann lee/k3s.yaml' };
    const command = "KUBECONFIG='/home/ann lee/k3s.yaml' npm run demo -- --context kind-dev";
    expect(chooseCluster({ context: named, missing: [], buildTime })).toMatchObject({
      hint: expect.stringContaining(command),
    });
    expect(chooseCluster({ context: named, missing, buildTime })).toMatchObject({
      message: expect.stringContaining(command),
    });
  });
});

const options = { kubeconfig: undefined, context: undefined, local: false, realNode: false };

test('isOpen is true when no option names a cluster', () => {
  expect(isOpen(options)).toBe(true);
});

test.each([{ kubeconfig: 'file' }, { context: 'kind-dev' }, { local: true }, { realNode: true }])(
  'isOpen is false when the options contain %j',
  (named) => {
    expect(isOpen({ ...options, ...named })).toBe(false);
  },
);
