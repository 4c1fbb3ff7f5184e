import { expect, test } from 'vitest';
import { CACHE_TAG, revisionTag, taggedRevision } from '../../../../src/domain/builds/build-tags.ts';

test('parses the number of a revision from its tag, and from no other tag', () => {
  for (const number of [1, 42, 2_147_483_647]) expect(taggedRevision(revisionTag(number))).toBe(number);
  for (const tag of [CACHE_TAG, 'rev-', 'rev-0', 'rev-01', 'rev--1', 'rev-1x', 'xrev-1', '1', 'latest']) {
    expect(taggedRevision(tag)).toBeNull();
  }
});
