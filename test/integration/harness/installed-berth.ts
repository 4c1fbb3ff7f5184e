/** Berth's custom resource and rights in a cluster that the files of a run share. No file changes them. */
import { mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { KubectlAccess } from '../../cluster/kubectl.ts';
import { installBerth, roleKubeconfigs } from '../../installation/install.ts';

type Kubeconfigs = Awaited<ReturnType<typeof roleKubeconfigs>>;

/** What this process has installed: the text of the kubeconfigs, by the kubeconfig of the cluster's administrator. */
const installed = new Map<string, Promise<Kubeconfigs>>();

async function install(access: KubectlAccess): Promise<Kubeconfigs> {
  await installBerth(access);
  const folder = mkdtempSync(join(realpathSync(tmpdir()), 'berth-kubeconfigs-'));
  try {
    const paths = await roleKubeconfigs(access, folder);
    return {
      listener: readFileSync(paths.listener, 'utf8'),
      operator: readFileSync(paths.operator, 'utf8'),
    };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Installs Berth, unless this process has done so. The API server needs half a second of processor time for it. */
export async function ensureInstalled(access: KubectlAccess): Promise<Kubeconfigs> {
  const { kubeconfigPath } = access;
  const done = installed.get(kubeconfigPath) ?? install(access);
  installed.set(kubeconfigPath, done);
  try {
    return await done;
  } catch (error) {
    installed.delete(kubeconfigPath);
    throw error;
  }
}

/** Installs Berth as `ensureInstalled` does, and writes the kubeconfigs of the two ServiceAccounts into `folder`. */
export async function installedKubeconfigs(access: KubectlAccess, folder: string): Promise<Kubeconfigs> {
  const texts = await ensureInstalled(access);
  const write = (role: keyof Kubeconfigs) => {
    const path = join(folder, `berth-${role}.kubeconfig`);
    writeFileSync(path, texts[role], { mode: 0o600 });
    return path;
  };
  return { listener: write('listener'), operator: write('operator') };
}
