import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test, vi } from 'vitest';
import { readBody, readText } from '../../../../src/cli/client/body-file.ts';
import { UsageError } from '../../../../src/cli/command/usage-error.ts';

const folder = mkdtempSync(join(tmpdir(), 'berth-body-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

test.each(['a: &x canary-5521\nb: *x', 'a: *unknown', 'a: &x [*x]'])(
  'reports an alias as wrong usage, with the file and without its content: %j',
  async (text) => {
    const file = join(folder, 'alias.yaml');
    writeFileSync(file, text);
    const error = await readBody(file).catch((problem: Error) => problem);
    expect(error).toBeInstanceOf(UsageError);
    expect(String(error)).toContain(file);
    expect(String(error)).not.toContain('canary');
  },
);

test('rejects a tag, because its value would lose it', async () => {
  const file = join(folder, 'tag.yaml');
  writeFileSync(file, 'a: !vault canary-5521');
  const error = await readBody(file).catch((problem: Error) => problem);
  expect(error).toBeInstanceOf(UsageError);
  expect(String(error)).toContain('tags (!name) are not supported');
  expect(String(error)).not.toContain('canary');
});

test('prints no warning that quotes the file', async () => {
  const warn = vi.spyOn(process, 'emitWarning');
  const file = join(folder, 'template.yaml');
  writeFileSync(file, 'a: {{ canary-5521 }}');
  expect(await readBody(file)).toMatchObject({ a: expect.anything() });
  expect(warn).not.toHaveBeenCalled();
});

test('rejects bytes that are no text, which would be stored as other characters', async () => {
  const file = join(folder, 'key.der');
  writeFileSync(file, Buffer.from([0x30, 0x82, 0xff]));
  await expect(readText(file)).rejects.toThrow(`failed to read ${file}: it is not UTF-8 text; encode`);
  writeFileSync(file, '\ufeffä\u0000');
  expect(await readText(file)).toBe('\ufeffä\u0000');
});
