import { chmodSync, mkdirSync, mkdtempSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { makeOwnFolder } from '../../../cluster/build-node/node.ts';

let place: string;
beforeEach(() => {
  place = mkdtempSync(join(tmpdir(), 'berth-own-folder-'));
});
afterEach(() => {
  vi.restoreAllMocks();
  rmSync(place, { recursive: true, force: true });
});

describe('the folder of the local builder', () => {
  it('is made for its user alone, and taken again', () => {
    const folder = join(place, 'a/b');
    makeOwnFolder(folder);
    expect(statSync(folder).mode & 0o777).toBe(0o700);
    expect(() => makeOwnFolder(folder)).not.toThrow();
  });

  it.each([0o750, 0o707, 0o777])('is refused at mode %o', (mode) => {
    const folder = join(place, 'open');
    mkdirSync(folder);
    chmodSync(folder, mode);
    expect(() => makeOwnFolder(folder)).toThrow(/others may enter .*chmod 700/);
  });

  it('is refused where it is a link, though to a folder of its own', () => {
    mkdirSync(join(place, 'real'), { mode: 0o700 });
    symlinkSync(join(place, 'real'), join(place, 'link'));
    expect(() => makeOwnFolder(join(place, 'link'))).toThrow(
      /is not a folder of this user.*BERTH_BUILDER_FOLDER/,
    );
  });

  it('is refused where another user made it', () => {
    makeOwnFolder(join(place, 'theirs'));
    vi.spyOn(process, 'getuid').mockReturnValue(statSync(place).uid + 1);
    expect(() => makeOwnFolder(join(place, 'theirs'))).toThrow(/is not a folder of this user/);
  });

  it('is refused where it is a file', () => {
    writeFileSync(join(place, 'file'), '');
    expect(() => makeOwnFolder(join(place, 'file'))).toThrow();
  });
});
