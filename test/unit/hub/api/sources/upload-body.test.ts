import { createHash, randomBytes } from 'node:crypto';
import { PassThrough, Readable } from 'node:stream';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { gzipSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { ApiError } from '../../../../../src/hub/api/core/errors.ts';
import { UploadBody, type UploadBodyOptions } from '../../../../../src/hub/api/sources/upload-body.ts';

const MEBIBYTE = 1024 * 1024;
const options = (more: Partial<UploadBodyOptions> = {}): UploadBodyOptions => ({
  digest: `sha256:${'0'.repeat(64)}`,
  packedBytes: 64 * MEBIBYTE,
  archive: { unpackedBytes: 512 * MEBIBYTE, entries: 100, pathBytes: 1024 },
  idleMs: 10_000,
  signal: new AbortController().signal,
  ...more,
});

/** Size of the buffers that are in use. */
function used(): number {
  setFlagsFromString('--expose-gc');
  (runInNewContext('gc') as () => void)();
  return process.memoryUsage().arrayBuffers;
}

describe('the body of an upload', () => {
  test('is not kept in memory while and after it is read', async () => {
    const [parts, size] = [512, 64 * 1024];
    const hash = createHash('sha256');
    const before = used();
    // Buffers are freed some time after the collection.
    const untilFreed = () => expect.poll(() => used() - before).toBeLessThan(4 * MEBIBYTE);
    async function* content() {
      for (let index = 0; index < parts; index += 1) {
        const part = randomBytes(size);
        hash.update(part);
        yield part;
        if (index === parts - 1) await untilFreed();
      }
    }
    const body = new UploadBody(Readable.from(content(), { highWaterMark: 1 }), options());
    // The digest is known only at the end, so that it differs.
    await expect(body.compare()).rejects.toMatchObject({ statusCode: 400 });
    expect(body.bytes).toBe(parts * size);
    await untilFreed();
  });

  test('ends with 408 when no part arrives in time, also after parts that arrived in time', async () => {
    const raw = new PassThrough();
    const body = new UploadBody(raw, options({ idleMs: 200 }));
    const part = Buffer.alloc(64 * 1024);
    raw.write(part);
    const sent = setInterval(() => raw.write(part), 100);
    setTimeout(() => clearInterval(sent), 500);
    const began = performance.now();
    await expect(body.compare()).rejects.toMatchObject({ statusCode: 408 });
    expect(performance.now() - began).toBeGreaterThan(500);
  });

  test('ends with 408 when it is slow, although parts arrive', async () => {
    const raw = new PassThrough();
    const body = new UploadBody(raw, options({ idleMs: 300 }));
    const sent = setInterval(() => raw.write('a'), 50);
    const ended = new AbortController();
    const read = body.compare();
    setTimeout(() => ended.abort(), 5_000).unref();
    await expect(read).rejects.toMatchObject({ statusCode: 408 });
    clearInterval(sent);
    expect(ended.signal.aborted).toBe(false);
    expect(body.bytes).toBeGreaterThan(3);
  });

  test('ends with 408 when it sends much at the start and then little', async () => {
    const raw = new PassThrough();
    const body = new UploadBody(raw, options({ idleMs: 300 }));
    raw.write(Buffer.alloc(MEBIBYTE));
    const sent = setInterval(() => raw.write('a'), 50);
    const began = performance.now();
    await expect(body.compare()).rejects.toMatchObject({ statusCode: 408 });
    clearInterval(sent);
    // An average of the minimum rate would permit this for 13 s.
    expect(performance.now() - began).toBeLessThan(4_000);
  });

  test('ends when the signal fires, before or while it waits', async () => {
    const ended = new AbortController();
    const body = new UploadBody(new PassThrough(), options({ signal: ended.signal }));
    const read = body.compare();
    ended.abort(new ApiError(503, 'closing'));
    await expect(read).rejects.toMatchObject({ statusCode: 503 });
    expect(await body.discard()).toBe(false);
  });

  test('ends all waits when the signal fires, also after a reader has stopped during its wait', async () => {
    const raw = new PassThrough();
    const ended = new AbortController();
    const body = new UploadBody(raw, options({ signal: ended.signal }));
    // The registry fails while the next part is expected. Then the rest is read.
    const first = body.checked().next();
    const rest = body.discard();
    raw.write(gzipSync('content').subarray(0, 10));
    await first;
    ended.abort(new ApiError(503, 'closing'));
    expect(await rest).toBe(false);
  });

  test('ends a wait when no part arrives in time, also after a reader has stopped during its wait', async () => {
    const raw = new PassThrough();
    const body = new UploadBody(raw, options({ idleMs: 200 }));
    const first = body.checked().next();
    const rest = body.discard();
    raw.write(gzipSync('content').subarray(0, 10));
    await first;
    expect(await rest).toBe(false);
  });

  test('ends with 408 when its connection is lost', async () => {
    const raw = new PassThrough();
    const read = new UploadBody(raw, options()).compare();
    raw.write('a');
    raw.destroy(new Error('aborted'));
    await expect(read).rejects.toMatchObject({ statusCode: 408 });
  });
});
