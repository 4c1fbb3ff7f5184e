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
