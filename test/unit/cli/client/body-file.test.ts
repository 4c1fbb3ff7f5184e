import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { readBody } from '../../../../src/cli/client/body-file.ts';
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
