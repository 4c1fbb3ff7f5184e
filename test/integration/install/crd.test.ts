import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { managedDeploymentSpecSchema } from '../../../src/contract/resource/managed-deployment.ts';
import { contentHash } from '../../../src/domain/core/hash.ts';
import { waitFor } from '../../cluster/wait.ts';
import { installBerth } from '../../installation/install.ts';
import { createNamespace, deleteNamespace, environment, kubectlAsAdmin } from '../harness/environment.ts';

let namespace: string;
beforeAll(async () => {
  await installBerth(environment());
  namespace = await createNamespace('crd');
});
afterAll(() => deleteNamespace(namespace));

const manifest = (spec: object, name = 'hello') =>
  JSON.stringify({ apiVersion: 'berth.dev/v1alpha1', kind: 'ManagedDeployment', metadata: { name }, spec });
const apply = (spec: object, ...more: string[]) =>
  kubectlAsAdmin(['apply', '-n', namespace, '-f', '-', ...more], manifest(spec));
const dryRun = (spec: object, name = 'hello') =>
  kubectlAsAdmin(
    [
      'apply',
      '-n',
      namespace,
      '--server-side',
      '--force-conflicts',
      '--dry-run=server',
      '-o',
      'json',
      '-f',
      '-',
    ],
    manifest(spec, name),
  );
const minimal = { revision: { image: 'registry.example/web:1' } };
const volume = (name: string, source: object) => ({ podTemplate: { volumes: [{ name, ...source }] } });

describe('the custom resource on a real API server', () => {
  it('is explained by kubectl, field by field', async () => {
    // What the API server has just learned, it publishes a moment later.
    const explain = (path: string, text: string) =>
      waitFor(
        `kubectl explain ${path}`,
        async () => ((await kubectlAsAdmin(['explain', path])).includes(text) ? true : undefined),
        {
          timeoutMs: 60_000,
        },
      );
    await explain('mdep.spec.components.queue', 'Processes queued tasks.');
    await explain('mdep.status.conditions', 'Message with the details.');
  });

  it('requires only an image, and gets the defaults of the schema', async () => {
    const created = JSON.parse(await dryRun(minimal));
    // A default of a renamed field would appear in resources that the previous version stored.
    const { recordGeneration: _, ...parsed } = managedDeploymentSpecSchema.parse(minimal);
    expect(contentHash(created.spec)).toBe(contentHash(parsed));
  });

  it('shows condition, status, reason and revisions in at most six columns of kubectl get', async () => {
    await apply(minimal);
    const status = {
      observedGeneration: 1,
      observedRecordGeneration: 0,
      deploymentStatus: 'READY',
      activeRevision: { number: 1, templates: 'hello-1' },
      url: 'https://hello.example',
      conditions: ['Ready', 'Serving'].map((type) => ({
        type,
        status: 'True',
        reason: 'Converged',
        message: 'm',
        lastTransitionTime: new Date().toISOString(),
      })),
    };
    await kubectlAsAdmin([
      'patch',
      'mdep',
      'hello',
      '-n',
      namespace,
      '--subresource=status',
      '--type=merge',
      '-p',
      JSON.stringify({ status }),
    ]);
    const table = await kubectlAsAdmin(['get', 'mdep', '-n', namespace]);
    // Scripts split the rows at spaces.
    expect(table.split('\n').map((line) => line.split(/\s+/))).toEqual([
      ['NAME', 'READY', 'STATUS', 'REASON', 'REVISION', 'ACTIVE', 'AGE'],
      ['hello', 'True', 'READY', 'Converged', '1', '1', expect.stringMatching(/^\d+s$/)],
      [''],
    ]);
    await kubectlAsAdmin(['wait', '-n', namespace, '--for=condition=Ready', 'mdep/hello', '--timeout=5s']);
    expect(await kubectlAsAdmin(['get', 'all', '-n', namespace])).toContain(
      'manageddeployment.berth.dev/hello',
    );
  });

  const REFUSED: [string, object, string][] = [
    [
      'a min above the max',
      { ...minimal, components: { api: { scale: { min: 5, max: 2 } } } },
      'min must not be more than max',
    ],
    ['an image with a blank', { revision: { image: 'x y' } }, 'spec.revision.image'],
    ['an unknown field', { ...minimal, nonsense: 1 }, 'nonsense'],
    ['a hostPath volume', { ...minimal, ...volume('a', { hostPath: { path: '/' } }) }, 'hostPath'],
    [
      'a volume with two sources',
      { ...minimal, ...volume('a', { secret: {}, emptyDir: {} }) },
      'at most one source',
    ],
    [
      'a sidecar named app',
      { ...minimal, podTemplate: { sidecars: [{ name: 'app', image: 'x' }] } },
      'container',
    ],
    ['an empty image', { revision: { image: '' } }, 'spec.revision.image'],
    ['an unknown source', { ...minimal, source: 'tape' }, 'spec.source'],
    [
      'storage that is not a quantity',
      { ...minimal, database: { storage: 'much' } },
      'must be a Kubernetes quantity',
    ],
    ['storage of 0', { ...minimal, database: { storage: '0' } }, 'must be more than 0'],
    [
      'a negative request',
      { ...minimal, cache: { resources: { requests: { cpu: '-1' } } } },
      'must be a Kubernetes quantity',
    ],
    [
      'a limit of 0',
      { ...minimal, components: { api: { resources: { limits: { cpu: '0m' } } } } },
      'must be more than 0',
    ],
    [
      'a limit of 0 for a sidecar',
      {
        ...minimal,
        podTemplate: { sidecars: [{ name: 'a', image: 'x', resources: { limits: { memory: '-0' } } }] },
      },
      'must be more than 0',
    ],
    [
      'a sizeLimit of 0',
      { ...minimal, ...volume('a', { emptyDir: { sizeLimit: '0Mi' } }) },
      'must be more than 0',
    ],
    ['an image id', { revision: { image: 'sha256:3f' } }, 'must be an image reference'],
    ['an image id without a prefix', { revision: { image: '3f'.repeat(32) } }, 'must be an image reference'],
    [
      'an image id for the database',
      { ...minimal, database: { image: 'sha256:3f' } },
      'must be an image reference',
    ],
    [
      'an image id for a sidecar',
      { ...minimal, podTemplate: { sidecars: [{ name: 'a', image: 'sha256:3f' }] } },
      'must be an image reference',
    ],
    ['too many pods', { ...minimal, components: { api: { scale: { min: 1, max: 5000 } } } }, 'scale.max'],
    [
      'too many sidecars',
      { ...minimal, podTemplate: { sidecars: Array(21).fill({ name: 'a', image: 'x' }) } },
      'sidecars',
    ],
    ['an empty spec', {}, 'spec.revision'],
  ];
  it('accepts components without api', async () => {
    await expect(dryRun({ ...minimal, components: { queue: {} } }, 'other')).resolves.toContain('other');
  });

  it.each(REFUSED)('rejects %s', async (_name, spec, message) => {
    await expect(dryRun(spec, 'other')).rejects.toThrow(message);
  });

  it.each(['Upper', '1digit', 'dotted.name', `a${'b'.repeat(49)}`])('rejects the name %s', async (name) => {
    await expect(dryRun(minimal, name)).rejects.toThrow(/metadata.name|a lowercase RFC 1123/);
  });

  it.each([
    ['source', { source: 'internal_image' }],
    ['deploymentId', { deploymentId: 'b' }],
    ['tenantId', { tenantId: 'b' }],
  ])('rejects a change of %s', async (field, change) => {
    const recorded = { ...minimal, deploymentId: 'a', tenantId: 'a' };
    await kubectlAsAdmin(['apply', '-n', namespace, '-f', '-'], manifest(recorded, 'recorded'));
    await expect(dryRun({ ...recorded, ...change }, 'recorded')).rejects.toThrow(
      `${field} cannot be changed`,
    );
  });

  it('rejects a deploymentId that is added to a resource created without one', async () => {
    await apply(minimal);
    await expect(dryRun({ ...minimal, deploymentId: 'a' })).rejects.toThrow('deploymentId cannot be changed');
  });

  it('rejects smaller storage, but accepts it with a deploymentId, because then the API decides about it', async () => {
    const spec = (storage: string, more: object = {}, name = 'data') =>
      manifest({ ...minimal, database: { storage }, ...more }, name);
    const run = (text: string) => kubectlAsAdmin(['apply', '-n', namespace, '-f', '-'], text);
    await run(spec('5Gi'));
    await run(spec('6Gi'));
    await expect(run(spec('5Gi'))).rejects.toThrow('never shrink');
    await run(spec('6Gi', { deploymentId: 'a' }, 'recorded-data'));
    await run(spec('5Gi', { deploymentId: 'a' }, 'recorded-data'));
  });

  it('can be read with the role view of a namespace, and written with the roles edit and admin', async () => {
    const roles = ['view', 'edit', 'admin'];
    for (const role of roles) {
      const binding = [`--clusterrole=${role}`, `--user=${role}-of-${namespace}`];
      await kubectlAsAdmin(['create', 'rolebinding', role, '-n', namespace, ...binding]);
    }
    const can = async (role: string, verb: string, ...more: string[]) => {
      const asked = ['auth', 'can-i', verb, 'mdep', '-n', namespace, `--as=${role}-of-${namespace}`, ...more];
      return (await kubectlAsAdmin(asked).catch(() => 'no')).trim() === 'yes';
    };
    // The controller manager adds the rights to the roles a moment later.
    const timeout = { timeoutMs: 60_000 };
    for (const role of roles) await waitFor(`${role} to read`, () => can(role, 'list'), timeout);
    for (const role of ['edit', 'admin'])
      await waitFor(`${role} to write`, () => can(role, 'create'), timeout);
    const verbs = ['watch', 'create', 'update', 'patch', 'delete'];
    const granted = await Promise.all(
      roles.map(async (role) => [role, await Promise.all(verbs.map((verb) => can(role, verb)))]),
    );
    expect(granted).toEqual([
      ['view', [true, false, false, false, false]],
      ['edit', [true, true, true, true, true]],
      ['admin', [true, true, true, true, true]],
    ]);
    for (const role of roles) expect(await can(role, 'update', '--subresource=status')).toBe(false);
  });
});
