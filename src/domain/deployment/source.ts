import { z } from 'zod';

/** Origin of the image of a deployment. Set at creation, never changed. */
export const SOURCES = ['git_host', 'external_image', 'internal_image'] as const;
export const sourceSchema = z
  .enum(SOURCES)
  .describe('Origin of the image. Set at creation. Cannot be changed.');
export type Source = z.infer<typeof sourceSchema>;

/** Sizing class, which determines the defaults of resource_spec. */
export const DEPLOYMENT_TYPES = ['dev_free', 'dev', 'prod'] as const;
export const deploymentTypeSchema = z
  .enum(DEPLOYMENT_TYPES)
  .describe('Sizing class. The type determines the defaults of resource_spec.');
export type DeploymentType = z.infer<typeof deploymentTypeSchema>;

/** `cloud`: tenants do not trust each other, and sources are built. `self_hosted`: the platform trusts its API clients. */
export const HOSTING_MODES = ['cloud', 'self_hosted'] as const;
export type HostingMode = (typeof HOSTING_MODES)[number];

/** Id of the platform listener `local`, which the first migration creates. The listener belongs to no tenant. */
export const PLATFORM_LISTENER_ID = '00000000-0000-7000-8000-000000000001';
