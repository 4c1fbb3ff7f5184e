/** The author of a generation, as the column `updated_by` stores it. */
export interface GenerationAuthor {
  readonly kind: 'api_key' | 'person' | 'workload' | 'listener' | 'system';
  readonly id: string | null;
  readonly name: string | null;
  readonly generation: number;
}

/**
 * The value of `updated_by`, from the parameters actorKind, actorId and actorName.
 * @param generation the new generation, as SQL
 */
export const authorSql = (generation: string): string =>
  `jsonb_build_object('kind', :actorKind::text, 'id', :actorId::uuid, 'name', :actorName::text, 'generation', ${generation})`;

/**
 * The value of `updated_by` after a report: the end of a build increases the generation on behalf of the author of its
 * revision, so the author stays. An author that is not known for the former generation stays unknown.
 * @param next the new generation, as SQL
 */
export const keptAuthorSql = (next: string): string =>
  `CASE WHEN ${next} > d.generation AND (d.updated_by ->> 'generation')::int = d.generation
    THEN d.updated_by || jsonb_build_object('generation', ${next}) ELSE d.updated_by END`;
