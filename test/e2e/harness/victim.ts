/** A process that starts a node with a pod, says where, and waits to be killed. */
import { pushBaseImage } from '../../cluster/images/base-images.ts';
import { kubectl } from '../../cluster/kubectl.ts';
import { startRealNode } from '../../cluster/real-node/node.ts';

const node = await startRealNode({ log: () => undefined });
await pushBaseImage('static', node.registry.host);
const image = `--image=${node.imageHost}/base/static:latest`;
await kubectl(node, ['run', 'sleeper', image, '--', 'sleep', '3600']);
await kubectl(node, ['wait', '--for=condition=Ready', 'pod/sleeper', '--timeout=60s']);
process.send?.(node.stateDir);
setInterval(() => {}, 60_000);
