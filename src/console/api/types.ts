import type { components } from '../../cli/client/api.gen.ts';

/** Names for what the API returns. The types are generated from the OpenAPI document. */

type Schemas = components['schemas'];

export type Condition = Schemas['Condition'];
export type Deployment = Schemas['Deployment'];
/** The result of a dry run of a change, and of a change itself. */
export type DeploymentPlan = Schemas['UpdatedDeployment'];
export type DeploymentStatus = Schemas['DeploymentStatus'];
export type DeploymentType = Schemas['DeploymentType'];
export type BerthEvent = Schemas['Event'];
export type Explanation = Schemas['Explanation'];
export type Listener = Schemas['Listener'];
export type Revision = Schemas['Revision'];
export type RevisionStatus = Schemas['RevisionStatus'];
export type Session = Schemas['Session'];
export type SignInMethods = Schemas['SignInMethods'];
export type UpdateDeployment = Schemas['UpdateDeploymentInput'];
