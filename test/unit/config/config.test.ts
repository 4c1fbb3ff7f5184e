import { describe, expect, test } from 'vitest';
import {
  ConfigError,
  describeConfig,
  describeUnknown,
  loadConfig,
  SETTINGS,
} from '../../../src/config/index.ts';

const KEY = Buffer.alloc(32, 7).toString('base64');

function problemsOf(environment: Record<string, string>): readonly string[] {
  try {
    loadConfig(environment);
    return [];
  } catch (error) {
    if (error instanceof ConfigError) return error.problems;
    throw error;
  }
}

describe('the configuration', () => {
  test('needs no setting, and treats an empty value as unset', () => {
    const config = loadConfig({ BERTH_PORT: '' });
    expect([config.port, config.hosting, config.namespaces, config.databaseUrl]).toEqual([
      8080,
      'self_hosted',
      [],
      null,
    ]);
  });

  test('names every invalid setting at once', () => {
    const problems = problemsOf({ BERTH_PORT: '70000', BERTH_HOSTING: 'moon', BERTH_LISTENER_ID: 'x' });
    expect(problems.map((problem) => problem.split(':')[0])).toEqual([
      'BERTH_PORT',
      'BERTH_HOSTING',
      'BERTH_LISTENER_ID',
    ]);
  });

  // Pods of two versions share one ConfigMap while they follow each other, in any mixture and both ways (decision 0032).
  test('accepts the settings of another version, and names them with the settings that they may mean', () => {
    const { hosting, unknownSettings } = loadConfig({
      BERTH_OF_A_LATER_VERSION: '5',
      BERTH_HOSTING: 'cloud',
      BERTH_HOSTNIG: 'self_hosted',
    });
    expect(hosting).toBe('cloud');
    expect(unknownSettings).toEqual([
      { name: 'BERTH_HOSTNIG', nearest: 'BERTH_HOSTING', isMisspelt: false },
      { name: 'BERTH_OF_A_LATER_VERSION', nearest: null, isMisspelt: false },
    ]);
  });

  test.each([
    ['BERTH_HOSTNIG', 'BERTH_HOSTING'],
    ['BERTH_POLCY', 'BERTH_POLICY'],
    ['BERTH_ENCRYPTION_KEY', 'BERTH_ENCRYPTION_KEYS'],
  ])('rejects %s as a misspelling when %s is not set', (name, meant) => {
    expect(() => loadConfig({ [name]: 'canary-7f3a' })).toThrow(
      `${name}: this version does not have this setting; did you mean ${meant}?`,
    );
    expect(() => loadConfig({ [name]: 'canary-7f3a' })).not.toThrow('canary-7f3a');
  });

  test('shows only the name of an unknown setting, because its value may be a secret', () => {
    const environment = {
      BERTH_ENCRYPTION_KEY: 'canary-7f3a',
      BERTH_ENCRYPTION_KEYS: `k1:${Buffer.alloc(32).toString('base64')}`,
    };
    const told = [
      ...loadConfig(environment).unknownSettings.map(describeUnknown),
      ...describeConfig(environment),
    ];
    expect(told).toContain(
      'BERTH_ENCRYPTION_KEY: this version does not have this setting; did you mean BERTH_ENCRYPTION_KEYS?',
    );
    expect(told.join('\n')).not.toContain('canary-7f3a');
  });

  test('ignores the variables of a client and of the test suite', () => {
    const others = { BERTH_URL: 'http://x', BERTH_API_KEY: 'k', BERTH_TEST_KUBECONFIG: '/x' };
    expect(loadConfig(others).unknownSettings).toEqual([]);
  });

  test('ignores the variables that Kubernetes sets for Services named berth-…', () => {
    const links = {
      BERTH_API_SERVICE_HOST: '10.0.0.1',
      BERTH_API_SERVICE_PORT_HTTP: '80',
      BERTH_API_PORT_80_TCP: 'tcp://10.0.0.1:80',
    };
    expect(loadConfig(links).unknownSettings).toEqual([]);
  });

  test.each([
    ['ftp://traces.example.com', 'is not http or https'],
    ['traces', 'is not a URL'],
    ['https://user:hidden@traces.example.com', 'contains a user or password'],
    ['https://traces.example.com?token=hidden', "must not contain '?'"],
  ])('rejects %s for the tracing backend, OTLP and the API itself, and states what to set', (url, why) => {
    for (const name of ['BERTH_TRACING_URL', 'BERTH_OTLP_ENDPOINT', 'BERTH_PUBLIC_URL']) {
      const [problem = '', ...more] = problemsOf({ [name]: url });
      expect(more).toEqual([]);
      expect(problem).toContain(`${name}: ${why}`);
      expect(problem).toContain('next: set it to');
      expect(problem).not.toContain('hidden');
    }
  });

  test('rejects a token that no header can contain, without quoting it', () => {
    const [problem = ''] = problemsOf({ BERTH_TRACING_TOKEN: 'hid den' });
    expect(problem).toContain('BERTH_TRACING_TOKEN: must consist of printable ASCII');
    expect(problem).not.toContain('hid den');
  });

  test('reads encryption keys in their order, and states how to generate one', () => {
    const { encryptionKeys } = loadConfig({ BERTH_ENCRYPTION_KEYS: `new:${KEY}, old:${KEY}` });
    expect(encryptionKeys.map(({ id, key }) => [id, key.length])).toEqual([
      ['new', 32],
      ['old', 32],
    ]);
    expect(problemsOf({ BERTH_ENCRYPTION_KEYS: 'k1:c2hvcnQ=' })[0]).toContain('openssl rand -base64 32');
    expect(problemsOf({ BERTH_ENCRYPTION_KEYS: `k:${KEY},k:${KEY}` })[0]).toContain(
      'the id k is given twice',
    );
    expect(loadConfig({ BERTH_LOST_ENCRYPTION_KEYS: 'a, b' }).lostEncryptionKeys).toEqual(['a', 'b']);
  });

  test('reads rate limits, and rejects an invalid one', () => {
    const defaults = loadConfig({}).rateLimits;
    expect(defaults).toEqual({
      perKey: { perSecond: 500, burst: 5000 },
      failures: { perSecond: 1, burst: 60 },
      webhooks: { perSecond: 10, burst: 300 },
      clusterReads: { perSecond: 10, burst: 100 },
    });
    const cloud = loadConfig({ BERTH_HOSTING: 'cloud' }).rateLimits.perKey;
    expect(cloud?.perSecond).toBeLessThan(defaults.perKey?.perSecond ?? 0);
    expect(loadConfig({ BERTH_HOSTING: 'cloud', BERTH_RATE_LIMIT: 'off' }).rateLimits.perKey).toBeNull();
    const set = loadConfig({
      BERTH_RATE_LIMIT: '0.5:20',
      BERTH_AUTH_FAILURE_LIMIT: 'off',
      BERTH_WEBHOOK_LIMIT: 'off',
      BERTH_CLUSTER_READ_LIMIT: '2:4',
    }).rateLimits;
    expect(set).toEqual({
      perKey: { perSecond: 0.5, burst: 20 },
      failures: null,
      webhooks: null,
      clusterReads: { perSecond: 2, burst: 4 },
    });
    for (const wrong of ['5', '0:5', '0.000:5', '5:0', '-1:5', '5:', 'on', '1e3:5', '5:5:5']) {
      expect(problemsOf({ BERTH_RATE_LIMIT: wrong }), wrong).toEqual([
        expect.stringMatching(/^BERTH_RATE_LIMIT: must/),
      ]);
    }
  });

  test('trusts no proxy unless it is named by address or network', () => {
    expect(loadConfig({}).trustProxy).toEqual([]);
    const named = loadConfig({ BERTH_TRUST_PROXY: '10.0.0.0/8, 192.0.2.1,2001:db8::/32' }).trustProxy;
    expect(named).toEqual(['10.0.0.0/8', '192.0.2.1', '2001:db8::/32']);
    for (const wrong of [
      'true',
      '1',
      '10.0.0.0/33',
      'proxy.example',
      '::/129',
      '10.0.0.0/8/8',
      '10.0.0.0/',
    ]) {
      expect(problemsOf({ BERTH_TRUST_PROXY: wrong }), wrong).toHaveLength(1);
    }
  });

  test('renders restricted and isolated apps in cloud mode', () => {
    const cloud = loadConfig({ BERTH_HOSTING: 'cloud' }).rendering;
    const own = loadConfig({}).rendering;
    expect([cloud.podSecurity, cloud.networkIsolation]).toEqual(['restricted', true]);
    expect([own.podSecurity, own.networkIsolation]).toEqual(['baseline', false]);
  });

  test('reads the ephemeral storage of workloads in normal form, and rejects a request above the limit', () => {
    const storageOf = (request?: string, limit?: string) =>
      loadConfig({
        ...(request === undefined ? {} : { BERTH_EPHEMERAL_STORAGE_REQUEST: request }),
        ...(limit === undefined ? {} : { BERTH_EPHEMERAL_STORAGE_LIMIT: limit }),
      }).rendering.ephemeralStorage;
    expect(storageOf()).toEqual({ request: '64Mi', limit: '50Gi' });
    expect(storageOf('none', '2048Mi')).toEqual({ request: null, limit: '2Gi' });
    expect(storageOf('1Gi', 'none')).toEqual({ request: '1Gi', limit: null });
    expect(problemsOf({ BERTH_EPHEMERAL_STORAGE_REQUEST: '51Gi' })).toEqual([
      expect.stringMatching(/^BERTH_EPHEMERAL_STORAGE_REQUEST: 51Gi is more than .*; next: lower it/),
    ]);
    for (const wrong of ['0', '-1Gi', 'much', '1 Gi']) {
      expect(problemsOf({ BERTH_EPHEMERAL_STORAGE_LIMIT: wrong }), wrong).toHaveLength(1);
    }
  });

  test('rejects a setting that disables network isolation in cloud mode', () => {
    const isolation = { BERTH_NETWORK_ISOLATION: 'false' };
    expect(problemsOf({ BERTH_HOSTING: 'cloud', ...isolation })).toEqual([
      expect.stringMatching(/^BERTH_NETWORK_ISOLATION: must not be false .*; next: unset it$/),
    ]);
    expect(loadConfig(isolation).rendering.networkIsolation).toBe(false);
  });

  test('reads the networks that no app and no build can reach, and rejects an invalid one', () => {
    const { rendering, images } = loadConfig({
      BERTH_CLOSED_NETWORKS: '203.0.113.0/24, 2600:1f00::/24,fd00::/8',
    });
    expect(rendering.closedNetworks).toEqual(['203.0.113.0/24', '2600:1f00::/24', 'fd00::/8']);
    expect(images?.closedNetworks).toEqual(rendering.closedNetworks);
    for (const wrong of [
      '10.0.0.1',
      '10.0.0.0/0',
      '10.0.0.0/33',
      '::/0',
      '::ffff:10.0.0.0/104',
      'pods',
      '1.1.1.0/24/8',
      '52.0.0.7/16',
      '2600::1/64',
      '2600::%eth0/64',
    ])
      expect(problemsOf({ BERTH_CLOSED_NETWORKS: wrong }), wrong).toHaveLength(1);
  });

  test('reads the DNS servers of the operator, and rejects names and invalid ports', () => {
    expect(loadConfig({}).dnsServers).toEqual([]);
    const servers = '10.0.0.10, 10.0.0.11:5353,fd00::10,[fd00::11]:53';
    expect(loadConfig({ BERTH_DNS_SERVERS: servers }).dnsServers).toEqual(servers.split(/, ?/));
    for (const wrong of [
      'dns.example.com',
      '10.0.0.10:0',
      '10.0.0.10:70000',
      '10.0.0.256',
      '[10.0.0.1]:53',
      'fd00::1:x',
    ])
      expect(problemsOf({ BERTH_DNS_SERVERS: wrong }), wrong).toHaveLength(1);
  });

  test('prefers the kubeconfig of the role', () => {
    const config = loadConfig({ KUBECONFIG: '/a', BERTH_OPERATOR_KUBECONFIG: '/b' });
    expect([config.listenerKubeconfig, config.operatorKubeconfig]).toEqual(['/a', '/b']);
  });
});

test('reads the endpoint, headers and sample rate of traces, and shows no header in an error', () => {
  expect(loadConfig({}).traces).toBeNull();
  const environment = {
    BERTH_TRACES_ENDPOINT: 'https://otlp.example/base/',
    BERTH_TRACES_HEADERS: 'authorization=Basic YTpi=, x-team=a',
    BERTH_TRACES_SAMPLE: '0.25',
  };
  expect(loadConfig(environment).traces).toEqual({
    endpoint: 'https://otlp.example/base',
    headers: { authorization: 'Basic YTpi=', 'x-team': 'a' },
    sample: 0.25,
  });
  const [problem, ...more] = problemsOf({ BERTH_TRACES_HEADERS: 'canary-7f3a' });
  expect(problem).toMatch(/^BERTH_TRACES_HEADERS: must be NAME=VALUE/);
  expect(problem).not.toContain('canary-7f3a');
  expect(more).toEqual([]);
  expect(problemsOf({ BERTH_TRACES_SAMPLE: '2' })).toHaveLength(1);
});

/** Values for secrets that must have a certain form. */
const OF_A_FORM: Readonly<Record<string, string>> = {
  BERTH_ENCRYPTION_KEYS: `k:${KEY}`,
  BERTH_TRACES_HEADERS: 'authorization=canary-7f3a',
};

describe('the description of the configuration', () => {
  test('shows every setting and no secret', () => {
    const environment = Object.fromEntries(
      Object.entries(SETTINGS)
        .filter(([, setting]) => 'secret' in setting)
        .map(([name]) => [name, OF_A_FORM[name] ?? 'canary-7f3a']),
    );
    const lines = describeConfig(environment).join('\n');
    expect(lines).not.toContain('canary-7f3a');
    expect(lines).not.toContain(KEY);
    for (const name of Object.keys(SETTINGS)) expect(lines).toContain(name);
  });
});
