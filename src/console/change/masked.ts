import { isObject, type JsonObject } from '../form/json.ts';

/** Values of secrets, which are not shown. */

/** Values of secrets in responses. If a request sends it, the stored value stays. */
export const MASK = '**********';

/** The body as it may be shown: without values of secrets. */
export function withoutValues(body: JsonObject): JsonObject {
  const { secrets } = body;
  if (!Array.isArray(secrets)) return body;
  const hidden = secrets.map((secret) =>
    isObject(secret) && secret['value'] !== MASK
      ? { ...secret, value: `VALUE OF ${secret['name']}` }
      : secret,
  );
  return { ...body, secrets: hidden };
}
