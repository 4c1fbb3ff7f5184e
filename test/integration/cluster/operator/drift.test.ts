/** Drift is repaired, foreign fields are kept, and an unchanged deployment costs no request at the API server. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { waitFor } from '../../../cluster/wait.ts';
import { auditedSince, auditedUntilNow } from '../../harness/audit.ts';
import { type KubeItem, smallDeployment, startWholeBerth, type WholeBerth } from '../../harness/berth.ts';
import { createNamespace, deleteNamespace, kubectlAsAdmin } from '../../harness/environment.ts';

let berth: WholeBerth;
let id: string;
let app: string;
let elsewhere: string;
beforeAll(async () => {
  elsewhere = await createNamespace('drift-else');
  berth = await startWholeBerth('drift', { moreNamespaces: [elsewhere] });
  const created = await berth.create(
    smallDeployment('drifting', {
      source_config: { resource_spec: { min_scale: 2, max_scale: 4, queue_cpu: 0.1 } },
    }),
  );
  id = created.id;
  app = `drifting-${id.replaceAll('-', '').slice(-8)}`;
  await berth.ready(id);
});
afterAll(async () => {
  await berth?.stop();
  await deleteNamespace(elsewhere);
});

const one = (kind: string, name: string) => berth.get<KubeItem>(kind, name);

describe('an object that is lost or changed in the cluster', () => {
  it.each([
    ['deployment', '-queue'],
    ['service', ''],
    ['hpa', '-api'],
    ['pdb', '-api'],
    ['statefulset', '-db'],
    ['networkpolicy', '-db'],
    ['serviceaccount', ''],
  ])('is created again when a %s is deleted', async (kind, suffix) => {
    const name = `${app}${suffix}`;
    const { metadata } = await one(kind, name);
    await kubectlAsAdmin(['delete', kind, name, '-n', berth.namespace, '--wait=false']);
    const again = await waitFor(
      `another ${kind} ${name}`,
      async () => {
        const [found] = (await berth.get(kind, `--field-selector=metadata.name=${name}`)).items;
        return found && found.metadata.uid !== metadata.uid ? found : undefined;
      },
      { timeoutMs: 30_000 },
    );
    expect(again.metadata.labels?.['berth.dev/deployment-id']).toBe(id);
    await berth.ready(id);
  });

  it('gets back an edited field, and keeps a foreign label', async () => {
    await kubectlAsAdmin(['label', 'service', app, '-n', berth.namespace, 'example.com/owner=me']);
    await kubectlAsAdmin([
      'patch',
      'service',
      app,
      '-n',
      berth.namespace,
      '--type=json',
      '-p',
      '[{"op":"replace","path":"/spec/ports/0/port","value":81}]',
    ]);
    const service = await waitFor(
      'port 80 again',
      async () => {
        const found = await one('service', app);
        return (found.spec['ports'] as { port: number }[])[0]?.port === 80 ? found : undefined;
      },
      { timeoutMs: 30_000 },
    );
    expect(service.metadata.labels?.['example.com/owner']).toBe('me');
  });

  it('loses a key that a user adds to its selector, which would cut the traffic', async () => {
    const selector = async () => (await one('service', app)).spec['selector'];
    const before = await selector();
    await kubectlAsAdmin([
      'patch',
      'service',
      app,
      '-n',
      berth.namespace,
      '--type=merge',
      '-p',
      '{"spec":{"selector":{"x":"y"}}}',
    ]);
    await waitFor(
      'the selector as it was',
      async () => JSON.stringify(await selector()) === JSON.stringify(before),
      {
        timeoutMs: 30_000,
      },
    );
  });

  it.each([
    ['statefulset', '-db', 'docker.io/library/postgres:13'],
    ['deployment', '-cache', 'docker.io/library/redis:3'],
  ])('gets its image back when kubectl changes it (%s %s)', async (kind, suffix, image) => {
    const name = `${app}${suffix}`;
    const images = async () =>
      JSON.stringify((await one(kind, name)).spec['template']).match(/"image":"[^"]+"/g);
    const before = await images();
    await kubectlAsAdmin(['set', 'image', `${kind}/${name}`, `*=${image}`, '-n', berth.namespace]);
    await waitFor(
      'the image as it was',
      async () => JSON.stringify(await images()) === JSON.stringify(before),
      {
        timeoutMs: 30_000,
      },
    );
    await berth.ready(id);
  });

  it('gets back the image of a component that kubectl changed', async () => {
    await kubectlAsAdmin([
      'set',
      'image',
      `deployment/${app}-api`,
      'app=registry.example/other:1',
      '-n',
      berth.namespace,
    ]);
    await waitFor(
      'the image of the revision',
      async () =>
        JSON.stringify((await one('deployment', `${app}-api`)).spec).includes(
          'registry.example/shop/web:1.0.0',
        ),
      { timeoutMs: 30_000 },
    );
    await berth.ready(id);
  });

  const podsOf = (fields: object, container: object) => ({
    spec: { template: { spec: { ...fields, containers: [container] } } },
  });
  it.each<[kind: string, suffix: string, patch: object, edited: string, added: string]>([
    [
      'deployment',
      '-api',
      podsOf({ hostNetwork: true }, { name: 'app', image: 'registry.example/other:1' }),
      'registry.example/other:1',
      '"hostNetwork":true',
    ],
    [
      'statefulset',
      '-db',
      podsOf({ hostPID: true }, { name: 'database', image: 'postgres:13' }),
      '"postgres:13"',
      '"hostPID":true',
    ],
    [
      'service',
      '',
      { spec: { externalIPs: ['203.0.113.7'], sessionAffinity: 'ClientIP', ports: [{ port: 81 }] } },
      '"port":81',
      '"externalIPs":["203.0.113.7"]',
    ],
  ])('corrects the %s%s, and keeps what its editor adds', async (kind, suffix, patch, edited, added) => {
    const name = `${app}${suffix}`;
    const spec = async () => JSON.stringify((await one(kind, name)).spec);
    const type = kind === 'service' ? 'merge' : 'strategic';
    const args = ['patch', kind, name, '-n', berth.namespace, `--type=${type}`, '-p', JSON.stringify(patch)];
    await kubectlAsAdmin(args);
    await waitFor('the edit to be corrected', async () => !(await spec()).includes(edited), {
      timeoutMs: 30_000,
    });
    await berth.ready(id);
    expect(await spec()).toContain(added);
  });

  it('reverts the type of its Service, and removes the source ranges that are valid for the other type only', async () => {
    const spec = { type: 'LoadBalancer', loadBalancerSourceRanges: ['10.0.0.0/8'] };
    const args = [
      'patch',
      'service',
      app,
      '-n',
      berth.namespace,
      '--type=merge',
      '-p',
      JSON.stringify({ spec }),
    ];
    await kubectlAsAdmin(args);
    await waitFor(
      'the former type',
      async () => {
        const now = JSON.stringify((await one('service', app)).spec);
        return now.includes('"type":"ClusterIP"') && !now.includes('loadBalancerSourceRanges');
      },
      { timeoutMs: 30_000 },
    );
    await berth.ready(id);
  });

  it('keeps the replicas that the autoscaler sets', async () => {
    await kubectlAsAdmin(['scale', `deployment/${app}-api`, '--replicas=3', '-n', berth.namespace]);
    await kubectlAsAdmin(['annotate', 'mdep', app, '-n', berth.namespace, `example.com/look=${Date.now()}`]);
    await kubectlAsAdmin(['delete', 'pdb', `${app}-api`, '-n', berth.namespace]);
    await waitFor('the disruption budget to return', () => one('pdb', `${app}-api`), { timeoutMs: 30_000 });
    expect((await one('deployment', `${app}-api`)).spec['replicas']).toBe(3);
  });

  it('gets back labels of the custom resource that kubectl changed', async () => {
    const change = ['berth.dev/deployment-id-', 'berth.dev/tenant-id=somebody', 'example.com/mine=yes'];
    await kubectlAsAdmin(['label', '--overwrite', 'mdep', app, '-n', berth.namespace, ...change]);
    const labels = await waitFor(
      'the labels as they were',
      async () => {
        const found = (await one('mdep', app)).metadata.labels ?? {};
        return (
          found['berth.dev/deployment-id'] === id && found['berth.dev/tenant-id'] === berth.tenantId && found
        );
      },
      { timeoutMs: 30_000 },
    );
    expect(labels['example.com/mine']).toBe('yes');
  });

  it('gets back the spec of the custom resource that kubectl changed', async () => {
    await kubectlAsAdmin([
      'patch',
      'mdep',
      app,
      '-n',
      berth.namespace,
      '--type=merge',
      '-p',
      '{"spec":{"suspend":true}}',
    ]);
    await waitFor(
      'spec.suspend to be false again',
      async () => (await one('mdep', app)).spec['suspend'] === false,
      {
        timeoutMs: 30_000,
      },
    );
    await berth.ready(id);
  });
});

describe('an object of another owner', () => {
  it('is not used as the database volume although it has its name', async () => {
    const volume = {
      apiVersion: 'v1',
      kind: 'PersistentVolumeClaim',
      metadata: { name: 'foreign-db', namespace: berth.namespace },
      spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } },
    };
    const resource = {
      apiVersion: 'berth.dev/v1alpha1',
      kind: 'ManagedDeployment',
      metadata: { name: 'foreign', namespace: berth.namespace },
      spec: { revision: { image: 'registry.example/hello:1' } },
    };
    await kubectlAsAdmin(['create', '-f', '-'], JSON.stringify(volume));
    await kubectlAsAdmin(['create', '-f', '-'], JSON.stringify(resource));
    await waitFor(
      'the conflict to be reported',
      async () => JSON.stringify((await one('mdep', 'foreign')).status ?? {}).includes('"reason":"Conflict"'),
      { timeoutMs: 30_000 },
    );
    const made = (await berth.get('statefulsets,deployments')).items.map(({ metadata }) => metadata.name);
    expect(made).not.toContain('foreign-db');
    await kubectlAsAdmin(['delete', 'pvc', 'foreign-db', '-n', berth.namespace]);
    await kubectlAsAdmin([
      'wait',
      '--for=condition=Ready',
      'mdep/foreign',
      '-n',
      berth.namespace,
      '--timeout=60s',
    ]);
    await kubectlAsAdmin(['delete', 'mdep', 'foreign', '-n', berth.namespace]);
  });
});

interface AuditLine {
  verb: string;
  requestURI: string;
  user: { username: string };
}

/** Requests of Berth's two ServiceAccounts for our namespace, but for watches and what leases cost. */
function requestsSince(offset: number): string[] {
  return auditedSince(offset)
    .map((line) => JSON.parse(line) as AuditLine)
    .filter(({ user }) => user.username.startsWith('system:serviceaccount:berth-system:berth-'))
    .filter(
      ({ verb, requestURI }) => verb !== 'watch' && requestURI.includes(`/namespaces/${berth.namespace}/`),
    )
    .map(({ verb, requestURI }) => `${verb} ${requestURI}`);
}

describe('an unchanged deployment', () => {
  it('causes no request: neither by a repeated PATCH nor by a reconcile of every object', async () => {
    await berth.ready(id);
    const settled = async () =>
      JSON.stringify(await berth.get('mdep,deployments,statefulsets,services,pvc,hpa,pdb,events'));
    await waitFor(
      'no object to change any more',
      async () => {
        const before = await settled();
        await new Promise((resolve) => setTimeout(resolve, 1000));
        return before === (await settled());
      },
      { timeoutMs: 60_000 },
    );
    const offset = auditedUntilNow();
    const same = await berth.call('PATCH', `/v2/deployments/${id}`, {
      source_config: { resource_spec: { min_scale: 2 } },
    });
    expect(same.status).toBe(200);
    // (Not a Deployment: an annotation increases its generation, so its counts are unknown for a moment.)
    for (const kind of ['service', 'networkpolicy', 'serviceaccount', 'mdep']) {
      await kubectlAsAdmin([
        'annotate',
        '--overwrite',
        kind,
        kind === 'networkpolicy' ? `${app}-db` : app,
        '-n',
        berth.namespace,
        `example.com/look=${Date.now()}`,
      ]);
    }
    // When a whole other deployment has come up since, the operator has long looked at this one.
    const witness = await berth.create(
      smallDeployment('witness', { source_config: { listener_config: { cluster_namespace: elsewhere } } }),
    );
    await berth.ready(witness.id);
    expect(requestsSince(offset)).toEqual([]);
  });
});
