import { globSync, readFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { pinnedVersion } from '../../test/cluster/binaries.ts';
import { buildPrograms, runAndCount } from '../test.ts';
import type { CompatResult } from './result.ts';

/** Runs the tests of the cluster on other minor versions of Kubernetes than that of the development cluster. */

const MODULES = 'test/compat/kubernetes';

/**
 * The tests that run on each version: installation, upgrade and removal, the whole of Berth, and its parts in the cluster.
 * The others do not depend on the version.
 */
const FOLDERS = ['test/integration/cluster/', 'test/integration/whole/', 'test/integration/install/'];

/** The version that a Go module pins, by minor version. */
export function kubernetesVersions(): Record<string, string> {
  const files = globSync(join(MODULES, '*', 'go.mod')).sort();
  return Object.fromEntries(
    files.map((file) => [
      basename(dirname(file)),
      pinnedVersion(readFileSync(file, 'utf8'), 'k8s.io/kubernetes').slice(1),
    ]),
  );
}

/** Builds the control plane of this minor version, and runs the tests on it. */
export async function testKubernetes(
  minor: string,
  version: string,
  filters: readonly string[],
): Promise<CompatResult> {
  process.env['BERTH_TEST_KUBERNETES'] = minor;
  console.log(`Kubernetes ${version}: build, then tests`);
  await buildPrograms();
  const started = Date.now();
  const projects = ['--project', 'integration', '--project', 'long'];
  const { code, line } = await runAndCount([...projects, ...(filters.length > 0 ? filters : FOLDERS)]);
  const minutes = Math.round((Date.now() - started) / 60_000);
  return { line: `Kubernetes ${version}: ${line}, ${minutes} min`, passed: code === 0 };
}
