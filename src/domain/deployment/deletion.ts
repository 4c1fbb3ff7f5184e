/** The message of a deployment whose deletion was requested, for the API and the custom resource. */

/** Creates the message. Times are ISO 8601. If the times are equal, the deployment has no grace period. */
export function deletionMessage(requestedAt: string, restorableUntil: string): string {
  const asked = `deletion was requested at ${requestedAt}`;
  return Date.parse(restorableUntil) > Date.parse(requestedAt)
    ? `${asked}: the deployment can be restored until ${restorableUntil} (POST /v2/deployments/{id}/restore), then ` +
        `it is removed with all of its data`
    : `${asked}: the deployment is removed with all of its data`;
}
