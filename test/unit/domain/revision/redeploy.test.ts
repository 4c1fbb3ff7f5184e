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

describe('a redeploy of the same content', () => {
  test.each([
    ['the digest of a tag that was resolved', revision('web:1', DIGEST), DIGEST],
    ['the tag when it was not resolved', revision('web:1', null), null],
    ['a given digest', revision(DIGEST, null), DIGEST],
    ['the image of a build', revision(null, DIGEST, true), DIGEST],
    ['no image when nothing is built yet', revision(null, null, true), null],
  ])('has the same config and %s', (_, given, resolvedImage) => {
    const source = given.sourceRevisionConfig.repo_ref === null ? 'external_image' : 'git_host';
    const content = repeatedContent('same', source, given);
    expect(content).toEqual({ sourceRevisionConfig: given.sourceRevisionConfig, resolvedImage });
  });
});

describe('a redeploy with fresh content', () => {
  test('resolves a tag again, and keeps a digest', () => {
    expect(repeatedContent('fresh', 'external_image', revision('web:1', DIGEST)).resolvedImage).toBeNull();
    expect(repeatedContent('fresh', 'internal_image', revision(DIGEST, DIGEST)).resolvedImage).toBe(DIGEST);
  });

  test('builds a repository again, without image and commit of the former build', () => {
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
