import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { removeState } from '../../cluster/layout.ts';
import { withLock } from '../../cluster/lock.ts';
import { freePorts, isPortTaken } from '../../cluster/ports.ts';
import { unprivilegedUser } from '../../cluster/postgres-binaries.ts';
import {
  assertRunning,
  ProcessDiedError,
  runningPid,
  startProcess,
  stopProcess,
  untilNamed,
} from '../../cluster/processes.ts';
import { waitFor } from '../../cluster/wait.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'local-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

describe('freePorts', () => {
  test('returns different ports that are free', async () => {
    const ports = await freePorts(5);
    expect(new Set(ports).size).toBe(5);
    for (const port of ports) {
      const server = createServer();
      await new Promise<void>((resolve, reject) => {
        server.once('error', reject);
        server.listen(port, '127.0.0.1', resolve);
      });
      await new Promise((resolve) => server.close(resolve));
    }
  });

  test.each([
    ['listen tcp 127.0.0.1:20001: bind: address already in use', true],
    ['could not bind IPv4 address "127.0.0.1": Address already in use', true],
    ['panic: something else', false],
  ])('isPortTaken evaluates the log "%s" to %s', (log, taken) => {
    expect(isPortTaken(log)).toBe(taken);
  });
});

describe('withLock', () => {
  test('runs one action at a time', async () => {
    const events: string[] = [];
    const work = (name: string) => async () => {
      events.push(`${name} begins`);
      await Promise.resolve();
      events.push(`${name} ends`);
    };
    const path = join(folder, 'lock');
    await Promise.all(['a', 'b', 'c'].map((name) => withLock(path, () => {}, work(name))));
    expect(events.filter((_, index) => index % 2 === 0).every((event) => event.endsWith('begins'))).toBe(
      true,
    );
    expect(events.toSorted()).toEqual(['a begins', 'a ends', 'b begins', 'b ends', 'c begins', 'c ends']);
    expect(existsSync(path)).toBe(false);
  });

  test('takes over the lock of a process that no longer exists', async () => {
    const path = join(folder, 'lock');
    writeFileSync(path, '999999999\n');
    expect(
      await withLock(
        path,
        () => {},
        async () => 'done',
      ),
    ).toBe('done');
  });

  test('releases the lock when the action fails', async () => {
    const path = join(folder, 'lock');
    await expect(
      withLock(
        path,
        () => {},
        () => Promise.reject(new Error('no')),
      ),
    ).rejects.toThrow('no');
    expect(existsSync(path)).toBe(false);
  });
});

describe('processes', () => {
  const sleeper = () => ({ name: 'sleeper', command: '/bin/sh', args: ['-c', 'sleep 60; :', `${folder}/x`] });

  test('are found by their pid file and stopped', async () => {
    await startProcess(folder, sleeper());
    expect(runningPid(folder, 'sleeper')).toBeGreaterThan(1);
    await stopProcess(folder, 'sleeper');
    expect(runningPid(folder, 'sleeper')).toBeUndefined();
  });

  test('are reported with the end of their log when they end too early', async () => {
    await startProcess(folder, {
      name: 'failing',
      command: '/bin/sh',
      args: ['-c', 'echo no disk; exit 1', `${folder}/x`],
    });
    const waiting = waitFor('it to be ready', async () => false, {
      timeoutMs: 10_000,
      giveUpIf: () => assertRunning(folder, ['failing']),
    });
    await expect(waiting).rejects.toThrow(ProcessDiedError);
    await expect(waiting).rejects.toThrow(/failing stopped unexpectedly.*no disk/s);
  });

  test('are not stopped when another process has their pid', async () => {
    await startProcess(folder, sleeper());
    const pid = runningPid(folder, 'sleeper');
    writeFileSync(join(folder, 'pids', 'other.pid'), `${process.pid} SIGTERM\n`);
    expect(runningPid(folder, 'other')).toBeUndefined();
    await stopProcess(folder, 'other');
    expect(runningPid(folder, 'sleeper')).toBe(pid);
    await stopProcess(folder, 'sleeper');
  });

  test('cause an error that names the command when it does not exist', async () => {
    const spec = { name: 'none', command: '/no/such/command', args: [] };
    await expect(startProcess(folder, spec)).rejects.toThrow(/failed to start \/no\/such\/command/);
  });
});

describe('untilNamed', () => {
  const child = { pid: 7, exitCode: null, signalCode: null };

  test('waits while the process has no command line yet', async () => {
    const commandLines = ['', '', 'node /folder/x'];
    let attempts = 0;
    await untilNamed(child, () => commandLines[attempts++] ?? '');
    expect(attempts).toBe(3);
  });

  test.each([
    ['the process has ended', { ...child, exitCode: 1 }, (): string => ''],
    [
      'the command line cannot be read',
      child,
      (): string => {
        throw new Error('ENOENT');
      },
    ],
  ])('ends when %s', async (_, which, read) => {
    await expect(untilNamed(which, read)).resolves.toBeUndefined();
  });
});

describe('waitFor', () => {
  test('returns the result of the check', async () => {
    const answers = [undefined, false, 'yes'] as const;
    let attempt = 0;
    const result = await waitFor('an answer', async () => answers[attempt++], {
      timeoutMs: 1000,
      intervalMs: 1,
    });
    expect(result).toBe('yes');
  });

  test('fails with the awaited state and the last cause', async () => {
    const waiting = waitFor('the sun', () => Promise.reject(new Error('clouds')), {
      timeoutMs: 5,
      intervalMs: 1,
    });
    await expect(waiting).rejects.toThrow('failed to wait for the sun within 0.005 s: clouds');
  });
});

test('removeState removes only the files of a cluster', () => {
  for (const name of ['cluster.json', 'admin.kubeconfig', 'mine.txt']) writeFileSync(join(folder, name), '');
  removeState(folder);
  expect(existsSync(join(folder, 'admin.kubeconfig'))).toBe(false);
  expect(existsSync(join(folder, 'mine.txt'))).toBe(true);
});

describe('unprivilegedUser', () => {
  const passwd = 'root:x:0:0::/root:/bin/sh\nnobody:x:65534:65533::/:/bin/false\n';

  test('returns undefined for an ordinary user', () => {
    expect(unprivilegedUser(1000, () => passwd)).toBeUndefined();
  });

  test('returns another user for root, postgres if it exists', () => {
    expect(unprivilegedUser(0, () => passwd)).toEqual({ uid: 65534, gid: 65533 });
    const withPostgres = `${passwd}postgres:x:101:104::/:/bin/sh\n`;
    expect(unprivilegedUser(0, () => withPostgres)).toEqual({ uid: 101, gid: 104 });
  });

  test('fails with the next step when root has no such user', () => {
    expect(() => unprivilegedUser(0, () => 'root:x:0:0::/root:/bin/sh\n')).toThrow(
      /ordinary user, or set DATABASE_URL/,
    );
  });
});
