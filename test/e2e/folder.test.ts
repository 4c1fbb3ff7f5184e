/** `berth deploy NAME FOLDER` in self_hosted mode, installed by the chart: builds and the app run in pods of a real node. */
import { mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { CHART } from '../../scripts/manifests.ts';
import { FIRST_TIME_MS } from '../cluster/images/tools.ts';
import { kubectl } from '../cluster/kubectl.ts';
import { waitFor } from '../cluster/wait.ts';
import { helm } from '../installation/helm.ts';
import { BERTH_NAMESPACE } from '../installation/install.ts';
import { runProgram } from '../integration/cli/cli.ts';
import { NAMESPACE, node, whySkipped } from './harness/environment.ts';
import { type FolderCluster, startFolderCluster } from './harness/folder-cluster.ts';

const NAME = 'my-folder';
const MINUTES = 60_000;

/** Fields of the new deployment: one small pod. */
const FIELDS = {
  source_config: {
    database: { enabled: false },
    cache: { enabled: false },
    resource_spec: { cpu: 0.05, memory_mb: 128 },
  },
};
const PACKAGE = { scripts: { start: 'node server.js' } };
const server = (text: string) =>
  `require('node:http').createServer((_, response) => response.end('${text}')).listen(process.env.PORT);\n`;

describe.skipIf(whySkipped() !== undefined)('a folder, in self_hosted mode', () => {
  let cluster: FolderCluster;
  let home: string;
  let folder: string;
  beforeAll(async () => {
    cluster = await startFolderCluster(node().pushHost, () => undefined);
    home = mkdtempSync(join(realpathSync(tmpdir()), 'berth-folder-'));
    folder = mkdtempSync(join(home, 'app-'));
    writeFileSync(join(home, 'fields.json'), JSON.stringify(FIELDS));
    writeFileSync(join(folder, 'package.json'), JSON.stringify(PACKAGE));
  }, FIRST_TIME_MS);
  afterAll(async () => {
    await cluster?.stop();
    if (home !== undefined) rmSync(home, { recursive: true, force: true });
  });

  const berth = (...words: string[]) => {
    const env = { BERTH_URL: cluster.apiUrl, BERTH_API_KEY: cluster.apiKey, HOME: home };
    return runProgram(words, { env });
  };
  /** Runs a command that must succeed. Returns what it printed to standard output. */
  async function berthOk(...words: string[]): Promise<string> {
    const { code, out, err } = await berth(...words);
    expect(code, `berth ${words.join(' ')}: ${out}${err}`).toBe(0);
    return out;
  }
  const deploy = (...more: string[]) => berth('deploy', NAME, folder, ...more);

  /** Waits until the Service of the app responds with a text. */
  async function untilServes(text: string): Promise<void> {
    type Services = { items: { spec: { clusterIP: string; ports: { port: number }[] } }[] };
    const labels = 'app.kubernetes.io/component=app';
    const args = ['-n', NAMESPACE, 'get', 'services', '-l', labels, '-o', 'json'];
    const [found] = (JSON.parse(await kubectl(cluster.node, args)) as Services).items;
    const { clusterIP = '', ports = [] } = found?.spec ?? {};
    const url = await cluster.node.forward(clusterIP, ports[0]?.port ?? 0);
    await waitFor(`the app to respond with ${text}`, async () => (await (await fetch(url)).text()) === text, {
      timeoutMs: MINUTES,
      intervalMs: 300,
    });
  }

  it(
    'becomes READY from the command to the pod, and its build runs in the namespace of builds',
    async () => {
      writeFileSync(join(folder, 'server.js'), server('one'));
      const { code, out, err } = await deploy('--file', join(home, 'fields.json'), '-o', 'json');
      expect(code, `${out}${err}`).toBe(0);
      expect(err).toMatch(/^source \| [\s\S]*^image \| [\s\S]*^result \| built sha256:/m);
      expect(JSON.parse(out)).toMatchObject({ name: NAME, source: 'internal_image', status: 'READY' });
      await untilServes('one');
      const level = ['-o', 'jsonpath={.metadata.labels.pod-security\\.kubernetes\\.io/enforce}'];
      expect(await kubectl(cluster.node, ['get', 'namespace', 'berth-builds', ...level])).toBe('privileged');
    },
    10 * MINUTES,
  );

  it(
    'gets another revision when it is deployed with other content',
    async () => {
      writeFileSync(join(folder, 'server.js'), server('two'));
      const { code, out, err } = await deploy();
      expect(code, `${out}${err}`).toBe(0);
      await untilServes('two');
    },
    10 * MINUTES,
  );

  it(
    'is not needed for a rollback and for a redeploy',
    async () => {
      rmSync(folder, { recursive: true });
      await berthOk('revisions', 'rollback', NAME, '1', '--wait');
      await untilServes('one');
      await berthOk('revisions', 'redeploy', NAME, '2', '--wait');
      await untilServes('two');
      await berthOk('revisions', 'redeploy', NAME, '--wait');
      type Listed = { number: number; status: string; resolved_image: string; upload: { digest: string } };
      const list = JSON.parse(await berthOk('revisions', 'list', NAME, '-o', 'json')) as Listed[];
      const numbered = new Map(list.map((revision) => [revision.number, revision]));
      expect(numbered.get(3)?.resolved_image).toBe(numbered.get(1)?.resolved_image);
      expect(numbered.get(3)?.upload).toEqual(numbered.get(1)?.upload);
      expect(numbered.get(4)?.resolved_image).toBe(numbered.get(2)?.resolved_image);
      expect(numbered.get(5)).toMatchObject({ status: 'DEPLOYED', upload: numbered.get(2)?.upload });
    },
    10 * MINUTES,
  );

  it(
    'is rejected with the reason when the chart disables builds',
    async () => {
      const upgrade = ['upgrade', 'berth', CHART, '-n', BERTH_NAMESPACE, '--reuse-values'];
      await helm(cluster.node, [...upgrade, '--set', 'builds.enabled=false', '--wait', '--timeout', '180s']);
      const other = mkdtempSync(join(home, 'other-'));
      writeFileSync(join(other, 'package.json'), JSON.stringify(PACKAGE));
      writeFileSync(join(other, 'server.js'), server('three'));
      const rejected = async () => {
        const { code, err } = await berth('deploy', NAME, other);
        if (code === 0 || !err.includes('builds.enabled')) throw new Error(err);
        return true;
      };
      await waitFor('an upload to be rejected', rejected, { timeoutMs: 2 * MINUTES, intervalMs: 1_000 });
    },
    10 * MINUTES,
  );
});
