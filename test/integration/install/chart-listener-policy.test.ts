/** When the chart bounds the listener by an admission policy, and what follows from its values. */
import { expect, it } from 'vitest';
import { CHART } from '../../../scripts/manifests.ts';
import { helm } from '../../installation/helm.ts';
import { parsed, type Rendered, render, set } from '../harness/chart.ts';
import { environment } from '../harness/environment.ts';

const NAME = 'berth-listener-writes-berth-system';

interface ListenerPolicy {
  failurePolicy: string;
  matchConstraints: { resourceRules: { resources: string[] }[] };
  matchConditions: { name: string; expression: string }[];
  variables: { name: string; expression: string }[];
}

const policyIn = (objects: Rendered[], name = NAME) =>
  objects.find(({ kind, metadata }) => kind === 'ValidatingAdmissionPolicy' && metadata.name === name)
    ?.spec as ListenerPolicy | undefined;
const accountOf = (policy: ListenerPolicy | undefined) =>
  policy?.matchConditions.find(({ name }) => name === 'is-the-listener')?.expression;
const template = (namespace: string, ...values: string[]) => [
  ...['template', 'berth', CHART, '-n', namespace],
  ...set(values),
];

it('renders the admission policy with the action Deny when hosting is cloud', async () => {
  const objects = await render('hosting=cloud');
  const policy = policyIn(objects);
  expect(policy?.failurePolicy).toBe('Fail');
  expect(accountOf(policy)).toContain("'system:serviceaccount:berth-system:berth-listener'");
  const bindings = objects.filter(({ kind }) => kind === 'ValidatingAdmissionPolicyBinding');
  expect(bindings.map(({ spec }) => spec)).toContainEqual({ policyName: NAME, validationActions: ['Deny'] });
});

it.each([
  ['in self_hosted mode', []],
  ['with Roles only', ['rbac.scope=namespaces', 'namespaces.names={a}']],
  ['without a listener', ['hosting=cloud', 'listener.enabled=false']],
  ['that disables it', ['hosting=cloud', 'rbac.admissionPolicy=false']],
])('does not render the policy for an installation %s', async (_, values) => {
  expect(policyIn(await render(...values))).toBeUndefined();
});

it('uses the account, the namespace of the release and the build namespace of the values', async () => {
  const values = ['hosting=cloud', 'listener.serviceAccount.name=theirs', 'builds.namespace=images'];
  const objects = parsed(await helm(environment(), template('another', ...values)));
  const policy = policyIn(objects, 'berth-listener-writes-another');
  expect(accountOf(policy)).toContain("'system:serviceaccount:another:theirs'");
  expect(policy?.variables.find(({ name }) => name === 'isBuild')?.expression).toContain("'images'");
  expect(policyIn(objects)).toBeUndefined();
});

it('covers only resources that the listener alone writes when the operator has the same account', async () => {
  const rulesOf = (policy: ListenerPolicy | undefined) =>
    policy?.matchConstraints.resourceRules.flatMap(({ resources }) => resources);
  expect(rulesOf(policyIn(await render('hosting=cloud')))).toEqual(['*/*']);
  const shared = policyIn(await render('hosting=cloud', 'singlePod=true'));
  expect(accountOf(shared)).toContain("'system:serviceaccount:berth-system:berth'");
  expect(rulesOf(shared)).toEqual([
    'namespaces',
    'namespaces/*',
    'resourcequotas',
    'limitranges',
    'manageddeployments',
  ]);
});

it('allows writes in the namespaces of rbac.listenerNamespaces', async () => {
  const policy = policyIn(await render('hosting=cloud', 'rbac.listenerNamespaces={team,shop}'));
  const { expression } = policy?.variables.find(({ name }) => name === 'isTenantNamespace') ?? {};
  expect(expression).toContain("variables.place in ['team', 'shop'] ||");
  await expect(render('hosting=cloud', "rbac.listenerNamespaces={a'b}")).rejects.toThrow(
    /listenerNamespaces/,
  );
});

it('fails when the cluster does not serve admission policies, unless rbac.admissionPolicy is false', async () => {
  const served = ['--api-versions', 'v1/Pod'];
  const without = helm(environment(), [...template('berth-system', 'hosting=cloud'), ...served]);
  await expect(without).rejects.toThrow(/rbac.admissionPolicy=false installs Berth without this limit/);
  const off = template('berth-system', 'hosting=cloud', 'rbac.admissionPolicy=false');
  expect(policyIn(parsed(await helm(environment(), [...off, ...served])))).toBeUndefined();
  const kind = ['--api-versions', 'admissionregistration.k8s.io/v1/ValidatingAdmissionPolicy'];
  const all = await helm(environment(), [...template('berth-system', 'hosting=cloud'), ...served, ...kind]);
  expect(policyIn(parsed(all))).toBeDefined();
});
