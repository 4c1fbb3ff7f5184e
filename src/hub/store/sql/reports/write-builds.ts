import { statement } from '../../core/statement.ts';

/** Writes the progress of builds. Also filters by id; see `handOutStatement`. */
export const writeBuildsStatement = statement<{
  /** JSON of revisions with `id` and `build`. */
  builds: string;
  revisionIds: readonly string[];
}>(
  'write_builds',
  `UPDATE revisions r SET build = v.build
FROM jsonb_to_recordset(:builds::jsonb) AS v(id uuid, build jsonb)
WHERE r.id = v.id AND r.id = ANY(:revisionIds::uuid[])`,
);
