/**
 * Berth on a real node: a kubelet with containerd and runc, images that are built and pulled, containers that run.
 *
 *   npm run e2e [-- FILTER …] [-- --require | --help]
 */
import { whyNoRealNode } from '../test/cluster/real-node/preconditions.ts';
import { runTests } from './test.ts';

const HELP = `usage: npm run e2e [-- FILTER …] [-- OPTIONS]
Starts a real node (kubelet, containerd, runc, kube-proxy, CoreDNS) beside a control plane, in namespaces of its own;
builds Berth's image with BuildKit, installs it with the chart, and runs the tests of test/e2e against containers.
The first time its programs are built with Go: 10 to 20 minutes. Afterwards it takes 5 to 10.

  --require   a machine that cannot run a kubelet is a failure (exit code 1), not a skip
  FILTER      the files whose path holds it; other options go to vitest

Needs Linux with root (namespaces, mounts, cgroups v1 or v2), Go, and Debian's or Ubuntu's apt.
Exit code: 0 passed, or skipped with the reason printed; 1 failed.`;

async function main(args: readonly string[]): Promise<number> {
  const why = whyNoRealNode();
  if (why === undefined)
    return await runTests(['--project', 'e2e', ...args.filter((arg) => arg !== '--require')]);
  console.log(`skipped: no kubelet can run here: ${why}.`);
  return args.includes('--require') ? 1 : 0;
}

if (process.argv.includes('--help')) console.log(HELP);
else process.exitCode = await main(process.argv.slice(2));
