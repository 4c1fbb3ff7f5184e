/** Files that every base image has: users, links of merged folders, commands of busybox. */
import { execFile } from 'node:child_process';
import { appendFileSync, chmodSync, existsSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';

/** If a package has programs and libraries only in /usr, creates links such as /bin and /lib. */
export function linkMergedFolders(root: string): void {
  for (const folder of ['bin', 'sbin', 'lib', 'lib64']) {
    if (existsSync(join(root, folder)) || !existsSync(join(root, 'usr', folder))) continue;
    symlinkSync(`usr/${folder}`, join(root, folder));
  }
}

export function writeSystemFiles(root: string): void {
  const folders: Record<string, number> = { tmp: 0o1777, root: 0o700, etc: 0o755, proc: 0o755, sys: 0o755 };
  for (const [folder, mode] of Object.entries({ ...folders, dev: 0o755, 'home/app': 0o777 })) {
    mkdirSync(join(root, folder), { recursive: true });
    chmodSync(join(root, folder), mode);
  }
  const users = [
    'root:x:0:0::/root:/bin/sh',
    'app:x:1000:1000::/home/app:/bin/sh',
    // The user of the official images of PostgreSQL, Valkey and Redis.
    'data:x:999:999::/:/bin/sh',
    'nobody:x:65534:65534::/:',
  ];
  const groups = ['root:x:0:', 'app:x:1000:', 'data:x:999:', 'nogroup:x:65534:'];
  write(root, 'etc/passwd', users);
  write(root, 'etc/group', groups);
  write(root, 'etc/nsswitch.conf', ['passwd: files', 'group: files', 'hosts: files dns']);
}

/** Adds a user with a group of the same name and id. */
export function addUser(root: string, name: string, id: number): void {
  appendFileSync(join(root, 'etc/passwd'), `${name}:x:${id}:${id}::/nonexistent:/sbin/nologin\n`);
  appendFileSync(join(root, 'etc/group'), `${name}:x:${id}:\n`);
}

/** Writes lines to a file of the image, and creates its folder. */
export function write(root: string, path: string, lines: readonly string[], mode = 0o644): void {
  mkdirSync(dirname(join(root, path)), { recursive: true });
  writeFileSync(join(root, path), `${lines.join('\n')}\n`);
  chmodSync(join(root, path), mode);
}

const folderOfBusybox = (root: string) =>
  ['bin', 'usr/bin'].find((folder) => existsSync(join(root, folder, 'busybox'))) ?? 'bin';

/** Creates a link for each command of busybox that no other package has. @param runnable a busybox of this machine's architecture */
export async function linkApplets(root: string, runnable: string): Promise<void> {
  const busybox = folderOfBusybox(root);
  const { stdout } = await promisify(execFile)(join(runnable, folderOfBusybox(runnable), 'busybox'), [
    '--list',
  ]);
  for (const applet of stdout.trim().split('\n')) {
    const taken = ['bin', 'usr/bin'].some((folder) => existsSync(join(root, folder, applet)));
    if (!taken) symlinkSync('busybox', join(root, busybox, applet));
  }
}
