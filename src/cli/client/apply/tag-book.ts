import type { Answer, Client } from '../client.ts';
import { allOf } from '../paging.ts';
import type { Tags } from './documents.ts';
import { normalName } from './names.ts';

/** The tags of a tenant by name. Each list is read once. */

type TagKey = Answer<'get', '/v2/tag-keys'>['resources'][number];
type TagValue = Answer<'get', '/v2/tag-keys/{tag_key_id}/values'>['resources'][number];

export interface TagBook {
  /** The tags of a deployment. */
  tagsOf(deploymentId: string): Promise<Tags>;
  /** The id of a value. null: it does not exist. */
  idOf(key: string, value: string): Promise<string | null>;
  /** The ids of tags. Missing keys and values are created. */
  ensure(tags: Tags): Promise<string[]>;
}

const VALUES = '/v2/tag-keys/{tag_key_id}/values';

export function createTagBook(client: Client): TagBook {
  let keys: Promise<TagKey[]> | null = null;
  const values = new Map<string, Promise<TagValue[]>>();

  const readKeys = () => {
    keys ??= allOf<TagKey>((query) => client.GET('/v2/tag-keys', { params: { query } }));
    return keys;
  };
  const readValues = (keyId: string) => {
    const known = values.get(keyId);
    if (known !== undefined) return known;
    const path = { tag_key_id: keyId };
    const read = allOf<TagValue>((query) => client.GET(VALUES, { params: { path, query } }));
    values.set(keyId, read);
    return read;
  };
  const findKey = async (name: string) => (await readKeys()).find(({ key }) => normalName(key) === name);
  const findValue = async ({ id }: TagKey, name: string) =>
    (await readValues(id)).find(({ value }) => normalName(value) === name);

  async function ensureKey(name: string): Promise<TagKey> {
    const found = await findKey(name);
    if (found !== undefined) return found;
    const made = await client.POST('/v2/tag-keys', { body: { key: name } });
    (await readKeys()).push(made);
    return made;
  }
  async function ensureValue(key: TagKey, name: string): Promise<TagValue> {
    const found = await findValue(key, name);
    if (found !== undefined) return found;
    const made = await client.POST(VALUES, {
      params: { path: { tag_key_id: key.id } },
      body: { value: name },
    });
    (await readValues(key.id)).push(made);
    return made;
  }

  return {
    async tagsOf(deploymentId) {
      const path = { deployment_id: deploymentId };
      const { resources } = await client.GET('/v2/deployments/{deployment_id}/tag-values', {
        params: { path },
      });
      const names = new Map((await readKeys()).map(({ id, key }) => [id, normalName(key)]));
      const tags = new Map<string, string[]>();
      for (const { tag_key_id: keyId, value } of resources) {
        const key = names.get(keyId) ?? keyId;
        tags.set(key, [...(tags.get(key) ?? []), normalName(value)]);
      }
      return tags;
    },
    async idOf(key, value) {
      const found = await findKey(key);
      return found === undefined ? null : ((await findValue(found, value))?.id ?? null);
    },
    async ensure(tags) {
      const ids: string[] = [];
      for (const [key, wanted] of tags) {
        const found = await ensureKey(key);
        for (const value of wanted) ids.push((await ensureValue(found, value)).id);
      }
      return ids;
    },
  };
}
