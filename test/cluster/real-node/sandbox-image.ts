import { execFile } from 'node:child_process';
import { copyFileSync, existsSync, mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { debianTree } from '../images/debian-packages.ts';
import { writeOciLayout } from '../images/oci-layout.ts';

/**
 * Creates the image of the container that holds the namespaces of a pod, as a tar file in the state folder. Its process only
 * sleeps. It needs to reap no processes, unless a pod uses a shared process namespace.
 */
export async function sandboxImage(stateDir: string): Promise<string> {
  const folder = join(stateDir, 'sandbox');
  const [root, layout, file] = [join(folder, 'root'), join(folder, 'layout'), join(stateDir, 'sandbox.tar')];
  const tree = await debianTree({ name: 'static', packages: ['busybox-static'] });
  const busybox = ['bin', 'usr/bin']
    .map((path) => join(tree, path, 'busybox'))
    .find((path) => existsSync(path));
  mkdirSync(root, { recursive: true });
  copyFileSync(busybox ?? '', join(root, 'busybox'));
  // The maximum: 68 years.
  await writeOciLayout(layout, root, {
    Entrypoint: ['/busybox', 'sleep', '2147483647'],
    User: '65535:65535',
  });
  await promisify(execFile)('tar', ['--create', '--file', file, '--directory', layout, '.']);
  rmSync(folder, { recursive: true });
  return file;
}
