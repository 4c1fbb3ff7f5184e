/** Names of time zones in the IANA database. */

export const MAX_TIME_ZONE = 64;

/** Names of the database. Offsets such as +01:00 are no names. Go, which Kubernetes is written in, distinguishes upper and lower case. */
const NAME = /^[A-Z][A-Za-z0-9_+-]*(\/[A-Z][A-Za-z0-9_+-]*)*$/;

/** Whether a text is the name of a time zone. */
export function isTimeZone(name: string): boolean {
  if (name.length > MAX_TIME_ZONE || !NAME.test(name)) return false;
  try {
    new Intl.DateTimeFormat('en', { timeZone: name });
    return true;
  } catch {
    return false;
  }
}
