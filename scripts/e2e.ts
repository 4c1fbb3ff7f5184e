/**
 * Runs the long tests, and the tests of Berth on a real node: a kubelet with containerd and runc that pulls images and runs
 * containers.
 *
 *   npm run e2e [-- FILTER …] [-- --require | --help]
 */
import { whyNoRealNode } from '../test/cluster/real-node/preconditions.ts';
import { buildPrograms, runTests } from './test.ts';

const HELP = `usage: npm run e2e [-- FILTER …] [-- OPTIONS]
Runs the long tests (test/integration/**/*.long.test.ts): installation of every profile, releases, restarts, deletions.
Then starts a control plane and a real node (kubelet, containerd, runc, kube-proxy, CoreDNS) in separate Linux namespaces.
Builds Berth's image with BuildKit, installs it with the chart, and runs the tests of test/e2e against containers.
The first run builds its programs with Go and takes 20 to 30 minutes. Later runs take 10 to 15 minutes.

  --require   fail (exit code 1) if this machine cannot run a kubelet, or if a test is skipped, for example because Node 22, tmux or
              the previous version is not available, or because -t leaves it out. Without --require, skipped tests are only counted
  FILTER      the files whose path contains it; vitest gets all other options

The real node needs Linux with root (namespaces, mounts, cgroups v1 or v2), Go, and Debian's or Ubuntu's apt.
Exit code: 0 passed, with the reason printed if the real node was skipped; 1 failed.`;

async function main(args: readonly string[]): Promise<number> {
  const filters = args.filter((arg) => arg !== '--require');
  const isRequired = args.includes('--require');
  const why = whyNoRealNode();
  await buildPrograms();
  const projects = ['--project', 'long', ...(why === undefined ? ['--project', 'e2e'] : [])];
  const code = await runTests([...projects, ...filters], { allowSkips: !isRequired });
  if (why === undefined) return code;
  console.log(`skipped the real node: no kubelet can run here: ${why}.`);
  return isRequired ? 1 : code;
}

if (process.argv.includes('--help')) console.log(HELP);
else process.exitCode = await main(process.argv.slice(2));
