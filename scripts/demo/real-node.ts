/** The demo on a real node: its cluster, and images with the names that the samples use. */
import { execFile } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { pushBaseImage } from '../../test/cluster/images/base-images.ts';
import { crane } from '../../test/cluster/images/crane.ts';
import { type RealNode, startRealNode } from '../../test/cluster/real-node/node.ts';

/** Samples that one node can run: they need no network file system, no storage driver and no program that the demo lacks. */
export const SAMPLES_OF_A_NODE: readonly string[] = ['internal-image.json', 'shop.json', 'web-api.json'];

/** The images of these samples: repository and tag without the host. */
const IMAGES = [
  'billing/invoice-printer:1.0.4',
  'example/bookmarks:2.3.0',
  'example/flower-shop:5.1.0',
  'fluent/fluent-bit:4.1.1',
];

/** The image that README.md deploys, under the name that it has there. It is Debian's nginx. */
const NGINX = ['library/nginx:1.28', 'library/nginx:1.29'];

/** The api component serves a page. All other components sleep. */
const PROGRAM = `#!/bin/sh
echo "$(date) \${COMPONENT:-sidecar} starts: $*"
[ "\${COMPONENT:-}" = api ] || exec sleep 2147483647
mkdir -p /tmp/page && echo "$DEPLOYMENT_NAME, revision $REVISION_ID, on $HOSTNAME" > /tmp/page/index.html
exec httpd -f -v -p "$PORT" -h /tmp/page
`;
const MIGRATION = '#!/bin/sh\necho "$(date) nothing to migrate: $*"\n';

/** Settings of Berth for the real node: images of database and cache that its registry has. It mirrors every registry. */
export const REAL_NODE_SETTINGS: Readonly<Record<string, string>> = {
  BERTH_DATABASE_IMAGE: 'docker.io/base/postgres:latest',
  BERTH_CACHE_IMAGE: 'docker.io/base/redis:latest',
};

/** Starts the node and pushes the images. @throws BinariesMissingError if this machine cannot run a kubelet */
export async function openRealNode(print: (line: string) => void): Promise<RealNode> {
  const node = await startRealNode({ log: print });
  try {
    for (const name of ['postgres', 'redis'] as const) await pushBaseImage(name, node.registry.host);
    for (const repository of NGINX) await pushBaseImage('nginx', node.registry.host, { repository });
    await pushPrograms(node.registry.host);
    return node;
  } catch (error) {
    await node.stop();
    throw error;
  }
}

async function pushPrograms(host: string): Promise<void> {
  const { ref: base } = await pushBaseImage('static', host);
  const folder = mkdtempSync(join(tmpdir(), 'berth-demo-image-'));
  try {
    mkdirSync(join(folder, 'app'));
    for (const [name, script] of Object.entries({ start: PROGRAM, manage: MIGRATION })) {
      writeFileSync(join(folder, 'app', name), script);
      chmodSync(join(folder, 'app', name), 0o755);
    }
    const layer = join(folder, 'layer.tar');
    await promisify(execFile)('tar', ['--create', '--file', layer, '--directory', folder, 'app']);
    for (const image of IMAGES) {
      const name = `${host}/${image}`;
      await crane(['append', '--base', base, '--new_layer', layer, '--new_tag', name]);
      await crane(['mutate', name, '--entrypoint', '/app/start', '--tag', name]);
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
