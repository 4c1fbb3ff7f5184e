/** What follows from the chart's values for pods, and for what finds and guards them. */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { CHART } from '../../../scripts/manifests.ts';
import { podEnvironment } from '../../installation/berth-process.ts';
import { jobsOf, named, podsOf, policyOf, type Rendered, render } from '../harness/chart.ts';
import { namesIn, rules } from '../harness/monitoring-files.ts';

/** Numbers that processes with the API give. */
const OF_THE_API =
  /^(http_request_|berth_(build_info|work_due|http_|database_|tracing_outbox_|branch_polls_|sign_ins_|workload_exchanges_|policy_))/;

/** Variables with a value of a role's container, by name. */
function variablesOf(objects: Rendered[], role: string, names: RegExp): Record<string, string | undefined> {
  const [container] = named(objects, 'Deployment', `berth-${role}`)?.spec?.template?.spec.containers ?? [];
  const set = container?.env?.filter(({ name }) => names.test(name)) ?? [];
  return Object.fromEntries(set.map(({ name, value }) => [name, value]));
}

/** For the memory limit of 512Mi. */
const V8_OPTIONS = '--max-semi-space-size=16 --max-old-space-size=384';

describe('the chart', () => {
  it('allows DNS for every role, at ports 53 and 5353, and denies the metadata service', async () => {
    const objects = await render('hosting=cloud');
    const at = (port: number) => ['UDP', 'TCP'].map((protocol) => ({ port, protocol }));
    const dns = [{ ports: at(53) }, { to: [{ namespaceSelector: {} }], ports: at(5353) }];
    for (const name of ['berth-api', 'berth-listener', 'berth-operator', 'berth-migrate', 'builds']) {
      expect(policyOf(objects, name).egress, name).toEqual(expect.arrayContaining(dns));
    }
    const blocks = policyOf(objects, 'berth-api').egress.flatMap(({ to = [] }) => to);
    const metadata = ['169.254.0.0/16', '100.100.100.200/32', '168.63.129.16/32', '192.0.0.192/32'];
    expect(blocks).toContainEqual({ ipBlock: { cidr: '0.0.0.0/0', except: metadata } });
    expect(blocks).toContainEqual({ ipBlock: { cidr: '::/0', except: ['fe80::/10', 'fd00:ec2::254/128'] } });
    expect(policyOf(objects, 'berth-migrate').egress).toEqual([
      ...dns,
      { ports: [{ port: 5432, protocol: 'TCP' }] },
    ]);
    const narrow = await render(
      'networkPolicies.apiEgress[0].to[0].ipBlock.cidr=10.0.0.5/32',
      'networkPolicies.databasePorts={6432}',
      'networkPolicies.extraEgress[0].ports[0].port=4318',
    );
    expect(policyOf(narrow, 'berth-api').egress).toEqual([
      ...dns,
      { to: [{ ipBlock: { cidr: '10.0.0.5/32' } }] },
    ]);
    expect(policyOf(narrow, 'berth-migrate').egress[2]?.ports).toEqual([{ port: 6432, protocol: 'TCP' }]);
    // One pod of all roles still finds the API server.
    const all = await render('singlePod=true', 'networkPolicies.apiEgress[0].ports[0].port=5432');
    const apiServer = [443, 6443].map((port) => ({ port, protocol: 'TCP' }));
    expect(policyOf(all, 'berth-api').egress).toEqual([
      ...dns,
      { ports: [{ port: 5432 }] },
      { ports: apiServer },
    ]);
    expect(policyOf(await render('singlePod=true'), 'berth-api').egress).toContainEqual({ ports: apiServer });
    for (const role of ['listener', 'operator']) {
      expect(policyOf(narrow, `berth-${role}`).egress).toContainEqual({ ports: [{ port: 4318 }] });
    }
  });

  it('sets malloc variables for the roles that use the cluster, unless the values set them', async () => {
    const sparing = { MALLOC_ARENA_MAX: '2', MALLOC_MMAP_THRESHOLD_: '32768' };
    const [plain, other] = await Promise.all([
      render(),
      render('extraEnv[0].name=MALLOC_ARENA_MAX', 'extraEnv[0].value=mine'),
    ]);
    for (const role of ['listener', 'operator']) {
      expect(variablesOf(plain, role, /^MALLOC_/), role).toEqual(sparing);
      // Tests and benches run the roles with the same variables.
      expect(podEnvironment(role), role).toEqual({ ...sparing, NODE_OPTIONS: V8_OPTIONS });
    }
    expect(variablesOf(plain, 'api', /^MALLOC_/)).toEqual({});
    expect(variablesOf(other, 'operator', /^MALLOC_/)).toEqual({ ...sparing, MALLOC_ARENA_MAX: 'mine' });
  });

  it('derives the options of V8 from the memory limit of each role, unless the values set them', async () => {
    const changed = [
      'api.resources.limits.memory=1Gi',
      'listener.resources.limits.memory=200Mi',
      'operator.resources.limits.memory=1G',
    ];
    const [plain, limits, own] = await Promise.all([
      render(),
      render(...changed),
      render('extraEnv[0].name=NODE_OPTIONS', 'extraEnv[0].value=--max-old-space-size=64'),
    ]);
    const optionsOf = (objects: Rendered[], role: string) =>
      variablesOf(objects, role, /^NODE_OPTIONS$/)['NODE_OPTIONS'];
    for (const role of ['api', 'listener', 'operator']) {
      expect(optionsOf(plain, role), role).toBe(V8_OPTIONS);
      expect(optionsOf(own, role), role).toBe('--max-old-space-size=64');
    }
    for (const role of ['api', 'all'])
      expect(podEnvironment(role), role).toEqual({ NODE_OPTIONS: V8_OPTIONS });
    expect(optionsOf(limits, 'api')).toBe('--max-semi-space-size=16 --max-old-space-size=896');
    expect(optionsOf(limits, 'listener')).toBe('--max-semi-space-size=16 --max-old-space-size=100');
    // A unit that the chart does not convert.
    expect(optionsOf(limits, 'operator')).toBe('--max-semi-space-size=16');
    // Node refuses to start with an option that NODE_OPTIONS does not permit.
    const heap = 'require("node:v8").getHeapStatistics().heap_size_limit / 1048576';
    const env = { NODE_OPTIONS: V8_OPTIONS };
    expect(Number(execFileSync(process.execPath, ['-p', heap], { env, encoding: 'utf8' }))).toBe(432);
  });

  it('uses the digest of the image in every pod and for builds when it is set', async () => {
    const digest = `sha256:${'ab'.repeat(32)}`;
    const objects = await render(
      `image.digest=${digest}`,
      'image.repository=r.example/berth',
      'hosting=cloud',
    );
    const images = objects.flatMap(
      ({ spec }) => spec?.template?.spec.containers.map(({ image }) => image) ?? [],
    );
    expect(new Set(images)).toEqual(new Set([`r.example/berth@${digest}`]));
    const { data } = named(objects, 'ConfigMap', 'berth') ?? {};
    expect(data?.['BERTH_BUILD_BERTH_IMAGE']).toBe(`r.example/berth@${digest}`);
  });

  it('renames the migration Job when the image changes, and rolls the pods when settings or policy change', async () => {
    const jobOf = (objects: Rendered[]) => jobsOf(objects)[0]?.metadata.name;
    const sumOf = (objects: Rendered[]) =>
      named(objects, 'Deployment', 'berth-api')?.spec?.template?.metadata.annotations?.['checksum/config'];
    const [plain, again, tagged, set, policy] = await Promise.all([
      render(),
      render(),
      render('image.tag=0.9.9'),
      render('config.BERTH_ROUTING=ingress'),
      render('policy=x: 1'),
    ]);
    expect(jobOf(again)).toBe(jobOf(plain));
    expect(jobOf(tagged)).not.toBe(jobOf(plain));
    expect(new Set([plain, again, set, policy].map(sumOf)).size).toBe(3);
    expect(named(policy, 'ConfigMap', 'berth-policy')?.data).toEqual({ 'policy.yaml': 'x: 1' });
  });

  it('does not roll the pods when only the roles of people change, which pods read again', async () => {
    const sumOf = async (policy: string) =>
      named(await render(`policy=${policy}`), 'Deployment', 'berth-api')?.spec?.template?.metadata
        .annotations?.['checksum/config'];
    expect(await sumOf('access: 1')).toBe(await sumOf('access: 2'));
    expect(await sumOf('access: 1\nx: 1')).not.toBe(await sumOf('access: 1\nx: 2'));
  });

  it('renames the migration Job with every change of its pod, because a Job cannot be changed', async () => {
    const values = [
      'imagePullSecrets[0].name=x',
      'tolerations[0].operator=Exists',
      'resources.limits.memory=1Gi',
      'extraEnv[0].name=HTTPS_PROXY',
      'caBundle.configMap=x',
      'podLabels.team=x',
      'migrate.nodeSelector.a=b',
    ];
    const rendered = await Promise.all([render(), ...values.map((value) => render(value))]);
    const jobs = rendered.flatMap(jobsOf);
    expect(new Set(jobs.map(({ metadata }) => metadata.name)).size).toBe(values.length + 1);
    expect(new Set(jobs.map(({ spec }) => JSON.stringify(spec?.template))).size).toBe(values.length + 1);
  });

  it('runs the migration as a hook, or as an ordinary Job when migrate.hook is false', async () => {
    const annotationsOf = (objects: Rendered[]) =>
      objects
        .filter(({ metadata }) => metadata.name.startsWith('berth-migrate'))
        .map(({ metadata }) => metadata.annotations?.['helm.sh/hook']);
    const first = await render();
    expect(annotationsOf(first)).toEqual(['pre-install,pre-upgrade', 'pre-install,pre-upgrade']);
    expect(annotationsOf(await render('migrate.hook=false'))).toEqual([undefined, undefined]);
  });

  it('sets the migration wait only in the API pod, because pods of the previous version read the ConfigMap', async () => {
    const waitOf = (objects: Rendered[], name: string) =>
      named(objects, 'Deployment', name)
        ?.spec?.template?.spec.containers[0]?.env?.filter(({ name }) => name.startsWith('BERTH_MIGRATION_'))
        .map(({ value }) => value);
    const [plain, set, single] = await Promise.all([
      render(),
      render('config.BERTH_MIGRATION_WAIT_SECONDS=20s', 'migrate.enabled=false'),
      render('singlePod=true'),
    ]);
    expect(waitOf(plain, 'berth-api')).toEqual(['300']);
    expect(waitOf(plain, 'berth-operator')).toEqual([]);
    expect(waitOf(set, 'berth-api')).toEqual(['20s']);
    expect(waitOf(single, 'berth')).toEqual(['300']);
    // What the chart put there before the setting was new.
    expect(Object.keys(named(plain, 'ConfigMap', 'berth')?.data ?? {}).sort()).toEqual([
      'BERTH_HOSTING',
      'BERTH_HUB_URL',
      'BERTH_LOG_LEVEL',
      'BERTH_NAMESPACE',
    ]);
    expect(named(set, 'ConfigMap', 'berth')?.data).not.toHaveProperty('BERTH_MIGRATION_WAIT_SECONDS');
  });

  it('adds the CA bundle, extra volumes and variables to every pod, including the migration', async () => {
    const objects = await render(
      'caBundle.secret=authorities',
      'caBundle.key=tls.crt',
      'extraEnv[0].name=HTTPS_PROXY',
      'extraEnv[0].value=http://proxy.example',
      'extraVolumes[0].name=files',
      'extraVolumes[0].configMap.name=files',
      'extraVolumeMounts[0].name=files',
      'extraVolumeMounts[0].mountPath=/etc/files',
    );
    const pods = podsOf(objects);
    expect(pods).toHaveLength(4);
    for (const { spec } of pods) {
      const [container] = spec.containers;
      expect(container?.env).toContainEqual({ name: 'NODE_EXTRA_CA_CERTS', value: '/etc/berth/ca/ca.crt' });
      expect(container?.env).toContainEqual({ name: 'HTTPS_PROXY', value: 'http://proxy.example' });
      expect(container?.volumeMounts).toContainEqual({ name: 'files', mountPath: '/etc/files' });
      expect(container?.volumeMounts).toContainEqual({
        name: 'ca-bundle',
        mountPath: '/etc/berth/ca',
        readOnly: true,
      });
      const secret = { secretName: 'authorities', items: [{ key: 'tls.crt', path: 'ca.crt' }] };
      expect(spec.volumes).toContainEqual({ name: 'ca-bundle', secret });
      expect(spec.volumes).toContainEqual({ name: 'files', configMap: { name: 'files' } });
    }
  });

  it('passes to listener and operator only their own keys of the Secret, with optional credentials for traces', async () => {
    const objects = await render();
    const keysOf = (name: string) =>
      named(objects, 'Deployment', name)?.spec?.template?.spec.containers[0]?.env?.flatMap(
        ({ valueFrom }) => valueFrom?.secretKeyRef ?? [],
      );
    const traces = { name: 'berth', key: 'BERTH_TRACES_HEADERS', optional: true };
    expect(keysOf('berth-listener')).toEqual([{ name: 'berth', key: 'BERTH_LISTENER_KEY' }, traces]);
    expect(keysOf('berth-operator')).toEqual([traces]);
  });

  it('places pods by the values of their role, then by the common values, and spreads them by default', async () => {
    const placed = await render(
      'nodeSelector.pool=all',
      'operator.nodeSelector.pool=own',
      'operator.tolerations[0].operator=Exists',
      'podLabels.team=x',
      'topologySpreadConstraints[0].maxSkew=2',
      'topologySpreadConstraints[0].topologyKey=rack',
      'topologySpreadConstraints[0].whenUnsatisfiable=DoNotSchedule',
    );
    const templateOf = (objects: Rendered[], role: string) =>
      named(objects, 'Deployment', `berth-${role}`)?.spec?.template;
    expect(templateOf(placed, 'api')?.spec).toMatchObject({ nodeSelector: { pool: 'all' } });
    expect(templateOf(placed, 'api')?.spec.tolerations).toBeUndefined();
    expect(templateOf(placed, 'operator')?.spec).toMatchObject({
      nodeSelector: { pool: 'own' },
      tolerations: [{ operator: 'Exists' }],
    });
    const labelSelector = {
      matchLabels: { 'app.kubernetes.io/name': 'berth', 'app.kubernetes.io/component': 'operator' },
    };
    expect(templateOf(placed, 'operator')?.spec.topologySpreadConstraints).toEqual([
      { maxSkew: 2, topologyKey: 'rack', whenUnsatisfiable: 'DoNotSchedule', labelSelector },
    ]);
    for (const { metadata } of podsOf(placed)) expect(metadata.labels).toMatchObject({ team: 'x' });
    const plain = await render();
    for (const role of ['api', 'listener', 'operator']) {
      expect(templateOf(plain, role)?.spec.topologySpreadConstraints).toMatchObject([
        { topologyKey: 'topology.kubernetes.io/zone', whenUnsatisfiable: 'ScheduleAnyway' },
      ]);
    }
  });

  it('uses existing ServiceAccounts, and lets the API listen on IPv6 behind an Ingress', async () => {
    const objects = await render(
      'serviceAccount.create=false',
      'operator.serviceAccount.name=theirs',
      'config.BERTH_HOST=::',
      'api.ingress.enabled=true',
      'api.ingress.hosts[0].host=berth.example.com',
      'api.ingress.className=nginx',
      'api.ingress.tls[0].secretName=berth-tls',
    );
    expect(objects.filter(({ kind }) => kind === 'ServiceAccount')).toEqual([]);
    const operator = named(objects, 'Deployment', 'berth-operator')?.spec?.template?.spec;
    expect(operator?.serviceAccountName).toBe('theirs');
    expect(named(objects, 'ClusterRoleBinding', 'berth-operator-berth-system')?.subjects).toEqual([
      { kind: 'ServiceAccount', name: 'theirs', namespace: 'berth-system' },
    ]);
    expect(named(objects, 'ConfigMap', 'berth')?.data).toMatchObject({ BERTH_HOST: '::' });
    expect(named(objects, 'Ingress', 'berth-api')?.spec).toMatchObject({
      ingressClassName: 'nginx',
      rules: [{ host: 'berth.example.com' }],
      tls: [{ secretName: 'berth-tls' }],
    });
  });

  it('renders PrometheusRule and dashboard only when they are enabled', async () => {
    expect((await render()).filter(({ kind }) => kind === 'PrometheusRule')).toEqual([]);
    const objects = await render(
      'metrics.annotations=true',
      'metrics.prometheusRule.enabled=true',
      'metrics.prometheusRule.runbooks=https://git.example/berth/',
      'metrics.dashboard.enabled=true',
    );
    const text = (file: string) => readFileSync(join(CHART, 'files', file), 'utf8');
    const alerts = text('berth-alerts.yaml').replaceAll(
      'docs/runbooks',
      'https://git.example/berth/docs/runbooks',
    );
    expect(named(objects, 'PrometheusRule', 'berth')?.spec).toEqual(parse(alerts));
    const { data } = named(objects, 'ConfigMap', 'berth-dashboard') ?? {};
    expect(data).toEqual({ 'berth-dashboard.json': text('berth-dashboard.json') });
    const api = named(objects, 'Deployment', 'berth-api')?.spec?.template;
    expect(api?.metadata.annotations).toMatchObject({ 'prometheus.io/port': '9090' });
  });

  it('renders only the alerts of the roles that it installs', async () => {
    const alertsOf = async (...values: string[]) => {
      const objects = await render('metrics.prometheusRule.enabled=true', ...values);
      const spec = named(objects, 'PrometheusRule', 'berth')?.spec as unknown as
        | { groups: { rules: { alert: string }[] }[] }
        | undefined;
      return (spec?.groups ?? []).flatMap(({ rules }) => rules.map(({ alert }) => alert));
    };
    const [everything, cluster, hub, single] = await Promise.all([
      alertsOf(),
      alertsOf('api.enabled=false', 'migrate.enabled=false'),
      alertsOf('listener.enabled=false', 'operator.enabled=false'),
      alertsOf('singlePod=true', 'api.enabled=false', 'operator.enabled=false'),
    ]);
    expect(single).toEqual(everything);
    expect(cluster).not.toContain('BerthApiDown');
    expect(cluster).toContain('BerthOperatorNotLeading');
    expect(hub).toContain('BerthApiDown');
    expect(everything.filter((alert) => !hub.includes(alert))).toEqual(['BerthOperatorNotLeading']);
    // What is left out rests on numbers of the API, and on nothing else.
    const left = rules.filter(({ alert }) => !cluster.includes(alert));
    expect(left.flatMap(({ expr }) => namesIn(expr)).filter((name) => !OF_THE_API.test(name))).toEqual([]);
    // Nothing else of these is missed by its absence.
    const missed = rules.filter(({ expr }) => expr.includes('absent(')).map(({ alert }) => alert);
    expect(missed.filter((alert) => cluster.includes(alert) && hub.includes(alert))).toEqual([]);
  });

  it('runs pods as the user and group of the image, or as the cluster decides without podSecurityContext', async () => {
    const contextsOf = (objects: Rendered[]) =>
      objects.flatMap(({ spec }) => spec?.template?.spec.securityContext ?? []);
    const always = { runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } };
    const byCluster = await render('podSecurityContext.runAsUser=null', 'podSecurityContext.runAsGroup=null');
    const own = contextsOf(await render());
    expect(new Set(own.map((context) => JSON.stringify(context))).size).toBe(1);
    expect(own[0]).toEqual({ ...always, runAsUser: 10001, runAsGroup: 10001 });
    expect(contextsOf(byCluster)[0]).toEqual(always);
  });
});
