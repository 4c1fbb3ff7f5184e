/** Message of a deployment whose deletion was requested, in the API and on the custom resource. */

/** Creates the message. Times are ISO 8601. If they are equal, there is no grace period. */
export function deletionMessage(requestedAt: string, restorableUntil: string): string {
  const asked = `deletion was requested at ${requestedAt}`;
  return Date.parse(restorableUntil) > Date.parse(requestedAt)
    ? `${asked}: it can be restored until ${restorableUntil} (POST /v2/deployments/{id}/restore), then it is removed with all of its data`
    : `${asked}: it is removed with all of its data`;
}
