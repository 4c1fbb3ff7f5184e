// Takes each job from the list, and stores its result.
import { setTimeout as sleep } from 'node:timers/promises';
import { cache } from './cache.mjs';

console.log('worker in Node starts');
for (;;) {
  try {
    const job = await cache('BLPOP', 'jobs', '0');
    await cache('SET', 'result', `${job.toUpperCase()} from Node`);
  } catch (error) {
    console.log(String(error));
    await sleep(1000);
  }
}
