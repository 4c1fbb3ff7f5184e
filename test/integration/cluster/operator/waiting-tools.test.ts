/** kstatus (Flux, kpt, cli-utils), Argo CD and kubectl wait: what they conclude from the status of a ManagedDeployment. */
import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import type { KubeClient } from '../../../../src/cluster/kube/client/client.ts';
import { healthOf } from '../../../cluster/gitops-health.ts';
import { allShellBlocks } from '../../../docs/pages.ts';
import { environment } from '../../harness/environment.ts';
import {
  condition,
  type OperatorWorld,
  operatorWorld,
  type RunningOperator,
  startOperator,
} from '../../harness/operator.ts';
import { App, adminClient, appSpec } from '../../harness/rollouts.ts';
import { statusCorpus } from '../../harness/status-corpus.ts';

const settings = fileURLToPath(new URL('../../../../manifests/argocd/argocd-cm.yaml', import.meta.url));
const page = fileURLToPath(new URL('../../../../docs/custom-resource.md', import.meta.url));
const { data } = parse(readFileSync(settings, 'utf8')) as { data: Record<string, string> };
const script = data['resource.customizations.health.berth.dev_ManagedDeployment'] ?? '';

test('kstatus and Argo CD compute the state of every status of the corpus', async () => {
  const corpus = await statusCorpus();
  const health = await healthOf(
    corpus.map(({ object }) => object),
    script,
  );
  const computed = corpus.map(({ name }, index) => [name, health[index]?.kstatus, health[index]?.argocd]);
  expect(computed).toEqual(corpus.map(({ name, kstatus, argocd }) => [name, kstatus, argocd]));
});

/** A row of the table of states in docs/custom-resource.md. */
interface DocumentedState {
  readonly state: string;
  readonly conditions: Readonly<Record<string, string>>;
  readonly tools: readonly string[];
}

function documentedStates(): DocumentedState[] {
  const text = readFileSync(page, 'utf8');
  const table = text.slice(text.indexOf('| state |')).split('\n\n')[0] ?? '';
  return table
    .split('\n')
    .slice(2)
    .map((line) => {
      const [state = '', ...cells] = line
        .split('|')
        .slice(1, -1)
        .map((cell) => cell.trim());
      const [Ready = '', Reconciling = '', Stalled = '', ...tools] = cells;
      return { state, conditions: { Ready, Reconciling, Stalled }, tools };
    });
}

test('the table of states in docs/custom-resource.md contains the conditions and the results of the corpus', async () => {
  const documented = documentedStates();
  const corpus = await statusCorpus();
  for (const { name, row, kstatus, argocd, object } of corpus) {
    const state = documented.find((each) => each.state.startsWith(row));
    expect([name, state?.tools]).toEqual([name, [kstatus, argocd]]);
    const conditions =
      (object as { status: { conditions?: { type: string; status: string }[] } }).status.conditions ?? [];
    for (const [type, value] of Object.entries(state?.conditions ?? {})) {
      // An empty cell of Ready means that its value does not matter.
      if (type === 'Ready' && value === '') continue;
      const found = conditions.find((each) => each.type === type)?.status ?? '';
      expect([name, type, found]).toEqual([name, type, value]);
    }
  }
  const rows = documented.map(({ state }) => corpus.some(({ row }) => state.startsWith(row)));
  expect(rows).toEqual(documented.map(() => true));
});

test('at most one of Reconciling and Stalled is True in every status of the corpus', async () => {
  for (const { name, object } of await statusCorpus()) {
    const { conditions = [] } = (object as { status: { conditions?: { type: string; status: string }[] } })
      .status;
    const found = conditions.filter(({ type }) => type === 'Reconciling' || type === 'Stalled');
    expect([name, found.length <= 1, found.every(({ status }) => status === 'True')]).toEqual([
      name,
      true,
      true,
    ]);
  }
});

describe('in a cluster', () => {
  const GOOD = 'registry.test/web:1';
  const BAD = 'registry.test/web:fail-image-pull';
  let world: OperatorWorld;
  let operator: RunningOperator;
  let client: KubeClient;
  beforeAll(async () => {
    world = await operatorWorld('waiting');
    client = await adminClient();
    operator = await startOperator({ ...world.settings, patience: { imagePullMs: 2_000 } });
  });
  afterAll(async () => {
    await operator?.stop();
    await client?.close();
    await world?.end();
  });
  const wait = (name: string, condition: string, timeout = '90s') =>
    world.kubectl('wait', `--for=${condition}`, `mdep/${name}`, `--timeout=${timeout}`);
  /** Exit code of the commands of docs/custom-resource.md, after each process that they start has ended. */
  const documentedWait = async () => {
    const blocks = allShellBlocks().filter(
      ({ page, text }) => page === 'docs/custom-resource.md' && text.includes('wait -n'),
    );
    expect(blocks).toHaveLength(1);
    const { kubectlPath, kubeconfigPath } = environment();
    const program = `kubectl() { exec "${kubectlPath}" --kubeconfig "${kubeconfigPath}" -n ${world.namespace} "$@"; }`;
    // The last command must not replace the shell.
    const lines = (blocks[0]?.text ?? '').trimEnd().split('\n');
    const commands = [...lines.slice(0, -1), `(${lines.at(-1)})`].join('\n');
    const script = `set -eu\n${program}\n${commands} && code=0 || code=$?\nwait || true\nexit $code`;
    const shell = spawn('bash', ['-c', script], { stdio: 'ignore' });
    return new Promise<number | null>((done, failed) => shell.once('error', failed).once('exit', done));
  };
  const healthNow = async (name: string) => {
    const object = await world.get('mdep', name);
    const [health] = await healthOf([object ?? {}], script);
    return [health?.kstatus, health?.argocd];
  };

  test('kubectl wait, kstatus and Argo CD follow a deployment from creation to failure and to deletion', async () => {
    const shop = new App(client, world.namespace, 'shop');
    await shop.apply(appSpec(1, GOOD));
    expect(await documentedWait()).toBe(0);
    await wait('shop', 'condition=Ready', '1s');
    await wait('shop', 'jsonpath={.status.deploymentStatus}=READY');
    expect(await healthNow('shop')).toEqual(['Current', 'Healthy']);

    await shop.apply(appSpec(2, BAD));
    expect(await documentedWait()).toBe(1);
    await wait('shop', 'condition=Stalled', '1s');
    expect(await healthNow('shop')).toEqual(['Failed', 'Degraded']);
    const back = await shop.rolledBack();
    expect([condition(back, 'Serving'), condition(back, 'Stalled')]).toEqual([
      'True Available',
      'True ImagePullFailed',
    ]);
    expect(await healthNow('shop')).toEqual(['Failed', 'Degraded']);
    await expect(wait('shop', 'condition=Ready', '1s')).rejects.toThrow(/timed out/);

    await shop.apply(appSpec(3, GOOD));
    await wait('shop', 'condition=Ready');
    await wait('shop', 'jsonpath={.status.activeRevision.number}=3');
    expect(await healthNow('shop')).toEqual(['Current', 'Healthy']);

    await shop.apply(appSpec(3, GOOD, { suspend: true }));
    await wait('shop', 'jsonpath={.status.suspended}=true');
    await wait('shop', 'condition=Ready');
    expect(await healthNow('shop')).toEqual(['Current', 'Healthy']);
    await world.kubectl('delete', 'mdep', 'shop', '--wait=false');
    await world.kubectl('wait', '--for=delete', 'mdep/shop', '--timeout=90s');
  });

  test('a resource that no operator has observed is in progress, not current', async () => {
    await operator.stop();
    await world.apply('unseen', appSpec(1, GOOD));
    expect((await world.get('mdep', 'unseen')) as object).toMatchObject({
      status: { observedGeneration: -1 },
    });
    expect(await healthNow('unseen')).toEqual(['InProgress', 'Progressing']);
  });
});
