import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { parseProcfile } from '../../../../src/cluster/builder/procfile.ts';
import { StepFailure } from '../../../../src/cluster/builder/step-failure.ts';
import { MAX_TERMINATION_BYTES } from '../../../../src/contract/resource/build.ts';
import { procfileSchema } from '../../../../src/domain/run-settings/procfile.ts';

const parse = (text: string | Buffer) => parseProcfile('app/Procfile', Buffer.from(text as string));

function failure(text: string | Buffer): string {
  try {
    parse(text);
  } catch (error) {
    expect(error).toBeInstanceOf(StepFailure);
    expect((error as StepFailure).reason).toBe('BuildConfigInvalid');
    return (error as StepFailure).message;
  }
  throw new Error('it was accepted');
}

describe('a Procfile', () => {
  test.each<[string, string, object | undefined]>([
    ['has a web process', 'web: node server.js', { web: 'node server.js' }],
    ['has both', 'web: a\nworker: b --c\n', { web: 'a', worker: 'b --c' }],
    ['has comments and empty lines', '# processes\n\n  worker:b\n', { worker: 'b' }],
    ['was written on Windows', '\ufeffweb: a\r\nworker: b\r\n', { web: 'a', worker: 'b' }],
    ['has a colon in the command', 'web: a -b :8000', { web: 'a -b :8000' }],
    ['has variables and quotes', `web: a "$PORT" 'x'\t#`, { web: `a "$PORT" 'x'\t#` }],
    ['has a release command', 'web: a\nrelease: ./migrate', { web: 'a', release: './migrate' }],
    ['is empty', '', undefined],
    ['has only comments', '# web: a\n', undefined],
  ])('is read when it %s', (_what, text, expected) => {
    expect(parse(text)).toEqual(expected);
  });

  test.each<[string, string | Buffer, string]>([
    ['another process type', 'web: a\nclock: b', 'line 2: "clock" is not one of web, worker, release'],
    ['no name', 'web: a\n\nnode server.js', 'line 3: must have the form "name: command"'],
    ['no command', 'web:  ', 'line 1: "web" has no command'],
    ['the same type twice', 'web: a\nworker: b\nweb: c', 'line 3: "web" is already defined in line 1'],
    ['a control character', 'web: a\u0000b', 'line 1: has a control character'],
    ['a command that is too long', `web: ${'x'.repeat(1025)}`, 'line 1: the command of "web" has 1025 bytes'],
    ['the name of a member of objects', 'constructor: a', 'line 1: "constructor" is not one of'],
    ['other bytes than UTF-8', Buffer.from([0x77, 0xff]), 'it is not UTF-8'],
    [
      'commands that are too long together',
      `release: a\nweb: ${'"'.repeat(1024)}\nworker: ${'"'.repeat(1024)}`,
      'its commands are too long together',
    ],
  ])('fails the build with the line when it has %s', (_what, text, expected) => {
    expect(failure(text)).toContain(`app/Procfile is invalid: ${expected}`);
  });

  test('has a short message when a line is long', () => {
    expect(failure('x'.repeat(60_000)).length).toBeLessThan(200);
  });

  test('is valid for the rest of the way when it is accepted, whatever it contains', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 3000 }), fc.string({ unit: 'binary' }), (a, b) => {
        let read: unknown;
        try {
          read = parse(`web: ${a}\nworker: ${b}`);
        } catch (error) {
          expect(error).toBeInstanceOf(StepFailure);
          return;
        }
        expect(procfileSchema.parse(read)).toEqual(read);
        const result = { commit: 'c'.repeat(64), digest: `sha256:${'d'.repeat(64)}`, procfile: read };
        expect(Buffer.byteLength(JSON.stringify(result))).toBeLessThanOrEqual(MAX_TERMINATION_BYTES);
      }),
    );
  });
});
