import { statement } from '../../core/statement.ts';

/** Writes the images of builds. The deployment has copies of some values of its latest revision. */
export const writeBuiltImagesStatement = statement<{
  /** JSON of revisions with `id`, `image` and `commit`. */
  built: string;
  revisionIds: readonly string[];
  deploymentIds: readonly string[];
}>(
  'write_built_images',
  `WITH built AS (
  SELECT v.id, v.image, jsonb_build_object('image_uri', v.image, 'repo_commit_sha', v.commit) AS config
  FROM jsonb_to_recordset(:built::jsonb) AS v(id uuid, image text, commit text)
), revision AS (
  UPDATE revisions r SET resolved_image = built.image, source_revision_config = r.source_revision_config || built.config
  FROM built WHERE r.id = built.id AND r.id = ANY(:revisionIds::uuid[])
)
UPDATE deployments d SET source_revision_config = d.source_revision_config || built.config
FROM built WHERE d.latest_revision_id = built.id AND d.id = ANY(:deploymentIds::uuid[])`,
);
