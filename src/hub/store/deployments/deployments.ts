/** Exports the store functions of deployments. Each part has a separate file. */
export {
  type DeletionOutcome,
  type DeletionRequest,
  requestDeletion,
  requestDeletions,
} from './deployment-delete.ts';
export {
  type DeploymentFilter,
  findDeployment,
  findDeploymentForUpdate,
  listDeployments,
} from './deployment-find.ts';
export { insertDeployment } from './deployment-insert.ts';
export { findNameHolder } from './deployment-name.ts';
export { forgetDeployment, removeRecord } from './deployment-remove.ts';
export { isRestorable, restoreDeployment } from './deployment-restore.ts';
export { updateDesiredState } from './deployment-update.ts';
