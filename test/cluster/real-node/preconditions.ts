import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, rmdirSync } from 'node:fs';
import { join } from 'node:path';
import { hierarchies } from './cgroup.ts';

const COMMANDS = ['unshare', 'nsenter', 'mount', 'ip', 'apt-get', 'dpkg-deb'];

/**
 * Why a kubelet cannot run on this machine. Undefined if no reason is known. Changes nothing on the machine.
 */
export function whyNoRealNode(): string | undefined {
  if (process.platform !== 'linux') return `a kubelet needs Linux, and this is ${process.platform}`;
  if (process.getuid?.() !== 0) {
    return 'a kubelet needs root (it mounts volumes and limits containers), but this process is not root';
  }
  const folders = (process.env['PATH'] ?? '').split(':');
  const missing = COMMANDS.filter((name) => !folders.some((folder) => existsSync(join(folder, name))));
  if (missing.length > 0) return `this machine has no ${missing.join(', ')}`;
  if (!/\boverlay\b/.test(readFileSync('/proc/filesystems', 'utf8'))) return 'the kernel has no overlayfs';
  return whyNoNamespaces() ?? whyNoCgroups();
}

function whyNoNamespaces(): string | undefined {
  const script = 'mount --make-rshared / && mount -t tmpfs tmpfs /run && ip link add node0 type bridge';
  try {
    const namespaces = ['--mount', '--net', '--pid', '--fork', '--mount-proc', '--propagation', 'private'];
    execFileSync('unshare', [...namespaces, 'sh', '-ec', script], { stdio: ['ignore', 'ignore', 'pipe'] });
    return undefined;
  } catch (error) {
    const message = String((error as { stderr?: Buffer }).stderr ?? '').trim();
    return `this process may not create namespaces, mounts and network devices: ${message || String(error)}`;
  }
}

function whyNoCgroups(): string | undefined {
  const found = hierarchies();
  if (found.length === 0) return 'no cgroups are mounted at /sys/fs/cgroup';
  for (const hierarchy of found) {
    const probe = join(hierarchy, `berth-probe-${process.pid}`);
    try {
      mkdirSync(probe);
      rmdirSync(probe);
    } catch (error) {
      return `cgroups cannot be created in ${hierarchy}: ${(error as Error).message}`;
    }
  }
  return undefined;
}
