import type { Revision } from '../../../src/console/api/types.ts';

const AT = '2026-01-15T09:00:00.000Z';

/** The first revision of a deployment, from an image. */
export const revisionWith = (more: Partial<Revision> = {}): Revision => ({
  id: 'r1',
  deployment_id: 'd1',
  number: 1,
  status: 'DEPLOYED',
  reason: null,
  message: null,
  source_revision_config: {
    repo_ref: null,
    workflow_config_path: null,
    image_uri: 'web:1',
    repo_commit_sha: null,
  },
  resolved_image: null,
  build: null,
  created_at: AT,
  updated_at: AT,
  deployed_at: AT,
  ...more,
});
