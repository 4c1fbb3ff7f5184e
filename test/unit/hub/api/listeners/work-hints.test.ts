import { describe, expect, it } from 'vitest';
import { createWorkHints } from '../../../../../src/hub/api/listeners/work-hints.ts';

const LONG = 60_000;
const never = new AbortController().signal;

describe('work hints', () => {
  it('wake only the calls that wait for the same listener', async () => {
    const hints = createWorkHints();
    const a = hints.wait('a', hints.ticket('a'), LONG, never);
    let woken = false;
    const gone = new AbortController();
    const b = hints.wait('b', hints.ticket('b'), LONG, gone.signal).then(() => {
      woken = true;
    });
    hints.notify(['a']);
    expect(await a).toBe(true);
    expect(woken).toBe(false);
    gone.abort();
    await b;
  });

  it('are not missed when they arrive between the ticket and the wait', async () => {
    const hints = createWorkHints();
    const ticket = hints.ticket('a');
    hints.notify(['a']);
    expect(await hints.wait('a', ticket, LONG, never)).toBe(true);
    const other = hints.ticket('a');
    hints.notifyAll();
    expect(await hints.wait('a', other, LONG, never)).toBe(false);
  });

  it('are ignored when they are older than the ticket', async () => {
    const hints = createWorkHints();
    hints.notify(['a']);
    hints.notifyAll();
    const gone = new AbortController();
    const waiting = hints.wait('a', hints.ticket('a'), LONG, gone.signal);
    const first = await Promise.race([waiting.then(() => 'woken'), Promise.resolve('waiting')]);
    expect(first).toBe('waiting');
    gone.abort();
    await waiting;
  });

  it('use bounded memory for very many ids', () => {
    const hints = createWorkHints();
    let size = 0;
    for (let index = 0; index < 300_000; index += 1) {
      hints.notify([`request ${index}`]);
      size = Math.max(size, hints.size);
    }
    expect(size).toBe(10_000);
    hints.notifyAll();
    expect(hints.size).toBe(0);
  });

  it('are not missed when they were evicted between the ticket and the wait', async () => {
    const hints = createWorkHints(4);
    const ticket = hints.ticket('a');
    hints.notify(['a', 'b', 'c', 'd', 'e']);
    await hints.wait('a', ticket, LONG, never);
    // If no forgotten id is newer than the ticket, no waiter is woken needlessly.
    const later = hints.ticket('a');
    hints.notify(['d', 'e', 'd', 'e']);
    const gone = new AbortController();
    const waiting = hints.wait('a', later, LONG, gone.signal);
    expect(await Promise.race([waiting.then(() => 'woken'), Promise.resolve('waiting')])).toBe('waiting');
    hints.notify(['f', 'g', 'a']);
    await waiting;
  });

  it('wake all waiting calls when they are for all, and a wait also ends by its timeout and its signal', async () => {
    const hints = createWorkHints();
    const waits = ['a', 'b'].map((id) => hints.wait(id, hints.ticket(id), LONG, never));
    hints.notifyAll();
    expect(await Promise.all(waits)).toEqual([false, false]);
    expect(await hints.wait('a', hints.ticket('a'), 1, never)).toBe(false);
    expect(await hints.wait('a', hints.ticket('a'), LONG, AbortSignal.abort())).toBe(false);
  });
});
