/** Everything about the records of deployments; each part in its own file. */
export { type DeletionRequest, removeRecord, requestDeletion } from './deployment-delete.ts';
export {
  type DeploymentFilter,
  findDeployment,
  findDeploymentForUpdate,
  listDeployments,
} from './deployment-find.ts';
export { insertDeployment } from './deployment-insert.ts';
export { updateWanted } from './deployment-update.ts';
