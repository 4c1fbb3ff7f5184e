import { statement } from '../../core/statement.ts';

/**
 * Writes the results of builds. The deployment has copies of some values of its latest revision. Its usage is measured again
 * when it is read, because the Procfile can create a component. After a build of another revision, the new generation of the
 * deployment has this effect.
 */
export const writeBuiltImagesStatement = statement<{
  /** JSON of revisions with `id`, `image`, `commit` and, if the repository has one, `procfile`. */
  built: string;
  revisionIds: readonly string[];
  deploymentIds: readonly string[];
}>(
  'write_built_images',
  `WITH built AS (
  SELECT v.id, v.image, jsonb_build_object('image_uri', v.image, 'repo_commit_sha', v.commit)
    || CASE WHEN v.procfile IS NULL THEN '{}' ELSE jsonb_build_object('procfile', v.procfile) END AS config
  FROM jsonb_to_recordset(:built::jsonb) AS v(id uuid, image text, commit text, procfile jsonb)
), revision AS (
  UPDATE revisions r SET resolved_image = built.image, source_revision_config = r.source_revision_config || built.config
  FROM built WHERE r.id = built.id AND r.id = ANY(:revisionIds::uuid[])
)
UPDATE deployments d SET source_revision_config = d.source_revision_config || built.config, quota_cpu_m = NULL
FROM built WHERE d.latest_revision_id = built.id AND d.id = ANY(:deploymentIds::uuid[])`,
);
