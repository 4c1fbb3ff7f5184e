/** What the chart takes as values, what it refuses, and what follows from some of them. */
import { cpSync, lstatSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it, onTestFinished } from 'vitest';
import { parse } from 'yaml';
import { CHART } from '../../../scripts/manifests.ts';
import { publicNetworks } from '../../../src/domain/net/networks.ts';
import { pages, textOf } from '../../docs/pages.ts';
import { helm } from '../../installation/helm.ts';
import { named, type Policy, parsed, policyOf, type Rendered, render, set } from '../harness/chart.ts';
import { environment } from '../harness/environment.ts';

const OLDER_VALUES = fileURLToPath(new URL('../../installation/older-values.yaml', import.meta.url));

/** The renamed values, with their new names, as the chart lists them. */
function renamedValues(): { before: string; after: string }[] {
  const text = readFileSync(join(CHART, 'templates/_check.tpl'), 'utf8');
  const [, block = ''] = /define "berth.renamedValues" -\}\}\n([\s\S]*?)\n\{\{- end/.exec(text) ?? [];
  return Object.entries(parse(block) as Record<string, string>).map(([before, after]) => ({ before, after }));
}

/** Arguments of Helm; settings are strings, also those that look like numbers. */
const settings = (...given: string[]) => [
  ...['template', 'berth', CHART, '-n', 'berth-system'],
  ...given.flatMap((setting) => ['--set-string', `config.${setting}`]),
];

describe('the chart', () => {
  it('passes helm lint --strict', async () => {
    expect(await helm(environment(), ['lint', '--strict', CHART])).toContain('0 chart(s) failed');
  });

  it.each([
    ['an unknown value', ['replicaCounts=3'], /replicaCounts/],
    ['a misspelled value of a role', ['api.replica=3'], /replica/],
    ['a misspelled key of a common value', ['image.tagg=1'], /tagg/],
    ['a misspelled key of a value of a role', ['operator.podSecurityContext.runAsUsr=1'], /runAsUsr/],
    ['an autoscaler for a role of which one pod works', ['operator.autoscaling.enabled=true'], /autoscaling/],
    ['an unknown setting of the Secret', ['existingSecretKeys.BERTH_KEY=x'], /BERTH_KEY/],
    ['a misspelled setting', ['config.BERTH_LOGLEVEL=info'], /BERTH_LOGLEVEL/],
    ['a secret among the settings', ['config.DATABASE_URL=postgres://x'], /DATABASE_URL/],
    ['a key among the settings', ['config.BERTH_LISTENER_KEY=x'], /BERTH_LISTENER_KEY/],
    [
      'a secret in the environment',
      ['extraEnv[0].name=BERTH_ENCRYPTION_KEYS', 'extraEnv[0].value=x'],
      /BERTH_ENCRYPTION_KEYS is a setting/,
    ],
    [
      'a setting in the environment of a role',
      ['operator.extraEnv[0].name=BERTH_ROUTING', 'operator.extraEnv[0].value=none'],
      /BERTH_ROUTING is a setting/,
    ],
    [
      'a secret for a role that does not read it',
      ['operator.extraEnv[0].name=DATABASE_URL', 'operator.extraEnv[0].valueFrom.secretKeyRef.name=app'],
      /operator\.extraEnv: this role does not read the secret DATABASE_URL/,
    ],
    ['a setting that the chart sets itself', ['config.BERTH_HOSTING=cloud'], /BERTH_HOSTING/],
    ['an incomplete digest', ['image.digest=sha256:abc'], /digest/],
    ['an empty Secret name', ['existingSecret='], /existingSecret/],
    ['Roles without a namespace', ['rbac.scope=namespaces'], /needs namespaces.names/],
    [
      'Roles only, in cloud mode',
      ['rbac.scope=namespaces', 'hosting=cloud', 'namespaces.names={a}'],
      /needs a ClusterRole/,
    ],
    ['its own namespace for deployments', ['namespaces.names={berth-system}'], /namespace of Berth itself/],
  ])('rejects %s', async (_, values, message) => {
    await expect(render(...values)).rejects.toThrow(message);
  });

  it.each([
    ['an Ingress without a host', ['api.ingress.enabled=true'], /needs ingress.hosts/],
    ['an autoscaler for one pod with all roles', ['singlePod=true', 'autoscaling.enabled=true'], /singlePod/],
    ['two CA bundles', ['caBundle.configMap=a', 'caBundle.secret=b'], /either configMap or secret/],
    [
      'a CA bundle that is set twice',
      ['caBundle.configMap=a', 'extraEnv[0].name=NODE_EXTRA_CA_CERTS', 'extraEnv[0].value=/x'],
      /NODE_EXTRA_CA_CERTS is set by caBundle/,
    ],
    ['a CA for builds that no build can read', ['config.BERTH_BUILD_CA=/x'], /'BERTH_BUILD_CA' not allowed/],
    ['a label that selects the pods', ['podLabels.app\\.kubernetes\\.io/name=x'], /podLabels/],
  ])('rejects values with %s', async (_, values, message) => {
    await expect(render(...values)).rejects.toThrow(message);
  });

  it('rejects BERTH_NETWORK_ISOLATION=false in cloud mode, because apps would be unreachable', async () => {
    const open = settings('BERTH_NETWORK_ISOLATION=false');
    await expect(helm(environment(), [...open, '--set', 'hosting=cloud'])).rejects.toThrow(
      /namespaces of tenants deny all/,
    );
    await expect(helm(environment(), open)).resolves.toContain('BERTH_NETWORK_ISOLATION: "false"');
  });

  it('fails when a file of the chart is missing or empty', async () => {
    for (const lose of [(path: string) => rmSync(path), (path: string) => writeFileSync(path, '\n')]) {
      const copy = mkdtempSync(join(tmpdir(), 'berth-chart-'));
      onTestFinished(() => rmSync(copy, { recursive: true }));
      cpSync(CHART, copy, { recursive: true });
      expect(lstatSync(join(copy, 'files/manageddeployments.yaml')).isSymbolicLink()).toBe(false);
      lose(join(copy, 'files/manageddeployments.yaml'));
      await expect(helm(environment(), ['template', 'berth', copy])).rejects.toThrow(/missing or empty/);
    }
  });

  it('allows builds to reach the API and builds.extraEgress, but no private address', async () => {
    const plain = await render('hosting=cloud');
    const toApi = ({ to }: Policy['egress'][number]) =>
      to?.some(({ podSelector }) => JSON.stringify(podSelector ?? '').includes('"api"'));
    expect(policyOf(plain, 'builds').egress.filter(toApi)).toHaveLength(1);
    const added = await render(
      'hosting=cloud',
      'builds.extraEgress[0].to[0].ipBlock.cidr=10.1.2.3/32',
      'builds.extraEgress[0].ports[0].port=1234',
      'networkPolicies.apiClients[0].ipBlock.cidr=203.0.113.0/24',
    );
    expect(policyOf(added, 'builds').egress).toEqual([
      ...policyOf(plain, 'builds').egress,
      { to: [{ ipBlock: { cidr: '10.1.2.3/32' } }], ports: [{ port: 1234 }] },
    ]);
    const networks = settings('BERTH_CLOSED_NETWORKS=52.0.0.0/16\\, 2600:1f00::/24\\,fd00::/8');
    const closed = policyOf(
      parsed(await helm(environment(), [...networks, '--set', 'hosting=cloud'])),
      'builds',
    );
    const blocks = closed.egress.flatMap(({ to }) => to ?? []).flatMap(({ ipBlock }) => ipBlock ?? []);
    expect(blocks).toEqual(publicNetworks(['52.0.0.0/16', '2600:1f00::/24', 'fd00::/8']));
    const openedAndClosed = settings(
      'BERTH_CLOSED_NETWORKS=161.26.5.0/24\\,166.9.0.0/16\\,0.0.0.0/32\\,161.26.255.255/32\\,161.27.0.0/24',
      'BERTH_OPEN_NETWORKS=161.26.0.0/16\\, 166.9.4.0/24\\,168.63.129.16/32',
    );
    const both = policyOf(
      parsed(await helm(environment(), [...openedAndClosed, '--set', 'hosting=cloud'])),
      'builds',
    );
    expect(
      both.egress
        .flatMap(({ to }) => to ?? [])
        .flatMap(({ ipBlock }) => (ipBlock === undefined ? [] : [{ except: [], ...ipBlock }])),
    ).toEqual(
      publicNetworks(
        ['161.26.5.0/24', '166.9.0.0/16', '0.0.0.0/32', '161.26.255.255/32', '161.27.0.0/24'],
        ['161.26.0.0/16', '166.9.4.0/24', '168.63.129.16/32'],
      ),
    );
    // Where not everybody may call the API, builds still may.
    expect(policyOf(added, 'berth-api').ingress[0]?.from).toContainEqual({
      namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'berth-builds' } },
    });
  });

  it('shares no cluster-scoped object between two releases when the second does not install the CRD', async () => {
    const ofCluster = (objects: Rendered[]) =>
      objects
        .filter(({ metadata }) => metadata.namespace === undefined)
        .map(({ kind, metadata }) => `${kind} ${metadata.name}`);
    const second = ['template', 'berth', CHART, '-n', 'another', ...set(['crds.install=false'])];
    const first = ofCluster(await render());
    const other = ofCluster(parsed(await helm(environment(), second)));
    expect(other).toContain('ClusterRole berth-operator-another');
    expect(other.filter((name) => first.includes(name))).toEqual([]);
  });

  it('sets BERTH_NAMESPACE for every role, also for one without a ServiceAccount', async () => {
    const objects = parsed(await helm(environment(), ['template', 'berth', CHART, '-n', 'another']));
    expect(named(objects, 'ConfigMap', 'berth')).toMatchObject({ data: { BERTH_NAMESPACE: 'another' } });
  });

  it('adapts the startup probe to the migration wait, and allows the eviction of unready pods', async () => {
    const seconds = async (...given: string[]) => {
      const objects = parsed(await helm(environment(), settings(...given)));
      const [container] = named(objects, 'Deployment', 'berth-api')?.spec?.template?.spec.containers ?? [];
      const { failureThreshold = 0, periodSeconds = 0 } = container?.startupProbe ?? {};
      return failureThreshold * periodSeconds;
    };
    expect(await seconds()).toBe(360);
    expect(await seconds('BERTH_MIGRATION_WAIT_SECONDS=1800')).toBe(1860);
    const budgets = (await render()).filter(({ kind }) => kind === 'PodDisruptionBudget');
    expect(budgets.length).toBeGreaterThan(0);
    for (const budget of budgets)
      expect(budget).toMatchObject({ spec: { unhealthyPodEvictionPolicy: 'AlwaysAllow' } });
  });

  it('runs builds with builds.enabled in both hosting modes, and by default only with hosting=cloud', async () => {
    const partsOf = async (...values: string[]) => {
      const objects = await render(...values);
      const inBuilds = objects.filter(({ metadata }) => metadata.namespace === 'berth-builds');
      const pods = objects.filter(({ kind }) => kind === 'Deployment').map((each) => JSON.stringify(each));
      const [, setting] = /"BERTH_BUILDS","value":"(\w+)"/.exec(pods.join('')) ?? [];
      const kinds = [...new Set(inBuilds.map(({ kind }) => kind))].sort();
      return { namespace: named(objects, 'Namespace', 'berth-builds') !== undefined, kinds, setting };
    };
    const all = ['NetworkPolicy', 'ResourceQuota', 'Role', 'RoleBinding'];
    expect(await partsOf()).toEqual({ namespace: false, kinds: [], setting: undefined });
    expect(await partsOf('builds.enabled=true')).toEqual({ namespace: true, kinds: all, setting: 'true' });
    expect(await partsOf('hosting=cloud')).toEqual({ namespace: true, kinds: all, setting: undefined });
    expect(await partsOf('hosting=cloud', 'builds.enabled=false')).toEqual({
      namespace: false,
      kinds: [],
      setting: 'false',
    });
  });

  it('renders no build quota when builds.quota is null', async () => {
    const quotas = async (...values: string[]) =>
      (await render('hosting=cloud', ...values)).filter(({ kind }) => kind === 'ResourceQuota').length;
    expect([await quotas(), await quotas('builds.quota=null')]).toEqual([1, 0]);
  });

  it('keeps the build namespace when the release is uninstalled', async () => {
    for (const namespace of ['berth-builds', 'elsewhere']) {
      const objects = await render('hosting=cloud', `builds.namespace=${namespace}`);
      const { annotations } = named(objects, 'Namespace', namespace)?.metadata ?? {};
      expect(annotations).toEqual({ 'helm.sh/resource-policy': 'keep' });
    }
  });

  it('refuses each renamed value with its new name, also when only the defaults of an older chart are reused', async () => {
    const rows = renamedValues();
    expect(rows.length).toBeGreaterThan(8);
    for (const { before, after } of rows) {
      await expect(render(`${before}=1`), before).rejects.toThrow(`${before} is now ${after}`);
    }
    const copy = mkdtempSync(join(tmpdir(), 'berth-chart-'));
    onTestFinished(() => rmSync(copy, { recursive: true }));
    cpSync(CHART, copy, { recursive: true });
    cpSync(OLDER_VALUES, join(copy, 'values.yaml'));
    const reused = helm(environment(), ['template', 'berth', copy, '-n', 'berth-system']);
    await expect(reused).rejects.toThrow(/env is now extraEnv.*use --reset-then-reuse-values/s);
  });

  it('switches the console off for the API', async () => {
    const objects = parsed(await helm(environment(), settings('BERTH_CONSOLE=false')));
    expect(named(objects, 'ConfigMap', 'berth')).toMatchObject({ data: { BERTH_CONSOLE: 'false' } });
  });

  it('renders the values of the page about the console, with a prefix', async () => {
    const [, values = ''] = /```yaml\n(config:[\s\S]*?)```/.exec(textOf('docs/console.md')) ?? [];
    const folder = mkdtempSync(join(tmpdir(), 'berth-console-values-'));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    writeFileSync(join(folder, 'values.yaml'), values);
    const objects = parsed(await helm(environment(), [...settings(), '-f', join(folder, 'values.yaml')]));
    const data = { BERTH_PUBLIC_URL: 'https://tools.example.com/berth', BERTH_CONSOLE: 'true' };
    expect(named(objects, 'ConfigMap', 'berth')).toMatchObject({ data });
    const ingress = objects.find(({ kind }) => kind === 'Ingress');
    expect(ingress?.spec).toMatchObject({
      rules: [{ host: 'tools.example.com', http: { paths: [{ path: '/berth(/|$)(.*)' }] } }],
    });
  });

  it('lists the renamed values on the page about upgrades', () => {
    const table = textOf('docs/install.md').matchAll(/^ *\| `([^`]+)` \| `([^`]+)`(.*) \|$/gm);
    const listed = [...table].map(([, before = '', after = '', rest = '']) => ({
      before,
      after: `${after}${rest}`,
    }));
    for (const row of renamedValues()) expect(listed).toContainEqual(row);
  });

  it('uses only the new names of renamed values on every page', () => {
    const files = [...pages(), 'manifests/helm/berth/README.md', 'manifests/helm/berth/values.yaml'];
    const texts = files
      .filter((file) => file !== 'CHANGELOG.md')
      .map((file) => [file, textOf(file)] as const);
    for (const { before } of renamedValues()) {
      const name = before.replaceAll('.', '\\.');
      // A name without a dot is also an ordinary word, so only the option of Helm counts.
      const use = new RegExp(
        before.includes('.') ? `(?<![\\w.])${name}(?!\\w)` : `--set(-\\w+)? '?${name}[.=[]`,
      );
      const row = new RegExp(`^ *\\| (value )?\`${name}\`.* \\|$`);
      const uses = texts.flatMap(([file, text]) =>
        text.split('\n').flatMap((line) => (use.test(line) && !row.test(line) ? [`${file}: ${line}`] : [])),
      );
      expect(uses, before).toEqual([]);
    }
  });

  it('renders no Secret in any mode', async () => {
    for (const objects of [await render(), await render('hosting=cloud'), await render('singlePod=true')]) {
      expect(objects.filter(({ kind }) => kind === 'Secret')).toEqual([]);
    }
  });
});
