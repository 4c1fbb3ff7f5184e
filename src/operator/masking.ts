/** `scheme://user:password@host`. */
const USER_INFO = /(\b[a-z][a-z0-9+.-]*:\/\/)[^\s/@]+@/gi;
/** `password=x`, `"api_key": "x"`, `Authorization: Bearer x`. */
const NAMED =
  /\b([\w-]*(?:passw(?:or)?d|secret|token|api[_-]?key|credentials?|authorization)[\w-]*["']?\s*[=:]\s*["']?(?:(?:bearer|basic)\s+)?)[^\s"',;&]+/gi;

/**
 * A text of the cluster's or of a container's, with the credentials masked that can be told by their form. A container
 * may write anything when it ends, and a status is read by more people than its Secrets are.
 */
export function withoutCredentials(text: string): string {
  return text.replace(USER_INFO, '$1***@').replace(NAMED, '$1***');
}
