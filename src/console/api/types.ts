import type { components } from '../../cli/client/api.gen.ts';

/** Names for what the API returns. The types are generated from the OpenAPI document. */

type Schemas = components['schemas'];

export type AccessToken = Schemas['AccessToken'];
export type ApiKey = Schemas['ApiKey'];
export type BerthEvent = Schemas['Event'];
export type BuildLogLine = Schemas['BuildLogLine'];
export type ClusterObject = Schemas['ClusterObject'];
export type Condition = Schemas['Condition'];
export type Deployment = Schemas['Deployment'];
/** The result of a dry run of a change, and of a change itself. */
export type DeploymentPlan = Schemas['UpdatedDeployment'];
export type DeploymentStatus = Schemas['DeploymentStatus'];
export type DeploymentType = Schemas['DeploymentType'];
export type DeviceLogin = Schemas['DeviceLogin'];
export type DeviceLoginOffer = Schemas['DeviceLoginOffer'];
export type DomainStatus = Schemas['DomainStatus'];
export type Explanation = Schemas['Explanation'];
export type Integration = Schemas['Integration'];
export type Listener = Schemas['Listener'];
export type LoggedComponent = Schemas['Component'];
export type LogLine = Schemas['LogLine'];
export type ObjectContainer = Schemas['ObjectContainer'];
export type ObjectDetails = Schemas['ObjectDetails'];
export type ObjectEvent = Schemas['ObjectEvent'];
export type ObjectMap = Schemas['ObjectMap'];
export type Repository = Schemas['Repository'];
export type Revision = Schemas['Revision'];
export type RevisionDryRun = Schemas['RevisionDryRun'];
export type RevisionStatus = Schemas['RevisionStatus'];
export type Schedule = Schemas['Schedule'];
export type Session = Schemas['Session'];
export type SignInMethods = Schemas['SignInMethods'];
export type Task = Schemas['Task'];
export type Tenant = Schemas['Tenant'];
export type TenantQuotas = Schemas['TenantQuotas'];
export type Usage = Schemas['Usage'];
export type UpdateDeployment = Schemas['UpdateDeploymentInput'];
export type Policy = Schemas['EffectivePolicy'];
