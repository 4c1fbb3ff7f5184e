import { z } from 'zod';
import { NAME_FORM, nameSchema } from '../../../domain/core/name.ts';
import { uuidSchema } from '../../../domain/deployment/deployment-bodies.ts';
import { UniqueViolation } from '../../store/core/errors.ts';
import type { TagKey, TagValue } from '../../store/tenancy/tags.ts';
import { ApiError } from '../core/errors.ts';
import { pageSchema } from '../core/query.ts';
import { timeSchema } from '../deployments/deployment-schema.ts';

/** Tags in requests and responses. */

export const tagKeySchema = z
  .object({
    id: uuidSchema.describe('Id, a UUID.'),
    key: z.string().describe('The key.'),
    created_at: timeSchema.describe('Time of creation.'),
  })
  .meta({ id: 'TagKey', description: 'A tag key.' });
export const tagValueSchema = z
  .object({
    id: uuidSchema.describe('Id, a UUID. Use this id in the filter tag_value_ids.'),
    tag_key_id: uuidSchema.describe('Key of the value.'),
    value: z.string().describe('The value.'),
    created_at: timeSchema.describe('Time of creation.'),
  })
  .meta({ id: 'TagValue', description: 'A value of a tag key.' });

export const keyListSchema = pageSchema('TagKeyPage', tagKeySchema, 'A page of tag keys.');
export const valueListSchema = pageSchema('TagValuePage', tagValueSchema, 'A page of tag values.');

export const keyParams = z.strictObject({ tag_key_id: uuidSchema.describe('Id of the tag key.') });
export const valueParams = keyParams.extend({ tag_value_id: uuidSchema.describe('Id of the tag value.') });
export const keyBodySchema = z
  .strictObject({ key: nameSchema.describe(`The key, unique in the tenant. ${NAME_FORM}`) })
  .meta({ id: 'TagKeyBody', description: 'A tag key.' });
export const valueBodySchema = z
  .strictObject({ value: nameSchema.describe(`The value, unique for its key. ${NAME_FORM}`) })
  .meta({ id: 'TagValueBody', description: 'A tag value.' });

const MAX_TAG_VALUES = 100;

export const deploymentTagsBodySchema = z
  .strictObject({
    tag_value_ids: z.array(uuidSchema).max(MAX_TAG_VALUES).describe('Ids of the tag values.'),
  })
  .meta({ id: 'SetDeploymentTags', description: 'The complete list of tag values.' });
export const deploymentTagsSchema = z
  .object({ resources: z.array(tagValueSchema).describe('Oldest first.') })
  .meta({ id: 'DeploymentTags', description: 'The tag values of a deployment.' });

/** A tag key in a response. */
export const showKey = ({ id, key, createdAt }: TagKey) => ({ id, key, created_at: createdAt.toISOString() });

/** A tag value in a response. */
export const showValue = ({ id, tagKeyId, value, createdAt }: TagValue) => ({
  id,
  tag_key_id: tagKeyId,
  value,
  created_at: createdAt.toISOString(),
});

/** Converts the error of a unique value that is taken to a 409. */
export function taken(error: unknown, detail: string): unknown {
  return error instanceof UniqueViolation ? new ApiError(409, detail) : error;
}
