import { revisions } from '../../core/schema.ts';
import { type Columns, columns, statement } from '../../core/statement.ts';

/** Writes digests of requested images. The observed digest replaces an earlier digest. */
export const resolveImagesStatement = statement<
  {
    /** JSON of revisions with `id`, `deploymentId` and `image`. */
    images: string;
    revisionIds: readonly string[];
  },
  Columns<typeof revisions, 'id' | 'deploymentId' | 'tenantId' | 'number'> & { image: string }
>(
  'resolve_images',
  `UPDATE revisions r SET resolved_image = v.image
FROM jsonb_to_recordset(:images::jsonb) AS v(id uuid, "deploymentId" uuid, image text)
WHERE r.id = v.id AND r.id = ANY(:revisionIds::uuid[]) AND r.deployment_id = v."deploymentId"
  AND r.resolved_image IS DISTINCT FROM v.image
  AND split_part(v.image, '@', 1) = split_part(r.source_revision_config->>'image_uri', '@', 1)
RETURNING ${columns(revisions, 'r', ['id', 'deploymentId', 'tenantId', 'number'])}, v.image`,
);
