/**
 * Runs the tests of Berth on a real node: a kubelet with containerd and runc that pulls images and runs containers.
 *
 *   npm run e2e [-- FILTER …] [-- --require | --help]
 */
import { whyNoRealNode } from '../test/cluster/real-node/preconditions.ts';
import { runTests } from './test.ts';

const HELP = `usage: npm run e2e [-- FILTER …] [-- OPTIONS]
Starts a control plane and a real node (kubelet, containerd, runc, kube-proxy, CoreDNS) in separate Linux namespaces. Builds
Berth's image with BuildKit, installs it with the chart, and runs the tests of test/e2e against containers.
The first run builds its programs with Go and takes 10 to 20 minutes. Later runs take 5 to 10 minutes.

  --require   fail (exit code 1) instead of skipping the tests if this machine cannot run a kubelet
  FILTER      the files whose path contains it; vitest gets all other options

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
