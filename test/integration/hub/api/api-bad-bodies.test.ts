/** Bodies that are wrong in one way each: refused with the field named, and nothing is written. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type ApiFixture, type Client, create, createBody, type Issue, startApi } from '../../harness/api.ts';

type Path = (string | number)[];

/** A wrong body: the status and the field that the refusal names, below `body`. */
interface BadBody {
  readonly what: string;
  readonly status: 400 | 422;
  readonly loc: Path;
  readonly body: unknown;
}

const MiB = 1024 * 1024;

const bad = (what: string, status: 400 | 422, loc: Path, body: unknown): BadBody => ({
  what,
  status,
  loc,
  body,
});

const top = (what: string, status: 400 | 422, loc: Path, more: Record<string, unknown>) =>
  bad(what, status, loc, createBody(more));

const config = (what: string, status: 400 | 422, field: Path, source_config: Record<string, unknown>) =>
  top(what, status, ['source_config', ...field], { source_config });

const spec = (what: string, status: 400 | 422, field: Path, resource_spec: unknown) =>
  config(what, status, ['resource_spec', ...field], { resource_spec });

const revision = (what: string, status: 400 | 422, field: Path, source_revision_config: unknown) =>
  top(what, status, ['source_revision_config', ...field], { source_revision_config });

const secrets = (what: string, status: 400 | 422, field: Path, list: unknown) =>
  top(what, status, ['secrets', ...field], { secrets: list });

const without = (field: string) => {
  const { [field]: _, ...rest } = createBody() as Record<string, unknown>;
  return rest;
};

const image = { image_uri: 'registry.example.com/shop/web:1' };
const container = { name: 'helper', image: 'busybox:1' };
const sidecar = (more: object) => ({ sidecars: [{ ...container, ...more }] });
const volume = (more: object) => ({ volumes: [{ name: 'v', ...more }] });
const mount = { name: 'v', mountPath: '/v' };
const nested = (depth: number): unknown => JSON.parse(`${'{"a":'.repeat(depth)}1${'}'.repeat(depth)}`);

const BAD_BODIES: readonly BadBody[] = [
  bad('no body', 422, [], null),
  bad('a list', 422, [], []),
  bad('a string', 422, [], 'deployment'),
  ...['name', 'source', 'source_config', 'source_revision_config', 'secrets'].map((field) =>
    bad(`without ${field}`, 422, [field], without(field)),
  ),
  top('null for a required object', 422, ['source_config'], { source_config: null }),
  top('an unknown field', 422, ['replicas'], { replicas: 3 }),
  top('a read-only field', 422, ['status'], { status: 'READY' }),
  config('an unknown field of source_config', 422, ['cpu'], { cpu: 1 }),
  spec('an unknown field of resource_spec', 422, ['hostNetwork'], { hostNetwork: true }),
  spec('tolerations', 422, ['tolerations'], { tolerations: [] }),

  top('an empty name', 422, ['name'], { name: '' }),
  top('a blank name', 422, ['name'], { name: '   ' }),
  top('a name of 129 characters', 422, ['name'], { name: 'a'.repeat(129) }),
  top('a name with a line feed', 422, ['name'], { name: 'a\nb' }),
  top('a name with NUL', 422, ['name'], { name: 'a\u0000b' }),
  top('a name with a direction override', 422, ['name'], { name: 'a\u202eb' }),
  top('an invisible name', 422, ['name'], { name: '\u200b\u200b' }),
  top('a name that ends with an invisible character', 422, ['name'], { name: 'shop\u200b' }),
  top('a name that is a number', 422, ['name'], { name: 7 }),
  top('half a surrogate pair', 422, ['name'], { name: 'a\ud800' }),
  top('an unknown source', 422, ['source'], { source: 'ftp' }),
  top('git_host where hosting is self_hosted', 400, ['source'], {
    source: 'git_host',
    source_config: { repo_url: 'https://git.example.com/a/b' },
    source_revision_config: { workflow_config_path: 'app.yaml' },
  }),

  config('an integration_id that is no UUID', 422, ['integration_id'], { integration_id: 'x' }),
  config('an integration_id for an image', 400, ['integration_id'], {
    integration_id: '01890000-0000-7000-8000-000000000000',
  }),
  config('a repo_url for an image', 400, ['repo_url'], { repo_url: 'https://git.example.com/a/b' }),
  config('a repo_url over http', 422, ['repo_url'], { repo_url: 'http://git.example.com/a/b' }),
  config('a repo_url over ssh', 422, ['repo_url'], { repo_url: 'git@git.example.com:a/b' }),
  config('a repo_url on a private address', 422, ['repo_url'], { repo_url: 'https://169.254.169.254/a' }),
  config('a repo_url on a private address in disguise', 422, ['repo_url'], { repo_url: 'https://0x7f.1/a' }),
  config('a repo_url with a password', 422, ['repo_url'], { repo_url: 'https://u:p@git.example.com/a' }),
  config('build_on_push for an image', 400, ['build_on_push'], { build_on_push: true }),
  config('build_on_push as a string', 422, ['build_on_push'], { build_on_push: 'yes' }),
  config('an install_command for an image', 400, ['install_command'], { install_command: 'npm ci' }),
  config('a build_command for an image', 400, ['build_command'], { build_command: 'make' }),
  config('an unknown deployment_type', 422, ['deployment_type'], { deployment_type: 'huge' }),
  config('a custom_url over http', 422, ['custom_url'], { custom_url: 'http://shop.example.com' }),
  config('a custom_url without host', 422, ['custom_url'], { custom_url: 'https://' }),
  config('a custom_url on an address', 422, ['custom_url'], { custom_url: 'https://192.0.2.1' }),
  config('a custom_url on localhost', 422, ['custom_url'], { custom_url: 'https://localhost' }),
  config('a custom_url in the cluster', 422, ['custom_url'], { custom_url: 'https://web.default.svc' }),
  config('a custom_url for all of a domain', 422, ['custom_url'], { custom_url: 'https://*.example.com' }),
  config('a custom_url with a query', 422, ['custom_url'], { custom_url: 'https://shop.example.com/?a=1' }),
  config("the platform's own host", 400, ['custom_url'], { custom_url: 'https://berth.example.com' }),
  config('a listener that does not exist', 400, ['listener_id'], {
    listener_id: '01890000-0000-7000-8000-000000000000',
  }),
  config('a namespace that is no DNS label', 422, ['listener_config', 'cluster_namespace'], {
    listener_config: { cluster_namespace: 'Apps' },
  }),
  config('a namespace of the system', 400, ['listener_config', 'cluster_namespace'], {
    listener_config: { cluster_namespace: 'kube-system' },
  }),
  config('an unknown field of listener_config', 422, ['listener_config', 'namespace'], {
    listener_config: { namespace: 'apps' },
  }),

  revision('no image', 400, ['image_uri'], {}),
  revision('a null image', 400, ['image_uri'], { image_uri: null }),
  revision('an empty image', 422, ['image_uri'], { image_uri: '' }),
  revision('an image with capitals', 422, ['image_uri'], { image_uri: 'registry.example.com/Shop:1' }),
  revision('an image with a scheme', 422, ['image_uri'], { image_uri: 'docker://registry.example.com/shop' }),
  revision('an image with a short digest', 422, ['image_uri'], { image_uri: 'shop@sha256:abc' }),
  revision('an image with a blank', 422, ['image_uri'], { image_uri: 'shop web' }),
  revision('a repo_ref for an image', 400, ['repo_ref'], { ...image, repo_ref: 'main' }),
  revision('a repo_ref that reads as an option', 422, ['repo_ref'], {
    ...image,
    repo_ref: '--upload-pack=x',
  }),
  revision('a workflow_config_path for an image', 400, ['workflow_config_path'], {
    ...image,
    workflow_config_path: 'app.yaml',
  }),
  revision('a workflow_config_path that climbs', 422, ['workflow_config_path'], {
    ...image,
    workflow_config_path: '../../../app.yaml',
  }),
  revision('a commit', 422, ['repo_commit_sha'], { ...image, repo_commit_sha: 'abc' }),

  secrets('secrets as a map', 422, [], { TOKEN: 'x' }),
  secrets('a secret without value', 422, [0, 'value'], [{ name: 'TOKEN' }]),
  secrets('a secret with a null value', 422, [0, 'value'], [{ name: 'TOKEN', value: null }]),
  secrets('a secret without name', 422, [0, 'name'], [{ value: 'x' }]),
  secrets(
    'a secret twice',
    422,
    [1, 'name'],
    [
      { name: 'TOKEN', value: 'a' },
      { name: 'TOKEN', value: 'b' },
    ],
  ),
  secrets('a secret that Berth sets', 422, [0, 'name'], [{ name: 'DATABASE_URI', value: 'x' }]),
  secrets('a secret with = in its name', 422, [0, 'name'], [{ name: 'A=B', value: 'x' }]),
  secrets('a secret with a digit in front', 422, [0, 'name'], [{ name: '1A', value: 'x' }]),
  secrets('a secret named __proto__', 422, [0, 'name'], [{ name: '__proto__', value: 'x' }]),
  secrets('a secret with NUL', 422, [0, 'value'], [{ name: 'A', value: 'x\u0000' }]),
  secrets('a secret of 200 KB', 422, [0, 'value'], [{ name: 'A', value: 'x'.repeat(200_000) }]),
  secrets('the mask', 400, [0, 'value'], [{ name: 'A', value: '**********' }]),
  secrets(
    '1001 secrets',
    422,
    [],
    [...Array(1001).keys()].map((n) => ({ name: `A${n}`, value: '' })),
  ),

  spec('resource_spec as a list', 422, [], []),
  spec('a negative scale', 422, ['min_scale'], { min_scale: -1 }),
  spec('half a pod', 422, ['max_scale'], { max_scale: 1.5 }),
  spec('a huge scale', 422, ['max_scale'], { max_scale: 1e9 }),
  spec('a scale beyond all numbers', 422, ['max_scale'], { max_scale: Number.MAX_VALUE }),
  bad(
    'a number beyond a double',
    422,
    ['source_config', 'resource_spec', 'max_scale'],
    JSON.stringify(createBody({ source_config: { resource_spec: { max_scale: 0 } } })).replace(
      '"max_scale":0',
      '"max_scale":1e400',
    ),
  ),
  bad(
    'an integer of 400 digits',
    422,
    ['source_config', 'resource_spec', 'memory_mb'],
    JSON.stringify(createBody({ source_config: { resource_spec: { memory_mb: 0 } } })).replace(
      '"memory_mb":0',
      `"memory_mb":${'9'.repeat(400)}`,
    ),
  ),
  spec('an integer that a double cannot hold', 422, ['memory_mb'], { memory_mb: 2 ** 53 }),
  spec('a fraction that is hardly one', 422, ['memory_mb'], { memory_mb: 512.0000001 }),
  spec('min above max', 400, ['min_scale'], { min_scale: 3, max_scale: 2 }),
  spec('cpu 0', 422, ['cpu'], { cpu: 0 }),
  spec('cpu as text', 422, ['cpu'], { cpu: '250m' }),
  spec('cpu finer than 0.001', 422, ['cpu'], { cpu: 0.0001 }),
  spec('cpu above its limit', 400, ['cpu'], { cpu: 2, cpu_limit: 1 }),
  spec('a fraction of a database core', 422, ['db_cpu'], { db_cpu: 0.5 }),
  spec('memory above its limit', 400, ['memory_mb'], { memory_mb: 2, memory_limit_mb: 1 }),
  spec('too few connections', 400, ['db_max_connections'], { max_scale: 100, db_max_connections: 20 }),
  spec('a label of Berth', 422, ['labels', 'berth.dev/x'], { labels: { 'berth.dev/x': 'y' } }),
  spec('a label that selects', 422, ['labels', 'app.kubernetes.io/name'], {
    labels: { 'app.kubernetes.io/name': 'y' },
  }),
  spec('a label with a bad value', 422, ['labels', 'team'], { labels: { team: 'a b' } }),
  spec('an annotation with a bad key', 422, ['annotations', 'a b'], { annotations: { 'a b': 'c' } }),
  spec('a ServiceAccount that is no name', 422, ['service_account_name'], { service_account_name: 'A' }),
  spec("Berth's ServiceAccount", 400, ['service_account_name'], { service_account_name: 'berth-operator' }),
  spec('a pull secret without name', 422, ['image_pull_secrets', 0, 'name'], { image_pull_secrets: [{}] }),
  spec('hostPath', 422, ['volumes', 0, 'hostPath'], volume({ hostPath: { path: '/' } })),
  spec(
    'two sources of a volume',
    422,
    ['volumes', 0, 'emptyDir'],
    volume({ configMap: { name: 'a' }, emptyDir: {} }),
  ),
  spec(
    'an unknown field of a volume source',
    422,
    ['volumes', 0, 'emptyDir', 'size'],
    volume({ emptyDir: { size: 1 } }),
  ),
  spec('a volume twice', 422, ['volumes', 1, 'name'], { volumes: [{ name: 'v' }, { name: 'v' }] }),
  spec('a mount of no volume', 400, ['volume_mounts', 0, 'name'], { volume_mounts: [mount] }),
  spec('a subPath that climbs', 422, ['volume_mounts', 0, 'subPath'], {
    volumes: [{ name: 'v' }],
    volume_mounts: [{ ...mount, subPath: '../../../etc' }],
  }),
  spec('a token for the API server', 400, ['volumes', 0, 'projected', 'sources', 0, 'serviceAccountToken'], {
    ...volume({ projected: { sources: [{ serviceAccountToken: { path: 'token' } }] } }),
  }),
  spec("another deployment's credentials", 400, ['volumes', 0, 'secret', 'secretName'], {
    ...volume({ secret: { secretName: 'shop-0a1b2c3d-db' } }),
  }),
  spec("another deployment's environment", 400, ['sidecars', 0, 'envFrom', 0, 'secretRef', 'name'], {
    ...sidecar({ envFrom: [{ secretRef: { name: 'shop-0a1b2c3d-env-3' } }] }),
  }),
  spec("a database's volume", 400, ['volumes', 0, 'persistentVolumeClaim', 'claimName'], {
    ...volume({ persistentVolumeClaim: { claimName: 'shop-0a1b2c3d-db' } }),
  }),
  spec('a container named app', 422, ['sidecars', 0, 'name'], sidecar({ name: 'app' })),
  spec('a container without image', 422, ['sidecars', 0, 'image'], { sidecars: [{ name: 'a' }] }),
  spec('a host port', 422, ['sidecars', 0, 'ports'], sidecar({ ports: [{ hostPort: 80 }] })),
  spec('a privileged container', 400, ['sidecars', 0, 'securityContext', 'privileged'], {
    ...sidecar({ securityContext: { privileged: true } }),
  }),
  spec('a capability beyond baseline', 400, ['sidecars', 0, 'securityContext', 'capabilities', 'add', 0], {
    ...sidecar({ securityContext: { capabilities: { add: ['SYS_ADMIN'] } } }),
  }),
  spec('an unknown field of securityContext', 422, ['sidecars', 0, 'securityContext', 'windowsOptions'], {
    ...sidecar({ securityContext: { windowsOptions: {} } }),
  }),
  spec(
    'an unknown restartPolicy',
    422,
    ['sidecars', 0, 'restartPolicy'],
    sidecar({ restartPolicy: 'Maybe' }),
  ),
  spec('limits that are no quantity', 422, ['sidecars', 0, 'resources', 'limits', 'cpu'], {
    ...sidecar({ resources: { limits: { cpu: 'much' } } }),
  }),
  spec('the same container in both lists', 400, ['sidecars', 0, 'name'], {
    ...sidecar({}),
    init_containers: [container],
  }),
  spec('deep nesting', 422, ['labels'], { labels: nested(100) }),
  bad(
    'a __proto__ key',
    422,
    ['__proto__'],
    `{"__proto__": {"admin": true}, ${JSON.stringify(createBody()).slice(1)}`,
  ),
  bad('a name twice', 422, ['name'], `{"name":"other",${JSON.stringify(createBody()).slice(1)}`),
  bad(
    'a name twice, once with an escape',
    422,
    ['name'],
    `{"n\\u0061me":"other",${JSON.stringify(createBody()).slice(1)}`,
  ),
  bad(
    'secrets twice',
    422,
    ['secrets'],
    `{"secrets":[{"name":"A","value":"1"}],${JSON.stringify(createBody()).slice(1)}`,
  ),
  bad(
    'a field of a secret twice',
    422,
    ['secrets', 1, 'value'],
    JSON.stringify(createBody()).replace(
      '"secrets":[]',
      '"secrets":[{"name":"A","value":"1"},{"name":"B","value":"2","value":"3"}]',
    ),
  ),
  bad('a constructor key', 422, ['source_config', 'constructor'], {
    ...createBody(),
    source_config: JSON.parse('{"constructor": {"prototype": {"admin": true}}}'),
  }),
  bad(
    'a __proto__ label',
    422,
    ['source_config', 'resource_spec', 'labels', '__proto__'],
    JSON.stringify(createBody({ source_config: { resource_spec: { labels: {} } } })).replace(
      '"labels":{}',
      '"labels":{"__proto__":"x"}',
    ),
  ),
];

/** Whether `loc` is the named field, or lies in a value of it. */
const names = (issues: readonly Issue[], loc: Path) =>
  issues.some(
    (issue) => JSON.stringify(issue.loc.slice(0, loc.length + 1)) === JSON.stringify(['body', ...loc]),
  );

describe('the validation of bodies', () => {
  let api: ApiFixture;
  let client: Client;
  let existing: string;
  let before: Record<string, number>;
  beforeAll(async () => {
    api = await startApi();
    client = await api.tenant();
    existing = (await create(client)).id;
    before = await api.rowCounts();
  });
  afterAll(() => api.stop());

  test('is tested with at least 60 different invalid bodies', () => {
    expect(BAD_BODIES.length).toBeGreaterThanOrEqual(60);
    expect(new Set(BAD_BODIES.map(({ what }) => what)).size).toBe(BAD_BODIES.length);
  });

  test.each(BAD_BODIES)('returns $status at $loc from POST: $what', async ({ status, loc, body }) => {
    const answer = await client.call<{ detail: Issue[] }>('POST', '/v2/deployments', body ?? 'null');
    expect(answer.status, JSON.stringify(answer.body)).toBe(status);
    expect(names(answer.body.detail, loc), JSON.stringify(answer.body.detail)).toBe(true);
    expect(await api.rowCounts()).toEqual(before);
  });

  test('returns the same status from a dry run', async () => {
    for (const { what, status, body } of BAD_BODIES) {
      const answer = await client.call('POST', '/v2/deployments?dry_run=true', body ?? 'null');
      expect(answer.status, what).toBe(status);
    }
    expect(await api.rowCounts()).toEqual(before);
  });

  test('rejects the same source_config, source_revision_config and secrets in PATCH', async () => {
    for (const { what, status, loc, body } of BAD_BODIES) {
      const [part = ''] = loc;
      const sent = (body ?? {}) as Record<string, unknown>;
      const missing = sent[String(part)] == null || loc.length === 1;
      if (typeof body !== 'object' || missing || !String(part).startsWith('s') || what === 'no image')
        continue;
      // Where it runs cannot be changed at all, so that any other value is a 400.
      const answer = await client.call<{ detail: Issue[] }>('PATCH', `/v2/deployments/${existing}`, {
        [part]: sent[String(part)],
      });
      expect(answer.status, `${what}: ${JSON.stringify(answer.body)}`).toBe(status);
      expect(names(answer.body.detail, loc), `${what}: ${JSON.stringify(answer.body)}`).toBe(true);
    }
    expect(await api.rowCounts()).toEqual(before);
  });

  test.each([
    ['text that is no JSON', '{"name": ', 422],
    ['empty', '', 422],
    ['larger than 1 MiB', JSON.stringify(createBody({ name: 'x'.repeat(MiB) })), 413],
    ['nested 500,000 levels deep', `${'['.repeat(500_000)}${']'.repeat(500_000)}`, 422],
  ])('returns a short error, and nothing is written, for a body that is %s', async (_what, body, status) => {
    const answer = await client.call('POST', '/v2/deployments', body, { 'content-type': 'application/json' });
    expect(answer.status).toBe(status);
    expect(JSON.stringify(answer.body).length).toBeLessThan(2000);
    expect(await api.rowCounts()).toEqual(before);
  });

  test.each([
    ['text/plain', 415],
    ['application/x-www-form-urlencoded', 415],
    ['application/merge-patch+json', 415],
    ['application/json; charset=latin1', 415],
    ['application/json; charset="utf-16"', 415],
    [undefined, 415],
  ])('returns 415 for the content type %s', async (type, status) => {
    const response = await api.app.inject({
      method: 'POST',
      url: '/v2/deployments',
      headers: { 'x-api-key': client.key, ...(type === undefined ? {} : { 'content-type': type }) },
      payload: JSON.stringify(createBody()),
    });
    expect(response.statusCode).toBe(status);
    expect(response.json()).toEqual({ detail: expect.any(String) });
  });

  test.each(['application/json; charset=utf-8', 'application/json;charset="UTF-8"'])(
    'accepts the content type %s',
    async (type) => {
      const body = JSON.stringify(createBody());
      const answer = await client.call('POST', '/v2/deployments?dry_run=true', body, {
        'content-type': type,
      });
      expect(answer.status).toBe(200);
    },
  );

  test('returns 415 for a compressed body', async () => {
    const headers = { 'content-encoding': 'gzip' };
    expect((await client.call('POST', '/v2/deployments', createBody(), headers)).status).toBe(415);
  });

  test('neither returns nor logs an invalid value', async () => {
    const secret = 'canary-5f1c9d';
    const answers = await Promise.all([
      client.call('POST', '/v2/deployments', createBody({ secrets: [{ name: 'A=', value: secret }] })),
      client.call('POST', '/v2/deployments', createBody({ secrets: [{ name: 'A', value: [secret] }] })),
      client.call('POST', '/v2/deployments', createBody({ secrets: secret })),
      client.call('POST', '/v2/deployments', `{"secrets": "${secret}`),
    ]);
    for (const { status, body } of answers) {
      expect(status).toBe(422);
      expect(JSON.stringify(body)).not.toContain(secret);
    }
    expect(JSON.stringify(api.store.logger.lines)).not.toContain(secret);
  });
});
