import { describe, expect, it } from 'vitest';
import { createWorkHints } from '../../../src/api/work-hints.ts';

const LONG = 60_000;
const never = new AbortController().signal;

describe('work hints', () => {
  it('wake who waits for that listener, and only them', async () => {
    const hints = createWorkHints();
    const a = hints.wait('a', hints.ticket('a'), LONG, never);
    let woken = false;
    const gone = new AbortController();
    const b = hints.wait('b', hints.ticket('b'), LONG, gone.signal).then(() => {
      woken = true;
    });
    hints.notify(['a']);
    await a;
    expect(woken).toBe(false);
    gone.abort();
    await b;
  });

  it('between taking the ticket and waiting are not missed', async () => {
    const hints = createWorkHints();
    const ticket = hints.ticket('a');
    hints.notify(['a']);
    await hints.wait('a', ticket, LONG, never);
    const other = hints.ticket('a');
    hints.notifyAll();
    await hints.wait('a', other, LONG, never);
  });

  it('from before the ticket do not count', async () => {
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

  it('for all wake everybody; time and signal end a wait as well', async () => {
    const hints = createWorkHints();
    const waits = ['a', 'b'].map((id) => hints.wait(id, hints.ticket(id), LONG, never));
    hints.notifyAll();
    await Promise.all(waits);
    await hints.wait('a', hints.ticket('a'), 1, never);
    await hints.wait('a', hints.ticket('a'), LONG, AbortSignal.abort());
  });
});
