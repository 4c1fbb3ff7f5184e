import { expect, test } from 'vitest';
import { KubeError } from '../../../../../src/cluster/kube/client/errors.ts';
import type { LogLine } from '../../../../../src/cluster/kube/client/log-lines.ts';
import { BuildLogTail, type TurnResult } from '../../../../../src/cluster/listener/builds/build-log-tail.ts';
import type { BuildPod } from '../../../../../src/cluster/listener/builds/build-pod.ts';
import type { BuildLogsRequest } from '../../../../../src/contract/protocol/log-protocol.ts';
import { ANNOTATIONS, LABELS } from '../../../../../src/contract/resource/names.ts';
import { type KeptLog, takePiece } from '../../../../../src/domain/builds/build-log.ts';

const REVISION = '01890000-0000-7000-8000-00000000beef';
const never = new AbortController().signal;

type State = 'runs' | 'ended';
type Steps = Partial<Record<'source' | 'image' | 'result', State>>;

function pod(steps: Steps, more: { phase?: string; attempt?: number } = {}): BuildPod {
  const state = (is: State) => (is === 'runs' ? { running: {} } : { terminated: {} });
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name: 'b',
      namespace: 'builds',
      uid: 'u',
      labels: { [LABELS.revisionId]: REVISION },
      annotations: { [ANNOTATIONS.buildAttempt]: String(more.attempt ?? 1) },
    },
    status: {
      phase: more.phase ?? 'Running',
      initContainerStatuses: Object.entries(steps).map(([name, is]) => ({ name, state: state(is) })),
    },
  };
}

/** A node and a hub in memory: the hub keeps what takePiece says. */
function world() {
  const logs: Record<string, LogLine[]> = {};
  const kept: string[] = [];
  let log: KeptLog = { lines: 0, bytes: 0, attempt: null, linesBefore: 0 };
  const calls: BuildLogsRequest[] = [];
  let ended = false;
  const world = {
    calls,
    kept,
    fails: 0,
    /** The hub loses the newest lines. */
    forget(lines: number) {
      kept.splice(-lines);
      log = { ...log, lines: kept.length };
    },
    print(step: string, ...texts: (string | LogLine)[]) {
      // Three lines per second, with nanoseconds as the kubelet reports them.
      const time = (index: number) =>
        new Date(Date.UTC(2026, 10, 21, 10) + Math.floor(index / 3) * 1000 + (index % 3))
          .toISOString()
          .replace('Z', '000001Z');
      logs[step] ??= [];
      for (const text of texts)
        logs[step].push(typeof text === 'string' ? { at: time(logs[step].length), text } : text);
    },
    get ended() {
      return ended;
    },
    tail: () =>
      new BuildLogTail({
        epoch: 1,
        client: {
          async *readLog(_, { container, since }) {
            if (logs[container] === undefined)
              throw new KubeError({ kind: 'bad_request', message: 'waiting to start' });
            yield* logs[container].filter(({ at }) => since === undefined || at >= since.replace('Z', ''));
          },
        },
        hub: {
          async buildLogs(piece) {
            calls.push(piece);
            if (world.fails > 0) {
              world.fails -= 1;
              throw new Error('away');
            }
            const { attempt, first_line: firstLine, lines, last = false } = piece;
            const taken = takePiece(log, { attempt, firstLine, lines });
            const { lines: before, bytes, linesBefore, attempt: was } = log;
            if (taken.added.length > 0)
              log = {
                lines: before + taken.added.length,
                bytes,
                attempt,
                linesBefore: was === attempt ? linesBefore : before,
              };
            kept.push(...taken.added.map(({ step, text }) => `${step}: ${text}`));
            ended = last && taken.nextLine >= firstLine + lines.length;
            return { next_line: taken.nextLine, full: taken.full || ended };
          },
        },
      }),
  };
  return world;
}

/** Runs turns until no more lines are available. */
async function turns(tail: BuildLogTail, of: BuildPod, gone = false): Promise<TurnResult> {
  for (let count = 0; count < 100; count += 1) {
    const turn = await tail.turn(of, gone, never);
    if (turn !== 'more') return turn;
  }
  throw new Error('it never rests');
}

const numbered = (count: number, from = 0) => Array.from({ length: count }, (_, index) => `${from + index}`);

test('sends the lines of all steps once and in order, and reports the end', async () => {
  const { print, tail: make, kept, ...rest } = world();
  const tail = make();
  expect(await turns(tail, pod({}))).toBe('quiet');
  print('source', ...numbered(4));
  expect(await turns(tail, pod({ source: 'runs' }))).toBe('news');
  expect(await turns(tail, pod({ source: 'runs' }))).toBe('quiet');
  print('source', ...numbered(3, 4));
  print('image', 'a', 'b');
  await turns(tail, pod({ source: 'ended', image: 'runs' }));
  print('image', 'c');
  print('result', 'z');
  expect(await turns(tail, pod({ source: 'ended', image: 'ended', result: 'ended' }))).toBe('done');
  expect(kept).toEqual([
    ...numbered(7).map((text) => `source: ${text}`),
    ...['a', 'b', 'c'].map((text) => `image: ${text}`),
    'result: z',
  ]);
  expect(rest.calls.at(-1)?.last).toBe(true);
});

test('continues at the position of the hub when the listener starts in the middle', async () => {
  const { print, tail, kept } = world();
  print('source', ...numbered(5));
  print('image', 'a');
  await turns(tail(), pod({ source: 'ended', image: 'runs' }));
  print('image', 'b');
  expect(await turns(tail(), pod({ source: 'ended', image: 'ended' }, { phase: 'Failed' }))).toBe('done');
  expect(kept).toEqual([...numbered(5).map((text) => `source: ${text}`), 'image: a', 'image: b']);
});

test('neither loses nor repeats lines after a failed call or when the hub has lost some', async () => {
  const the = world();
  const tail = the.tail();
  the.print('source', ...numbered(5));
  await turns(tail, pod({ source: 'runs' }));
  the.print('source', ...numbered(5, 5));
  the.fails = 2;
  for (let count = 0; count < 2; count += 1)
    await expect(turns(tail, pod({ source: 'runs' }))).rejects.toThrow();
  await turns(tail, pod({ source: 'runs' }));
  expect(the.kept).toEqual(numbered(10).map((text) => `source: ${text}`));
  the.forget(3);
  the.print('source', '10');
  await turns(tail, pod({ source: 'runs' }));
  expect(the.kept).toEqual(numbered(11).map((text) => `source: ${text}`));
});

test('sends many lines in several calls', async () => {
  const the = world();
  the.print('source', ...numbered(2500));
  expect(await turns(the.tail(), pod({ source: 'ended' }, { phase: 'Failed' }))).toBe('done');
  expect(the.kept).toHaveLength(2500);
  expect(Math.max(...the.calls.map(({ lines }) => lines.length))).toBe(1000);
});

test('waits for the rest of an incomplete line, unless the container has ended', async () => {
  const the = world();
  const tail = the.tail();
  the.print('source', 'one', { at: '2026-11-21T10:00:00.9Z', text: 'tw', isOpen: true });
  await turns(tail, pod({ source: 'runs' }));
  expect(the.kept).toEqual(['source: one']);
  await turns(tail, pod({ source: 'ended' }));
  expect(the.kept).toEqual(['source: one', 'source: tw']);
});

test('reports in the log that the pod was deleted before its end was read', async () => {
  const the = world();
  const tail = the.tail();
  the.print('source', 'one');
  await turns(tail, pod({ source: 'runs' }));
  expect(await turns(tail, pod({ source: 'runs' }), true)).toBe('done');
  expect(the.kept).toEqual(['source: one', expect.stringMatching(/^source: … .* lost/)]);
});

test('appends a later attempt to the earlier one, which the hub does not request any more', async () => {
  const the = world();
  the.print('source', 'one');
  const first = the.tail();
  await turns(first, pod({ source: 'runs' }));
  await turns(the.tail(), pod({ source: 'runs' }, { attempt: 2 }));
  the.print('source', 'two');
  expect(await turns(first, pod({ source: 'runs' }))).toBe('done');
  expect(the.kept).toEqual(['source: one', 'source: one']);
});
