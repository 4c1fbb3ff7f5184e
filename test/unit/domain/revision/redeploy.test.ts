import { describe, expect, test } from 'vitest';
import { repeatedContent } from '../../../../src/domain/revision/redeploy.ts';

const DIGEST = `registry.example.com/web@sha256:${'a'.repeat(64)}`;
const revision = (image_uri: string | null, resolvedImage: string | null, repo = false) => ({
  resolvedImage,
  sourceRevisionConfig: {
    repo_ref: repo ? 'refs/heads/main' : null,
    workflow_config_path: repo ? 'app.json' : null,
    image_uri,
    repo_commit_sha: repo && resolvedImage !== null ? 'c'.repeat(40) : null,
  },
});

describe('the same again', () => {
  test.each([
    ['a tag that was resolved: its digest', revision('web:1', DIGEST), DIGEST],
    ['a tag that was not: the tag', revision('web:1', null), null],
    ['a digest: itself', revision(DIGEST, null), DIGEST],
    ['a build: its image', revision(null, DIGEST, true), DIGEST],
    ['no build yet: to be built', revision(null, null, true), null],
  ])('%s; the config to the letter', (_, given, resolvedImage) => {
    const source = given.sourceRevisionConfig.repo_ref === null ? 'external_image' : 'git_host';
    const content = repeatedContent('same', source, given);
    expect(content).toEqual({ sourceRevisionConfig: given.sourceRevisionConfig, resolvedImage });
  });
});

describe('with fresh content', () => {
  test('a tag is resolved again, a digest stays', () => {
    expect(repeatedContent('fresh', 'external_image', revision('web:1', DIGEST)).resolvedImage).toBeNull();
    expect(repeatedContent('fresh', 'internal_image', revision(DIGEST, DIGEST)).resolvedImage).toBe(DIGEST);
  });

  test('a repository is built again: neither image nor commit of the former build is left', () => {
    expect(repeatedContent('fresh', 'git_host', revision(DIGEST, DIGEST, true))).toEqual({
      resolvedImage: null,
      sourceRevisionConfig: {
        repo_ref: 'refs/heads/main',
        workflow_config_path: 'app.json',
        image_uri: null,
        repo_commit_sha: null,
      },
    });
  });
});
