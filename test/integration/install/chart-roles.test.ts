/** Values that a role has for itself, and those that it shares with the other roles. */
import { describe, expect, it } from 'vitest';
import { CHART } from '../../../scripts/manifests.ts';
import { SETTINGS } from '../../../src/config/settings.ts';
import { helm } from '../../installation/helm.ts';
import { VERSION } from '../../installation/version.ts';
import { named, parsed, podsOf, type Rendered, render, set } from '../harness/chart.ts';
import { environment } from '../harness/environment.ts';

/** The template of a role's pods. */
const templateOf = (objects: Rendered[], role: string) => {
  const found = objects.find(
    ({ kind, metadata }) =>
      ['Deployment', 'Job'].includes(kind) && metadata.labels?.['app.kubernetes.io/component'] === role,
  )?.spec?.template;
  if (found === undefined) throw new Error(`the chart renders no pod of ${role}`);
  return found;
};
const containerOf = (objects: Rendered[], role: string) => {
  const [container] = templateOf(objects, role).spec.containers;
  if (container === undefined) throw new Error(`the pod of ${role} has no container`);
  return container;
};
const ROLES = ['api', 'listener', 'operator', 'migrate'];

/** Objects of a release of another name, in another namespace. */
const otherRelease = async (release: string, ...values: string[]) =>
  parsed(await helm(environment(), ['template', release, CHART, '-n', 'elsewhere', ...set(values)]));

describe('the values of roles', () => {
  it('merges maps of a role with the common ones, and removes keys that are null', async () => {
    const objects = await render(
      'resources.limits.memory=1Gi',
      'operator.resources.limits.memory=2Gi',
      'operator.resources.requests.cpu=null',
      'podAnnotations.a=common',
      'listener.podAnnotations.a=own',
      'listener.podAnnotations.b=own',
      'securityContext.readOnlyRootFilesystem=false',
      'api.securityContext.readOnlyRootFilesystem=true',
      'migrate.podSecurityContext.runAsUser=20000',
    );
    expect(containerOf(objects, 'api').resources).toMatchObject({ limits: { memory: '1Gi' } });
    expect(containerOf(objects, 'operator').resources).toEqual({
      requests: { memory: '192Mi', 'ephemeral-storage': '64Mi' },
      limits: { memory: '2Gi', 'ephemeral-storage': '256Mi' },
    });
    expect(templateOf(objects, 'api').metadata.annotations).toMatchObject({ a: 'common' });
    expect(templateOf(objects, 'listener').metadata.annotations).toMatchObject({ a: 'own', b: 'own' });
    const readOnly = ROLES.map((role) => containerOf(objects, role).securityContext.readOnlyRootFilesystem);
    expect(readOnly).toEqual([true, false, false, false]);
    const users = ROLES.map((role) => templateOf(objects, role).spec.securityContext['runAsUser']);
    expect(users).toEqual([10001, 10001, 10001, 20000]);
  });

  it.each([
    ['podLabels', 'spec.template.metadata.labels'],
    ['podAnnotations', 'spec.template.metadata.annotations'],
    ['nodeSelector', 'spec.template.spec.nodeSelector'],
    ['resources.limits', 'spec.template.spec.containers.0.resources.limits'],
    ['service.annotations', 'metadata.annotations', 'Service'],
    ['ingress.annotations', 'metadata.annotations', 'Ingress'],
    ['serviceAccount.annotations', 'metadata.annotations', 'ServiceAccount'],
  ])(
    'removes a key of %s that is null for a role, or for all roles',
    async (map, path, kind = 'Deployment') => {
      const ingress = ['ingress.enabled=true', 'ingress.hosts[0].host=a.example'];
      const keysOf = async (...values: string[]) => {
        const object = named(await render(...ingress, ...values), kind, 'berth-api');
        const found = path
          .split('.')
          .reduce<unknown>((at, key) => (at as Record<string, unknown> | undefined)?.[key], object);
        return Object.keys((found as object | undefined) ?? {}).filter((key) => ['x', 'y'].includes(key));
      };
      const common = [`${map}.x=1`, `${map}.y=1`].map((value) =>
        map === 'resources.limits' ? value : `${value}a`,
      );
      expect(await keysOf(...common)).toEqual(['x', 'y']);
      expect(await keysOf(...common, `api.${map}.x=null`)).toEqual(['y']);
      expect(await keysOf(`${map}.x=null`, `api.${map}.y=a`)).toEqual(['y']);
      expect(await keysOf(`${map}.x=null`)).toEqual([]);
    },
  );

  it('removes a field of affinity and of security contexts that is null', async () => {
    const objects = await render(
      'affinity.nodeAffinity.a=b',
      'api.affinity.nodeAffinity=null',
      'api.podSecurityContext.seccompProfile=null',
      'api.securityContext.capabilities.drop=null',
    );
    const affinityOf = (role: string) =>
      Object.keys((templateOf(objects, role).spec as unknown as { affinity: object }).affinity);
    expect(affinityOf('listener')).toEqual(['nodeAffinity']);
    expect(affinityOf('api')).toEqual(['podAntiAffinity']);
    expect(templateOf(objects, 'api').spec.securityContext).not.toHaveProperty('seccompProfile');
    expect(containerOf(objects, 'api').securityContext).toMatchObject({ capabilities: {} });
    expect(containerOf(objects, 'listener').securityContext).toMatchObject({
      capabilities: { drop: ['ALL'] },
    });
  });

  it('adds variables and volumes of a role to the common ones, where the last variable of a name wins', async () => {
    const objects = await render(
      'extraEnv[0].name=A',
      'extraEnv[0].value=common',
      'extraEnv[1].name=B',
      'extraEnv[1].value=common',
      'operator.extraEnv[0].name=B',
      'operator.extraEnv[0].value=own',
      'envFrom[0].configMapRef.name=all',
      'listener.envFrom[0].secretRef.name=one',
      'extraVolumes[0].name=x',
      'extraVolumeMounts[0].name=x',
      'extraVolumeMounts[0].mountPath=/x',
      'api.extraVolumes[0].name=y',
      'api.extraVolumeMounts[0].name=y',
      'api.extraVolumeMounts[0].mountPath=/y',
    );
    const variables = (role: string) =>
      containerOf(objects, role).env?.filter(({ name }) => ['A', 'B'].includes(name));
    const a = { name: 'A', value: 'common' };
    for (const role of ['api', 'listener', 'migrate']) {
      expect(variables(role), role).toEqual([a, { name: 'B', value: 'common' }]);
    }
    expect(variables('operator')).toEqual([a, { name: 'B', value: 'own' }]);
    const berth = { configMapRef: { name: 'berth' } };
    const all = { configMapRef: { name: 'all' } };
    expect(containerOf(objects, 'api').envFrom).toEqual([berth, all]);
    expect(containerOf(objects, 'listener').envFrom).toEqual([berth, all, { secretRef: { name: 'one' } }]);
    expect(containerOf(objects, 'migrate').envFrom).toEqual([all]);
    const mounts = (role: string) =>
      containerOf(objects, role).volumeMounts.map((mount) => (mount as { name: string }).name);
    expect(mounts('api')).toEqual(['tmp', 'x', 'y']);
    expect(mounts('migrate')).toEqual(['tmp', 'x']);
  });

  it('replaces image, replicas, account and placement by those of the role', async () => {
    const digest = `sha256:${'ab'.repeat(32)}`;
    const objects = await render(
      `image.digest=${digest}`,
      'listener.image.tag=v9',
      'operator.image.repository=other/berth',
      'replicaCount=3',
      'operator.replicaCount=1',
      'api.serviceAccount.annotations.a=b',
      'listener.serviceAccount.create=false',
      'listener.serviceAccount.name=theirs',
      'migrate.serviceAccount.name=migrator',
      'priorityClassName=low',
      'api.priorityClassName=high',
      'imagePullSecrets[0].name=all',
      'migrate.imagePullSecrets[0].name=own',
    );
    expect(containerOf(objects, 'api').image).toBe(`berth@${digest}`);
    expect(containerOf(objects, 'listener').image).toBe('berth:v9');
    expect(containerOf(objects, 'operator').image).toBe(`other/berth@${digest}`);
    const replicas = ['api', 'listener', 'operator'].map(
      (role) => named(objects, 'Deployment', `berth-${role}`)?.spec?.replicas,
    );
    expect(replicas).toEqual([3, 3, 1]);
    const budgets = objects.filter(({ kind }) => kind === 'PodDisruptionBudget');
    expect(budgets.map(({ metadata }) => metadata.name)).toEqual(['berth-api', 'berth-listener']);
    const accounts = objects.filter(({ kind }) => kind === 'ServiceAccount');
    expect(accounts.map(({ metadata }) => [metadata.name, metadata.annotations])).toEqual([
      ['berth-api', { a: 'b' }],
      ['berth-operator', undefined],
    ]);
    const used = ROLES.map((role) => templateOf(objects, role).spec.serviceAccountName);
    expect(used).toEqual(['berth-api', 'theirs', 'berth-operator', 'migrator']);
    const specs = ROLES.map((role) => templateOf(objects, role).spec as unknown as Record<string, unknown>);
    expect(specs.map((spec) => spec['priorityClassName'])).toEqual(['high', 'low', 'low', 'low']);
    expect(specs.map((spec) => spec['imagePullSecrets'])).toEqual([
      [{ name: 'all' }],
      [{ name: 'all' }],
      [{ name: 'all' }],
      [{ name: 'own' }],
    ]);
  });

  it('reads each setting that is a secret from the key of the Secret that the values name', async () => {
    const secrets = Object.entries(SETTINGS).flatMap(([name, setting]) =>
      'secret' in setting ? [name] : [],
    );
    const keysOf = (objects: Rendered[], role: string) =>
      Object.fromEntries(
        containerOf(objects, role).env?.flatMap(({ name, valueFrom }) =>
          valueFrom?.secretKeyRef === undefined ? [] : [[name, valueFrom.secretKeyRef]],
        ) ?? [],
      );
    const plain = await render();
    expect(Object.keys(keysOf(plain, 'api')).sort()).toEqual(secrets.sort());
    const objects = await render(
      'existingSecret=theirs',
      'existingSecretKeys.DATABASE_URL=uri',
      'listener.existingSecret=keys',
      'listener.existingSecretKeys.BERTH_LISTENER_KEY=listener',
      'migrate.extraEnv[0].name=DATABASE_URL',
      'migrate.extraEnv[0].valueFrom.secretKeyRef.name=app',
      'migrate.extraEnv[0].valueFrom.secretKeyRef.key=owner',
    );
    expect(keysOf(objects, 'api')).toMatchObject({
      DATABASE_URL: { name: 'theirs', key: 'uri' },
      BERTH_TRACING_TOKEN: { name: 'theirs', key: 'BERTH_TRACING_TOKEN', optional: true },
    });
    expect(keysOf(objects, 'listener')).toEqual({
      BERTH_LISTENER_KEY: { name: 'keys', key: 'listener' },
      BERTH_TRACES_HEADERS: { name: 'keys', key: 'BERTH_TRACES_HEADERS', optional: true },
    });
    expect(keysOf(objects, 'migrate')).toEqual({ DATABASE_URL: { name: 'app', key: 'owner' } });
  });

  it('gives a secret of the common variables only to the roles that read it', async () => {
    const fromApp = (index: number, name: string) => [
      `extraEnv[${index}].name=${name}`,
      `extraEnv[${index}].valueFrom.secretKeyRef.name=app`,
      `extraEnv[${index}].valueFrom.secretKeyRef.key=k`,
    ];
    const values = [
      ...fromApp(0, 'DATABASE_URL'),
      ...fromApp(1, 'BERTH_LISTENER_KEY'),
      ...fromApp(2, 'OTHER'),
    ];
    const namesOf = (objects: Rendered[], role: string) =>
      containerOf(objects, role).env?.flatMap(({ name, valueFrom }) =>
        JSON.stringify(valueFrom ?? '').includes('"app"') ? [name] : [],
      );
    const objects = await render(...values);
    expect(namesOf(objects, 'api')?.sort()).toEqual(['BERTH_LISTENER_KEY', 'DATABASE_URL', 'OTHER']);
    expect(namesOf(objects, 'listener')).toEqual(['BERTH_LISTENER_KEY', 'OTHER']);
    expect(namesOf(objects, 'operator')).toEqual(['OTHER']);
    expect(namesOf(objects, 'migrate')).toEqual(['DATABASE_URL', 'OTHER']);
    const unnamed = await render('existingSecretKeys.DATABASE_URL=null', ...values.slice(0, 3));
    expect(ROLES.filter((role) => namesOf(unnamed, role)?.includes('DATABASE_URL'))).toEqual([
      'api',
      'migrate',
    ]);
    const single = await render('singlePod=true', ...values);
    expect(namesOf(single, 'all')?.sort()).toEqual(['BERTH_LISTENER_KEY', 'DATABASE_URL', 'OTHER']);
  });

  it('routes every host and path of the Ingress to the Service, and reaches the API at the port of the Service', async () => {
    const objects = await render(
      'service.port=8081',
      'service.type=LoadBalancer',
      'api.service.annotations.a=b',
      'ingress.enabled=true',
      'ingress.hosts[0].host=a.example',
      'ingress.hosts[1].host=b.example',
      'ingress.hosts[1].paths[0].path=/v2',
      'ingress.hosts[1].paths[0].pathType=Exact',
    );
    const service = named(objects, 'Service', 'berth-api');
    expect(service?.metadata.annotations).toEqual({ a: 'b' });
    expect(service?.spec).toMatchObject({
      type: 'LoadBalancer',
      ports: [{ port: 8081, targetPort: 'http' }],
    });
    const config = named(objects, 'ConfigMap', 'berth')?.data;
    expect(config?.['BERTH_HUB_URL']).toBe('http://berth-api.berth-system.svc:8081');
    const backend = { service: { name: 'berth-api', port: { name: 'http' } } };
    expect(named(objects, 'Ingress', 'berth-api')?.spec).toMatchObject({
      rules: [
        { host: 'a.example', http: { paths: [{ path: '/', pathType: 'Prefix', backend }] } },
        { host: 'b.example', http: { paths: [{ path: '/v2', pathType: 'Exact', backend }] } },
      ],
    });
  });

  it('leaves the replicas of the API to its autoscaler when autoscaling is enabled', async () => {
    const objects = await render(
      'autoscaling.enabled=true',
      'api.autoscaling.maxReplicas=4',
      'autoscaling.targetMemoryUtilizationPercentage=70',
    );
    expect(named(objects, 'Deployment', 'berth-api')?.spec).not.toHaveProperty('replicas');
    const scalers = objects.filter(({ kind }) => kind === 'HorizontalPodAutoscaler');
    expect(scalers).toHaveLength(1);
    const utilization = (name: string, averageUtilization: number) => ({
      type: 'Resource',
      resource: { name, target: { type: 'Utilization', averageUtilization } },
    });
    expect(scalers[0]?.spec).toEqual({
      scaleTargetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'berth-api' },
      minReplicas: 2,
      maxReplicas: 4,
      metrics: [utilization('cpu', 80), utilization('memory', 70)],
    });
  });
});

describe('names and labels', () => {
  it('labels every object with chart, release and version, and pods with all of them except the chart', async () => {
    for (const objects of [await render(), await render('hosting=cloud'), await render('singlePod=true')]) {
      for (const { kind, metadata } of objects) {
        if (kind === 'CustomResourceDefinition') continue;
        expect(metadata.labels, `${kind} ${metadata.name}`).toMatchObject({
          'helm.sh/chart': `berth-${VERSION}`,
          'app.kubernetes.io/name': 'berth',
          'app.kubernetes.io/instance': 'berth',
          'app.kubernetes.io/version': VERSION,
          'app.kubernetes.io/managed-by': 'Helm',
          'app.kubernetes.io/part-of': 'berth',
        });
      }
      for (const { metadata } of podsOf(objects)) {
        expect(metadata.labels).toMatchObject({
          'app.kubernetes.io/instance': 'berth',
          'app.kubernetes.io/version': VERSION,
        });
        expect(metadata.labels).not.toHaveProperty('helm.sh/chart');
        expect(metadata.labels['app.kubernetes.io/component']).toMatch(
          /^(api|listener|operator|migrate|all)$/,
        );
      }
    }
  });

  it('starts the names of objects with the release, and those of the cluster end with its namespace', async () => {
    const objects = await otherRelease('prod', 'crds.install=false');
    const names = new Set(objects.map(({ kind, metadata }) => `${kind} ${metadata.name}`));
    for (const name of ['Deployment prod-berth-api', 'ClusterRole prod-berth-operator-elsewhere'])
      expect(names).toContain(name);
    expect([...names].filter((name) => !name.includes(' prod-berth'))).toEqual([]);
    const cluster = objects.filter(({ metadata }) => metadata.namespace === undefined);
    expect(cluster.filter(({ metadata }) => !metadata.name.endsWith('-elsewhere'))).toEqual([]);
    const { data } = named(objects, 'ConfigMap', 'prod-berth') ?? {};
    expect(data?.['BERTH_HUB_URL']).toBe('http://prod-berth-api.elsewhere.svc');
    expect(containerOf(objects, 'operator').envFrom).toEqual([{ configMapRef: { name: 'prod-berth' } }]);
  });

  it('uses nameOverride and fullnameOverride, with selectors that match the pods', async () => {
    const objects = await otherRelease('prod', 'nameOverride=hub', 'crds.install=false');
    expect(named(objects, 'Deployment', 'prod-hub-api')).toBeDefined();
    const labels = templateOf(objects, 'api').metadata.labels;
    expect(labels).toMatchObject({ 'app.kubernetes.io/name': 'hub' });
    const selector = { 'app.kubernetes.io/name': 'hub', 'app.kubernetes.io/component': 'api' };
    expect(labels).toMatchObject(selector);
    expect(named(objects, 'Service', 'prod-hub-api')?.spec).toMatchObject({ selector });
    expect(named(objects, 'Deployment', 'prod-hub-api')?.spec).toMatchObject({
      selector: { matchLabels: selector },
    });
    const full = await otherRelease('prod', 'fullnameOverride=x', 'crds.install=false');
    expect(named(full, 'Deployment', 'x-api')).toBeDefined();
    expect(named(full, 'ClusterRole', 'x-operator-elsewhere')).toBeDefined();
  });
});
