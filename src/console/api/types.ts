import type { components } from '../../cli/client/api.gen.ts';

/** Names for what the API returns. The types are generated from the OpenAPI document. */

type Schemas = components['schemas'];

export type BuildLogLine = Schemas['BuildLogLine'];
export type ClusterObject = Schemas['ClusterObject'];
export type Condition = Schemas['Condition'];
export type Deployment = Schemas['Deployment'];
export type DeploymentStatus = Schemas['DeploymentStatus'];
export type DeploymentType = Schemas['DeploymentType'];
export type BerthEvent = Schemas['Event'];
export type Explanation = Schemas['Explanation'];
export type Listener = Schemas['Listener'];
export type LoggedComponent = Schemas['Component'];
export type LogLine = Schemas['LogLine'];
export type Revision = Schemas['Revision'];
export type RevisionDryRun = Schemas['RevisionDryRun'];
export type RevisionStatus = Schemas['RevisionStatus'];
export type Session = Schemas['Session'];
export type SignInMethods = Schemas['SignInMethods'];
