import { expect, test } from 'vitest';
import { brokenImage, failingSample } from '../../../scripts/demo/failing.ts';
import { parseOptions, UsageError } from '../../../scripts/demo/options.ts';

test('has a default for every option', () => {
  expect(parseOptions([])).toEqual({
    exit: false,
    port: 8080,
    hosting: 'self_hosted',
    samples: 'all',
    failing: false,
    builds: false,
    kubeconfig: undefined,
    context: undefined,
    local: false,
    realNode: false,
    timeoutMs: 180_000,
  });
});

test('returns null when help is asked for', () => {
  expect(parseOptions(['--help', '--local'])).toBeNull();
});

test.each([
  [['--nonsense'], /nonsense/],
  [['surplus'], /surplus/],
  [['--context'], /context/],
  [['--port', 'web'], /--port takes a whole number from 0 to 65535, not "web"/],
  [['--hosting', 'both'], /--hosting takes cloud or self_hosted, not "both"/],
  [['--real-node', '--hosting', 'cloud'], /--real-node cannot be combined/],
  [['--real-node', '--context', 'a'], /--real-node cannot be combined/],
  [['--local', '--kubeconfig', 'a'], /--local cannot be combined with --kubeconfig/],
  [['--local', '--real-node'], /--local cannot be combined with --real-node/],
  [['--builds', '--context', 'a'], /--builds cannot be combined with --kubeconfig/],
  [['--builds', '--real-node'], /--builds cannot be combined with .*--real-node/],
  [['--builds', '--hosting', 'cloud'], /--hosting cloud, which always builds/],
  [['--samples', 'none', '--timeout', '5'], /--timeout cannot be combined with --samples none/],
])('rejects %j as wrong usage', (args, message) => {
  expect(() => parseOptions(args)).toThrow(UsageError);
  expect(() => parseOptions(args)).toThrow(message);
});

test('may wait for a deployment that fails without samples', () => {
  expect(parseOptions(['--failing', '--samples', 'none', '--timeout', '60'])).toMatchObject({
    failing: true,
    samples: 'none',
    timeoutMs: 60_000,
  });
});

test.each(['self_hosted', 'cloud'] as const)(
  'the deployment that fails only changes the tag in %s',
  (hosting) => {
    const { source_revision_config: config } = failingSample({ hosting }).body;
    const image = config?.image_uri ?? '';
    expect(image).not.toContain('fail-');
    expect(brokenImage(image).split(':')).toEqual([image.split(':')[0], 'fail-crash-loop']);
  },
);
