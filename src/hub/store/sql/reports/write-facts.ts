import type { deployments } from '../../core/schema.ts';
import { type Columns, statement } from '../../core/statement.ts';
import { keptAuthorSql } from '../fragments/generation-author.ts';

/** The values of a deployment that a report changes. */
export type WrittenFacts = Columns<
  typeof deployments,
  | 'id'
  | 'generation'
  | 'hasRunnableRevision'
  | 'acknowledgedGeneration'
  | 'attempts'
  | 'activeRevisionId'
  | 'url'
  | 'observedDomains'
  | 'observedGeneration'
  | 'observedOff'
  | 'dataReady'
  | 'observedAt'
  | 'inPlaceFailure'
  | 'volumeGi'
> & {
  readonly conditions: readonly (typeof deployments)['$inferSelect']['conditions'][number][];
  readonly symptoms: readonly NonNullable<(typeof deployments)['$inferSelect']['symptoms']>[number][] | null;
  /** When the item is due again; null: unchanged. */
  readonly retryAfterMs: number | null;
};

/** Writes the result of reports. Also filters by id; see `handOutStatement`. */
export const writeFactsStatement = statement<{
  /** JSON of WrittenFacts[]. */
  facts: string;
  deploymentIds: readonly string[];
}>(
  'write_facts',
  `UPDATE deployments d SET generation = v.generation, acknowledged_generation = v."acknowledgedGeneration",
  attempts = v.attempts,
  next_attempt_at = CASE WHEN v."retryAfterMs" IS NULL THEN d.next_attempt_at
    ELSE now() + make_interval(secs => v."retryAfterMs" / 1000) END,
  handed_out = d.handed_out AND v."retryAfterMs" IS NULL,
  active_revision_id = v."activeRevisionId", conditions = v.conditions, url = v.url,
  observed_domains = nullif(v."observedDomains", 'null'),
  observed_generation = v."observedGeneration", observed_off = v."observedOff", data_ready = v."dataReady",
  observed_at = v."observedAt", in_place_failure = v."inPlaceFailure", symptoms = v.symptoms, volume_gi = v."volumeGi",
  has_runnable_revision = v."hasRunnableRevision",
  updated_at = CASE WHEN v."activeRevisionId" IS DISTINCT FROM d.active_revision_id OR v.generation > d.generation
    THEN now() ELSE d.updated_at END,
  updated_by = ${keptAuthorSql('v.generation')}
FROM jsonb_to_recordset(:facts::jsonb) AS v(id uuid, generation int, "hasRunnableRevision" boolean,
  "acknowledgedGeneration" int, attempts int, "retryAfterMs" float8, "activeRevisionId" uuid, conditions jsonb, url text,
  "observedDomains" jsonb,
  "observedGeneration" int, "observedOff" boolean, "dataReady" boolean, "observedAt" timestamptz, "inPlaceFailure" jsonb,
  symptoms jsonb, "volumeGi" int)
WHERE d.id = v.id AND d.id = ANY(:deploymentIds::uuid[])`,
);
