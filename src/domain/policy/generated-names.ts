/**
 * Names of objects that Berth creates for a deployment: database credentials, environment, pull Secret and certificates.
 * These names end in `-<8 hex digits of the id>-<suffix>`.
 */
const GENERATED_SECRET = /-[0-9a-f]{8}-(db|db-copy|tls(-[0-9a-f]{10})?|pull|env-\d+)$/;
const GENERATED_PART = /-(db|db-copy|tls(-[0-9a-f]{10})?|pull|env-\d+)$/;

/** Name of the deployment that an object with this name would belong to. null: the name is not a name of Berth. */
export function generatedFor(name: string): string | null {
  const app = name.replace(GENERATED_PART, '');
  return app === name || app === '' ? null : app;
}

/** Whether a Secret of this name belongs to another deployment, according to its name. */
export function isSecretOfAnother(name: string, appName: string): boolean {
  return GENERATED_SECRET.test(name) && name.replace(GENERATED_PART, '') !== appName;
}
