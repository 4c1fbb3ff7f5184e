/** What is said of a deployment whose deletion was asked for, by the API and on the custom resource alike. */

/** A sentence for people. Times are ISO 8601; equal ones: there is no grace. */
export function deletionMessage(requestedAt: string, restorableUntil: string): string {
  const asked = `deletion was asked for at ${requestedAt}`;
  return Date.parse(restorableUntil) > Date.parse(requestedAt)
    ? `${asked}: until ${restorableUntil} it can be restored (POST /v2/deployments/{id}/restore), then it goes with all of its data`
    : `${asked}: it goes with all of its data`;
}
