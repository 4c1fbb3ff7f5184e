/**
 * The operationId of each route: a verb and a noun. Generators name the functions of a client after it, so a change breaks
 * programs.
 */
export const OPERATION_IDS: Readonly<Record<string, string>> = {
  'GET /healthz': 'getHealth',
  'GET /readyz': 'getReadiness',

  'GET /v2/deployments': 'listDeployments',
  'POST /v2/deployments': 'createDeployment',
  'DELETE /v2/deployments': 'deleteDeployments',
  'GET /v2/deployments/{deployment_id}': 'getDeployment',
  'PATCH /v2/deployments/{deployment_id}': 'updateDeployment',
  'DELETE /v2/deployments/{deployment_id}': 'deleteDeployment',
  'PUT /v2/deployments/by-name/{name}': 'applyDeployment',
  'PATCH /v2/deployments/{deployment_id}/secrets': 'updateDeploymentSecrets',
  'POST /v2/deployments/{deployment_id}/restore': 'restoreDeployment',
  'GET /v2/deployments/{deployment_id}/logs': 'getLogs',
  'GET /v2/deployments/{deployment_id}/objects': 'listObjects',
  'GET /v2/deployments/{deployment_id}/objects/{kind}/{name}': 'getObject',
  'GET /v2/deployments/{deployment_id}/tag-values': 'listDeploymentTags',
  'PUT /v2/deployments/{deployment_id}/tag-values': 'setDeploymentTags',
  'POST /v2/deployments/{deployment_id}/push-token': 'createPushToken',
  'POST /v2/deployments/{deployment_id}/sources': 'uploadSource',

  'GET /v2/deployments/{deployment_id}/revisions': 'listRevisions',
  'POST /v2/deployments/{deployment_id}/revisions': 'createRevision',
  'GET /v2/deployments/{deployment_id}/revisions/{revision_id}': 'getRevision',
  'POST /v2/deployments/{deployment_id}/revisions/{revision_id}/redeploy': 'redeployRevision',
  'POST /v2/deployments/{deployment_id}/revisions/{revision_id}/rollback': 'rollbackRevision',
  'GET /v2/deployments/{deployment_id}/revisions/{revision_id}/build-logs': 'getBuildLogs',
  'GET /v2/deployments/{deployment_id}/revisions/{revision_id}/explain': 'explainRevision',

  'POST /v2/deployments/{deployment_id}/schedules/{schedule}/run': 'runSchedule',
  'GET /v2/deployments/{deployment_id}/tasks': 'listTasks',
  'POST /v2/deployments/{deployment_id}/tasks': 'createTask',
  'GET /v2/deployments/{deployment_id}/tasks/{task_id}': 'getTask',
  'POST /v2/deployments/{deployment_id}/tasks/{task_id}/cancel': 'cancelTask',
  'GET /v2/deployments/{deployment_id}/tasks/{task_id}/logs': 'getTaskLogs',

  'GET /v2/events': 'listTenantEvents',
  'GET /v2/deployments/{deployment_id}/events': 'listDeploymentEvents',

  'GET /v2/watch': 'watchChanges',

  'GET /v2/integrations': 'listIntegrations',
  'POST /v2/integrations': 'createIntegration',
  'GET /v2/integrations/{integration_id}': 'getIntegration',
  'PATCH /v2/integrations/{integration_id}': 'updateIntegration',
  'DELETE /v2/integrations/{integration_id}': 'deleteIntegration',
  'GET /v2/integrations/{integration_id}/repos': 'listRepositories',
  'POST /v2/integrations/{integration_id}/webhook-secret': 'createWebhookSecret',
  'DELETE /v2/integrations/{integration_id}/webhook-secret': 'deleteWebhookSecret',
  'POST /v2/webhooks/{integration_id}': 'deliverWebhook',

  'GET /v2/listeners': 'listListeners',
  'POST /v2/listeners': 'createListener',
  'GET /v2/listeners/{listener_id}': 'getListener',
  'PATCH /v2/listeners/{listener_id}': 'updateListener',
  'DELETE /v2/listeners/{listener_id}': 'deleteListener',

  'GET /v2/tag-keys': 'listTagKeys',
  'POST /v2/tag-keys': 'createTagKey',
  'PATCH /v2/tag-keys/{tag_key_id}': 'updateTagKey',
  'DELETE /v2/tag-keys/{tag_key_id}': 'deleteTagKey',
  'GET /v2/tag-keys/{tag_key_id}/values': 'listTagValues',
  'POST /v2/tag-keys/{tag_key_id}/values': 'createTagValue',
  'PATCH /v2/tag-keys/{tag_key_id}/values/{tag_value_id}': 'updateTagValue',
  'DELETE /v2/tag-keys/{tag_key_id}/values/{tag_value_id}': 'deleteTagValue',

  'GET /v2/tenants': 'listTenants',
  'POST /v2/tenants': 'createTenant',
  'GET /v2/tenants/{tenant_id}': 'getTenant',
  'PATCH /v2/tenants/{tenant_id}': 'updateTenant',
  'DELETE /v2/tenants/{tenant_id}': 'deleteTenant',
  'GET /v2/usage': 'getUsage',
  'GET /v2/policy': 'getPolicy',

  'GET /v2/api-keys': 'listApiKeys',
  'POST /v2/api-keys': 'createApiKey',
  'GET /v2/api-keys/{api_key_id}': 'getApiKey',
  'DELETE /v2/api-keys/{api_key_id}': 'revokeApiKey',

  'GET /v2/auth/methods': 'getSignInMethods',
  'POST /v2/auth/key-session': 'createKeySession',
  'GET /v2/auth/session': 'getSession',
  'POST /v2/auth/sign-out': 'signOut',
  'POST /v2/auth/token': 'createAccessToken',
  'GET /v2/auth/token': 'getCurrentAccessToken',
  'DELETE /v2/auth/token': 'revokeCurrentAccessToken',
  'GET /v2/auth/tokens': 'listAccessTokens',
  'DELETE /v2/auth/tokens/{token_id}': 'revokeAccessToken',
  'POST /v2/auth/people/{person_id}/sign-out': 'signPersonOut',
  'POST /v2/auth/device': 'startDeviceLogin',
  'GET /v2/auth/device/{user_code}': 'getDeviceLogin',
  'POST /v2/auth/device/{user_code}': 'decideDeviceLogin',

  'GET /v2/tracing-projects': 'listTracingProjects',
  'GET /v2/tracing-projects/{tracing_project_id}': 'getTracingProject',
  'DELETE /v2/tracing-projects/{tracing_project_id}': 'deleteTracingProject',

  'GET /v2/registry/token': 'getRegistryToken',
  'POST /v2/registry/token': 'requestRegistryToken',

  'PUT /v2/listeners/{listener_id}/lease': 'acquireListenerLease',
  'GET /v2/listeners/{listener_id}/lease': 'getListenerLease',
  'GET /v2/listeners/{listener_id}/tasks': 'getTaskOrders',
  'POST /v2/listeners/{listener_id}/task-reports': 'reportTasks',
  'GET /v2/listeners/{listener_id}/work': 'listListenerWork',
  'POST /v2/listeners/{listener_id}/reports': 'reportListenerStatus',
  'POST /v2/listeners/{listener_id}/inventory': 'syncListenerInventory',
  'POST /v2/listeners/{listener_id}/volume-removals': 'removeVolume',
  'GET /v2/listeners/{listener_id}/log-requests': 'listLogRequests',
  'POST /v2/listeners/{listener_id}/log-requests/{request_id}': 'sendLogLines',
  'POST /v2/listeners/{listener_id}/object-requests/{request_id}': 'sendObjects',
  'POST /v2/listeners/{listener_id}/build-logs': 'sendBuildLogLines',
};

/**
 * @param url of the route as fastify has it: `/v2/deployments/:deployment_id`
 * @throws Error if OPERATION_IDS lacks the route
 */
export function operationIdOf(method: string, url: string): string {
  const route = `${method} ${url.replace(/:(\w+)/g, '{$1}')}`;
  const id = OPERATION_IDS[route];
  if (id === undefined)
    throw new Error(`failed to document ${route}: it has no operationId; next: add one to OPERATION_IDS`);
  return id;
}
