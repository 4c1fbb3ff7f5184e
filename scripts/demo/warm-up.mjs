/**
 * Starts the build of the local cluster while npm installs the packages of a first demo: downloads the Go modules, and compiles the
 * standard library. The installation leaves processors idle. This file needs only Node 18 and Go, and prints nothing. If it
 * fails, the demo downloads and compiles everything itself.
 */
import { spawn } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import process from 'node:process';
import { fileURLToPath } from 'node:url';

const cluster = join(dirname(dirname(dirname(fileURLToPath(import.meta.url)))), 'test', 'cluster');
const { flags, environment } = JSON.parse(readFileSync(join(cluster, 'go', 'flags.json'), 'utf8'));

const go = onPath('go', ['/usr/local/go/bin']);
if (go !== undefined && willBuild(process.argv.slice(2), process.env)) {
  for (const name of ['control-plane', 'etcd']) run(name, ['list', '-deps', ...flags, ...packagesOf(name)]);
  run('etcd', ['build', ...flags, 'std']);
}

/** Whether the demo will probably build a local cluster: nothing offers another one, and none was built before. */
function willBuild(options, env) {
  if (options.some((option) => /^--(help|kubeconfig|context)\b/.test(option))) return false;
  if (env.KUBEBUILDER_ASSETS || onPath('kube-apiserver', [])) return false;
  const hasContext = env.KUBECONFIG || existsSync(join(homedir(), '.kube', 'config'));
  if (hasContext && !options.includes('--local')) return false;
  const cache = join(env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'berth', 'bin');
  return !(existsSync(cache) && readdirSync(cache).some((name) => name.startsWith('kubernetes-')));
}

/** The programs that a module builds, except for those of a real node. */
function packagesOf(name) {
  const goMod = readFileSync(join(cluster, name, 'go.mod'), 'utf8');
  const [, list] = /^tool \(([^)]*)\)/m.exec(goMod) ?? /^tool (.*)$/m.exec(goMod) ?? [];
  const packages = (list ?? '').split(/\s+/).filter((text) => text !== '');
  return packages.filter((text) => !/\/(kubelet|kube-proxy)$/.test(text));
}

function run(name, args) {
  const options = { cwd: join(cluster, name), stdio: 'ignore', env: { ...process.env, ...environment } };
  spawn(go, args, options).on('error', () => {});
}

function onPath(name, others) {
  const folders = [...(process.env.PATH ?? '').split(delimiter), ...others];
  return folders.map((folder) => join(folder, name)).find((path) => existsSync(path));
}
