// Made by `npm run client-types` from the OpenAPI document. Do not edit.

export type CreateDeploymentInput = {
  name: string;
  source: 'git_host' | 'external_image' | 'internal_image';
  source_config: SourceConfigInput;
  source_revision_config: {
    repo_ref?: string | null;
    workflow_config_path?: string | null;
    image_uri?: string | null;
    repo_commit_sha?: null;
  };
  secrets: { name: string; value: string }[];
};
export type PatchDeploymentInput = {
  source_config?: SourceConfigInput | null;
  source_revision_config?: {
    repo_ref?: string | null;
    workflow_config_path?: string | null;
    image_uri?: string | null;
    repo_commit_sha?: string | null;
  } | null;
  secrets?: { name: string; value: string }[] | null;
};
export type SourceConfigInput = {
  integration_id?: string | null;
  repo_url?: string | null;
  deployment_type?: 'dev_free' | 'dev' | 'prod' | null;
  build_on_push?: boolean | null;
  custom_url?: string | null;
  resource_spec?: ResourceSpecInput | null;
  listener_id?: string | null;
  listener_config?: { cluster_namespace?: string | null } | null;
  install_command?: string | null;
  build_command?: string | null;
};
export type ResourceSpecInput = {
  min_scale?: number | null;
  max_scale?: number | null;
  cpu?: number | null;
  cpu_limit?: number | null;
  memory_mb?: number | null;
  memory_limit_mb?: number | null;
  queue_min_scale?: number | null;
  queue_max_scale?: number | null;
  queue_cpu?: number | null;
  queue_cpu_limit?: number | null;
  queue_memory_mb?: number | null;
  queue_memory_limit_mb?: number | null;
  orchestrator_cpu?: number | null;
  orchestrator_cpu_limit?: number | null;
  orchestrator_memory_mb?: number | null;
  orchestrator_memory_limit_mb?: number | null;
  orchestrator_min_scale?: number | null;
  orchestrator_max_scale?: number | null;
  executor_cpu?: number | null;
  executor_cpu_limit?: number | null;
  executor_memory_mb?: number | null;
  executor_memory_limit_mb?: number | null;
  cache_cpu?: number | null;
  cache_cpu_limit?: number | null;
  cache_memory_mb?: number | null;
  db_cpu?: number | null;
  db_cpu_limit?: number | null;
  db_memory_mb?: number | null;
  db_memory_limit_mb?: number | null;
  db_storage_gi?: number | null;
  db_max_connections?: number | null;
  labels?: Record<string, string> | null;
  annotations?: Record<string, string> | null;
  service_account_name?: string | null;
  image_pull_secrets?: { name: string }[] | null;
  volumes?: VolumeInput[] | null;
  volume_mounts?: VolumeMountInput[] | null;
  init_containers?: ContainerInput[] | null;
  sidecars?: ContainerInput[] | null;
};
export type ContainerInput = {
  name: string;
  image: string;
  imagePullPolicy?: 'Always' | 'IfNotPresent' | 'Never' | null;
  command?: string[] | null;
  args?: string[] | null;
  workingDir?: string | null;
  env?:
    | {
        name: string;
        value?: string | null;
        valueFrom?: {
          fieldRef?: { apiVersion?: 'v1' | null; fieldPath: string } | null;
          resourceFieldRef?: {
            containerName?: string | null;
            resource:
              | 'limits.cpu'
              | 'limits.memory'
              | 'limits.ephemeral-storage'
              | 'requests.cpu'
              | 'requests.memory'
              | 'requests.ephemeral-storage';
            divisor?: string | number | null;
          } | null;
          configMapKeyRef?: { name: string; key: string; optional?: boolean | null } | null;
          secretKeyRef?: { name: string; key: string; optional?: boolean | null } | null;
        } | null;
      }[]
    | null;
  envFrom?:
    | {
        prefix?: string | '' | null;
        configMapRef?: { name: string; optional?: boolean | null } | null;
        secretRef?: { name: string; optional?: boolean | null } | null;
      }[]
    | null;
  resources?: {
    limits?: Record<string, string | number | null> | null;
    requests?: Record<string, string | number | null> | null;
  } | null;
  volumeMounts?: VolumeMountInput[] | null;
  securityContext?: {
    runAsUser?: number | null;
    runAsGroup?: number | null;
    runAsNonRoot?: boolean | null;
    readOnlyRootFilesystem?: boolean | null;
    allowPrivilegeEscalation?: boolean | null;
    privileged?: boolean | null;
    procMount?: 'Default' | null;
    capabilities?: { add?: string[] | null; drop?: string[] | null } | null;
    seLinuxOptions?: {
      user?: string | null;
      role?: string | null;
      type?: string | null;
      level?: string | null;
    } | null;
    seccompProfile?: {
      type: 'RuntimeDefault' | 'Localhost' | 'Unconfined';
      localhostProfile?: string | null;
    } | null;
    appArmorProfile?: {
      type: 'RuntimeDefault' | 'Localhost' | 'Unconfined';
      localhostProfile?: string | null;
    } | null;
  } | null;
  restartPolicy?: 'Always' | 'OnFailure' | 'Never' | null;
};
export type VolumeInput = {
  name: string;
  configMap?: {
    name: string;
    items?: { key: string; path: string; mode?: number | null }[] | null;
    defaultMode?: number | null;
    optional?: boolean | null;
  } | null;
  secret?: {
    secretName: string;
    items?: { key: string; path: string; mode?: number | null }[] | null;
    defaultMode?: number | null;
    optional?: boolean | null;
  } | null;
  emptyDir?: { medium?: string | null; sizeLimit?: string | number | null } | null;
  persistentVolumeClaim?: { claimName: string; readOnly?: boolean | null } | null;
  nfs?: { server: string; path: string; readOnly?: boolean | null } | null;
  projected?: {
    sources?:
      | {
          configMap?: {
            name: string;
            items?: { key: string; path: string; mode?: number | null }[] | null;
            optional?: boolean | null;
          } | null;
          secret?: {
            name: string;
            items?: { key: string; path: string; mode?: number | null }[] | null;
            optional?: boolean | null;
          } | null;
          downwardAPI?: {
            items?:
              | {
                  path: string;
                  fieldRef?: { apiVersion?: 'v1' | null; fieldPath: string } | null;
                  resourceFieldRef?: {
                    containerName: string;
                    resource:
                      | 'limits.cpu'
                      | 'limits.memory'
                      | 'limits.ephemeral-storage'
                      | 'requests.cpu'
                      | 'requests.memory'
                      | 'requests.ephemeral-storage';
                    divisor?: string | number | null;
                  } | null;
                  mode?: number | null;
                }[]
              | null;
          } | null;
          serviceAccountToken?: {
            audience?: string | null;
            expirationSeconds?: number | null;
            path: string;
          } | null;
        }[]
      | null;
    defaultMode?: number | null;
  } | null;
  downwardAPI?: {
    items?:
      | {
          path: string;
          fieldRef?: { apiVersion?: 'v1' | null; fieldPath: string } | null;
          resourceFieldRef?: {
            containerName: string;
            resource:
              | 'limits.cpu'
              | 'limits.memory'
              | 'limits.ephemeral-storage'
              | 'requests.cpu'
              | 'requests.memory'
              | 'requests.ephemeral-storage';
            divisor?: string | number | null;
          } | null;
          mode?: number | null;
        }[]
      | null;
    defaultMode?: number | null;
  } | null;
  csi?: {
    driver: string;
    readOnly?: boolean | null;
    fsType?: string | null;
    volumeAttributes?: Record<string, string | null> | null;
    nodePublishSecretRef?: { name: string } | null;
  } | null;
};
export type VolumeMountInput = {
  name: string;
  mountPath: string;
  subPath?: string | null;
  mountPropagation?: 'None' | 'HostToContainer' | 'Bidirectional' | null;
  readOnly?: boolean | null;
  subPathExpr?: string | null;
};
export type Deployment = {
  id: string;
  tenant_id: string;
  name: string;
  source: 'git_host' | 'external_image' | 'internal_image';
  source_config: {
    integration_id: string | null;
    repo_url: string | null;
    deployment_type: 'dev_free' | 'dev' | 'prod' | null;
    build_on_push: boolean | null;
    custom_url: string | null;
    resource_spec: ShownResourceSpec | null;
    listener_id: string | null;
    listener_config: { cluster_namespace: string | null } | null;
    install_command: string | null;
    build_command: string | null;
  };
  source_revision_config: {
    repo_ref: string | null;
    workflow_config_path: string | null;
    image_uri: string | null;
    repo_commit_sha: string | null;
  };
  secrets: { name: string; value: string }[];
  created_at: string;
  updated_at: string;
  status: 'AWAITING_DELETE' | 'UNKNOWN' | 'UNUSED' | 'AWAITING_DATABASE' | 'READY';
  latest_revision_id: string | null;
  active_revision_id: string | null;
  image_version: string | null;
  generation: number;
  observed_generation: number;
  remote_reconciled: boolean;
  last_observed_at: string | null;
  conditions: Condition[];
  url: string | null;
  tracing_project_id: string;
  effective_resource_spec: EffectiveResourceSpec;
};
export type ChangedDeployment = {
  id: string;
  tenant_id: string;
  name: string;
  source: 'git_host' | 'external_image' | 'internal_image';
  source_config: {
    integration_id: string | null;
    repo_url: string | null;
    deployment_type: 'dev_free' | 'dev' | 'prod' | null;
    build_on_push: boolean | null;
    custom_url: string | null;
    resource_spec: ShownResourceSpec | null;
    listener_id: string | null;
    listener_config: { cluster_namespace: string | null } | null;
    install_command: string | null;
    build_command: string | null;
  };
  source_revision_config: {
    repo_ref: string | null;
    workflow_config_path: string | null;
    image_uri: string | null;
    repo_commit_sha: string | null;
  };
  secrets: { name: string; value: string }[];
  created_at: string;
  updated_at: string;
  status: 'AWAITING_DELETE' | 'UNKNOWN' | 'UNUSED' | 'AWAITING_DATABASE' | 'READY';
  latest_revision_id: string | null;
  active_revision_id: string | null;
  image_version: string | null;
  generation: number;
  observed_generation: number;
  remote_reconciled: boolean;
  last_observed_at: string | null;
  conditions: Condition[];
  url: string | null;
  tracing_project_id: string;
  effective_resource_spec: EffectiveResourceSpec;
  effects?: string[];
};
export type DeploymentDryRun = {
  id: string;
  tenant_id: string;
  name: string;
  source: 'git_host' | 'external_image' | 'internal_image';
  source_config: {
    integration_id: string | null;
    repo_url: string | null;
    deployment_type: 'dev_free' | 'dev' | 'prod' | null;
    build_on_push: boolean | null;
    custom_url: string | null;
    resource_spec: ShownResourceSpec | null;
    listener_id: string | null;
    listener_config: { cluster_namespace: string | null } | null;
    install_command: string | null;
    build_command: string | null;
  };
  source_revision_config: {
    repo_ref: string | null;
    workflow_config_path: string | null;
    image_uri: string | null;
    repo_commit_sha: string | null;
  };
  secrets: { name: string; value: string }[];
  created_at: string;
  updated_at: string;
  status: 'AWAITING_DELETE' | 'UNKNOWN' | 'UNUSED' | 'AWAITING_DATABASE' | 'READY';
  latest_revision_id: string | null;
  active_revision_id: string | null;
  image_version: string | null;
  generation: number;
  observed_generation: number;
  remote_reconciled: boolean;
  last_observed_at: string | null;
  conditions: Condition[];
  url: string | null;
  tracing_project_id: string;
  effective_resource_spec: EffectiveResourceSpec;
  manifests: { apiVersion: string; kind: string; [more: string]: unknown }[] | null;
  new_revision: boolean;
  builds: boolean;
  pods_roll: boolean;
  effects: string[];
};
export type ShownResourceSpec = {
  min_scale: number | null;
  max_scale: number | null;
  cpu: number | null;
  cpu_limit: number | null;
  memory_mb: number | null;
  memory_limit_mb: number | null;
  queue_min_scale: number | null;
  queue_max_scale: number | null;
  queue_cpu: number | null;
  queue_cpu_limit: number | null;
  queue_memory_mb: number | null;
  queue_memory_limit_mb: number | null;
  orchestrator_cpu: number | null;
  orchestrator_cpu_limit: number | null;
  orchestrator_memory_mb: number | null;
  orchestrator_memory_limit_mb: number | null;
  orchestrator_min_scale: number | null;
  orchestrator_max_scale: number | null;
  executor_cpu: number | null;
  executor_cpu_limit: number | null;
  executor_memory_mb: number | null;
  executor_memory_limit_mb: number | null;
  cache_cpu: number | null;
  cache_cpu_limit: number | null;
  cache_memory_mb: number | null;
  db_cpu: number | null;
  db_cpu_limit: number | null;
  db_memory_mb: number | null;
  db_memory_limit_mb: number | null;
  db_storage_gi: number | null;
  db_max_connections: number | null;
  labels: Record<string, string> | null;
  annotations: Record<string, string> | null;
  service_account_name: string | null;
  image_pull_secrets: { name: string }[] | null;
  volumes: Volume[] | null;
  volume_mounts: VolumeMount[] | null;
  init_containers: Container[] | null;
  sidecars: Container[] | null;
};
export type EffectiveResourceSpec = {
  min_scale: number;
  max_scale: number;
  cpu: number;
  cpu_limit: number;
  memory_mb: number;
  memory_limit_mb: number;
  queue_min_scale: number | null;
  queue_max_scale: number | null;
  queue_cpu: number | null;
  queue_cpu_limit: number | null;
  queue_memory_mb: number | null;
  queue_memory_limit_mb: number | null;
  orchestrator_cpu: number | null;
  orchestrator_cpu_limit: number | null;
  orchestrator_memory_mb: number | null;
  orchestrator_memory_limit_mb: number | null;
  orchestrator_min_scale: number | null;
  orchestrator_max_scale: number | null;
  executor_cpu: number | null;
  executor_cpu_limit: number | null;
  executor_memory_mb: number | null;
  executor_memory_limit_mb: number | null;
  cache_cpu: number;
  cache_cpu_limit: number;
  cache_memory_mb: number;
  db_cpu: number;
  db_cpu_limit: number;
  db_memory_mb: number;
  db_memory_limit_mb: number;
  db_storage_gi: number;
  db_max_connections: number;
  db_pool_size: number;
  labels: Record<string, string>;
  annotations: Record<string, string>;
  service_account_name: string | null;
  image_pull_secrets: { name: string }[];
  volumes: Volume[];
  volume_mounts: VolumeMount[];
  init_containers: Container[];
  sidecars: Container[];
};
export type Container = {
  name: string;
  image: string;
  imagePullPolicy?: 'Always' | 'IfNotPresent' | 'Never';
  command?: string[];
  args?: string[];
  workingDir?: string;
  env?: {
    name: string;
    value?: string;
    valueFrom?: {
      fieldRef?: { apiVersion?: 'v1'; fieldPath: string };
      resourceFieldRef?: {
        containerName?: string;
        resource:
          | 'limits.cpu'
          | 'limits.memory'
          | 'limits.ephemeral-storage'
          | 'requests.cpu'
          | 'requests.memory'
          | 'requests.ephemeral-storage';
        divisor?: string;
      };
      configMapKeyRef?: { name: string; key: string; optional?: boolean };
      secretKeyRef?: { name: string; key: string; optional?: boolean };
    };
  }[];
  envFrom?: {
    prefix?: string | '';
    configMapRef?: { name: string; optional?: boolean };
    secretRef?: { name: string; optional?: boolean };
  }[];
  resources?: { limits?: Record<string, string>; requests?: Record<string, string> };
  volumeMounts?: VolumeMount[];
  securityContext?: {
    runAsUser?: number;
    runAsGroup?: number;
    runAsNonRoot?: boolean;
    readOnlyRootFilesystem?: boolean;
    allowPrivilegeEscalation?: boolean;
    privileged?: boolean;
    procMount?: 'Default';
    capabilities?: { add?: string[]; drop?: string[] };
    seLinuxOptions?: { user?: string; role?: string; type?: string; level?: string };
    seccompProfile?: { type: 'RuntimeDefault' | 'Localhost' | 'Unconfined'; localhostProfile?: string };
    appArmorProfile?: { type: 'RuntimeDefault' | 'Localhost' | 'Unconfined'; localhostProfile?: string };
  };
  restartPolicy?: 'Always' | 'OnFailure' | 'Never';
};
export type Volume = {
  name: string;
  configMap?: {
    name: string;
    items?: { key: string; path: string; mode?: number }[];
    defaultMode?: number;
    optional?: boolean;
  };
  secret?: {
    secretName: string;
    items?: { key: string; path: string; mode?: number }[];
    defaultMode?: number;
    optional?: boolean;
  };
  emptyDir?: { medium?: string; sizeLimit?: string };
  persistentVolumeClaim?: { claimName: string; readOnly?: boolean };
  nfs?: { server: string; path: string; readOnly?: boolean };
  projected?: {
    sources?: {
      configMap?: {
        name: string;
        items?: { key: string; path: string; mode?: number }[];
        optional?: boolean;
      };
      secret?: { name: string; items?: { key: string; path: string; mode?: number }[]; optional?: boolean };
      downwardAPI?: {
        items?: {
          path: string;
          fieldRef?: { apiVersion?: 'v1'; fieldPath: string };
          resourceFieldRef?: {
            containerName: string;
            resource:
              | 'limits.cpu'
              | 'limits.memory'
              | 'limits.ephemeral-storage'
              | 'requests.cpu'
              | 'requests.memory'
              | 'requests.ephemeral-storage';
            divisor?: string;
          };
          mode?: number;
        }[];
      };
      serviceAccountToken?: { audience?: string; expirationSeconds?: number; path: string };
    }[];
    defaultMode?: number;
  };
  downwardAPI?: {
    items?: {
      path: string;
      fieldRef?: { apiVersion?: 'v1'; fieldPath: string };
      resourceFieldRef?: {
        containerName: string;
        resource:
          | 'limits.cpu'
          | 'limits.memory'
          | 'limits.ephemeral-storage'
          | 'requests.cpu'
          | 'requests.memory'
          | 'requests.ephemeral-storage';
        divisor?: string;
      };
      mode?: number;
    }[];
    defaultMode?: number;
  };
  csi?: {
    driver: string;
    readOnly?: boolean;
    fsType?: string;
    volumeAttributes?: Record<string, string>;
    nodePublishSecretRef?: { name: string };
  };
};
export type VolumeMount = {
  name: string;
  mountPath: string;
  subPath?: string;
  mountPropagation?: 'None' | 'HostToContainer' | 'Bidirectional';
  readOnly?: boolean;
  subPathExpr?: string;
};
export type Condition = {
  type: string;
  status: 'True' | 'False' | 'Unknown';
  reason: string;
  message: string;
  observedGeneration?: number;
  lastTransitionTime: string;
};
export type FieldErrors = { detail: { loc: (string | number)[]; msg: string; type: string }[] };

/** What each operation takes and answers, by its operationId. */
export interface Operations {
  listDeployments: {
    path: Record<never, never>;
    query: {
      limit?: number;
      offset?: number;
      name?: string;
      name_contains?: string;
      status?: 'AWAITING_DELETE' | 'UNKNOWN' | 'UNUSED' | 'AWAITING_DATABASE' | 'READY';
      remote_reconciled?: boolean;
      tag_value_ids?: string;
      image_version?: string;
      deployment_type?: 'dev_free' | 'dev' | 'prod';
      deployment_ids?: string;
      mask_secrets?: boolean;
    };
    headers: { 'X-Tenant-Id'?: string };
    body: undefined;
    answer: { resources: Deployment[]; offset: number };
  };
  createDeployment: {
    path: Record<never, never>;
    query: { dry_run?: boolean; mask_secrets?: boolean };
    headers: { 'Idempotency-Key'?: string; 'X-Tenant-Id'?: string };
    body: CreateDeploymentInput;
    answer: DeploymentDryRun | Deployment;
  };
  deleteSeveralDeployments: {
    path: Record<never, never>;
    query: { deployment_ids: string; delete_tracing_project?: boolean };
    headers: { 'X-Tenant-Id'?: string };
    body: undefined;
    answer: { resources: { deployment_id: string; status: number; detail: string | null }[] };
  };
  getDeployment: {
    path: { deployment_id: string };
    query: { mask_secrets?: boolean };
    headers: { 'X-Tenant-Id'?: string };
    body: undefined;
    answer: Deployment;
  };
  changeDeployment: {
    path: { deployment_id: string };
    query: { dry_run?: boolean; mask_secrets?: boolean };
    headers: { 'If-Match'?: string; 'X-Tenant-Id'?: string };
    body: PatchDeploymentInput;
    answer: ChangedDeployment | DeploymentDryRun;
  };
  deleteDeployment: {
    path: { deployment_id: string };
    query: { delete_tracing_project?: boolean; force?: boolean; keep_workloads?: boolean };
    headers: { 'If-Match'?: string; 'X-Tenant-Id'?: string };
    body: undefined;
    answer: null;
  };
  restoreDeployment: {
    path: { deployment_id: string };
    query: { mask_secrets?: boolean };
    headers: { 'If-Match'?: string; 'X-Tenant-Id'?: string };
    body: Record<string, never> | null;
    answer: Deployment;
  };
  listRevisions: {
    path: { deployment_id: string };
    query: { limit?: number; offset?: number; status?: string; remote_reconciled?: boolean };
    headers: { 'X-Tenant-Id'?: string };
    body: undefined;
    answer: {
      resources: {
        id: string;
        deployment_id: string;
        number: number;
        status:
          | 'CREATING'
          | 'CREATE_FAILED'
          | 'AWAITING_BUILD'
          | 'BUILDING'
          | 'BUILD_FAILED'
          | 'QUEUED'
          | 'AWAITING_DEPLOY'
          | 'DEPLOYING'
          | 'DEPLOYED'
          | 'DEPLOY_FAILED'
          | 'SKIPPED'
          | 'INTERRUPTED'
          | 'UNKNOWN';
        reason: string | null;
        message: string | null;
        source_revision_config: {
          repo_ref: string | null;
          workflow_config_path: string | null;
          image_uri: string | null;
          repo_commit_sha: string | null;
        };
        resolved_image: string | null;
        build: {
          phase: 'Waiting' | 'Running' | 'Succeeded' | 'Failed';
          step?: 'source' | 'image' | 'result';
          started_at?: string;
          finished_at?: string;
        } | null;
        created_at: string;
        updated_at: string;
        deployed_at: string | null;
      }[];
      offset: number;
    };
  };
  createRevision: {
    path: { deployment_id: string };
    query: Record<never, never>;
    headers: { 'Idempotency-Key'?: string; 'If-Match'?: string; 'X-Tenant-Id'?: string };
    body: Record<string, never> | null;
    answer: {
      id: string;
      deployment_id: string;
      number: number;
      status:
        | 'CREATING'
        | 'CREATE_FAILED'
        | 'AWAITING_BUILD'
        | 'BUILDING'
        | 'BUILD_FAILED'
        | 'QUEUED'
        | 'AWAITING_DEPLOY'
        | 'DEPLOYING'
        | 'DEPLOYED'
        | 'DEPLOY_FAILED'
        | 'SKIPPED'
        | 'INTERRUPTED'
        | 'UNKNOWN';
      reason: string | null;
      message: string | null;
      source_revision_config: {
        repo_ref: string | null;
        workflow_config_path: string | null;
        image_uri: string | null;
        repo_commit_sha: string | null;
      };
      resolved_image: string | null;
      build: {
        phase: 'Waiting' | 'Running' | 'Succeeded' | 'Failed';
        step?: 'source' | 'image' | 'result';
        started_at?: string;
        finished_at?: string;
      } | null;
      created_at: string;
      updated_at: string;
      deployed_at: string | null;
    };
  };
  getRevision: {
    path: { deployment_id: string; revision_id: string };
    query: Record<never, never>;
    headers: { 'X-Tenant-Id'?: string };
    body: undefined;
    answer: {
      id: string;
      deployment_id: string;
      number: number;
      status:
        | 'CREATING'
        | 'CREATE_FAILED'
        | 'AWAITING_BUILD'
        | 'BUILDING'
        | 'BUILD_FAILED'
        | 'QUEUED'
        | 'AWAITING_DEPLOY'
        | 'DEPLOYING'
        | 'DEPLOYED'
        | 'DEPLOY_FAILED'
        | 'SKIPPED'
        | 'INTERRUPTED'
        | 'UNKNOWN';
      reason: string | null;
      message: string | null;
      source_revision_config: {
        repo_ref: string | null;
        workflow_config_path: string | null;
        image_uri: string | null;
        repo_commit_sha: string | null;
      };
      resolved_image: string | null;
      build: {
        phase: 'Waiting' | 'Running' | 'Succeeded' | 'Failed';
        step?: 'source' | 'image' | 'result';
        started_at?: string;
        finished_at?: string;
      } | null;
      created_at: string;
      updated_at: string;
      deployed_at: string | null;
    };
  };
  deployRevisionAgain: {
    path: { deployment_id: string; revision_id: string };
    query: Record<never, never>;
    headers: { 'Idempotency-Key'?: string; 'If-Match'?: string; 'X-Tenant-Id'?: string };
    body: Record<string, never> | null;
    answer: {
      id: string;
      deployment_id: string;
      number: number;
      status:
        | 'CREATING'
        | 'CREATE_FAILED'
        | 'AWAITING_BUILD'
        | 'BUILDING'
        | 'BUILD_FAILED'
        | 'QUEUED'
        | 'AWAITING_DEPLOY'
        | 'DEPLOYING'
        | 'DEPLOYED'
        | 'DEPLOY_FAILED'
        | 'SKIPPED'
        | 'INTERRUPTED'
        | 'UNKNOWN';
      reason: string | null;
      message: string | null;
      source_revision_config: {
        repo_ref: string | null;
        workflow_config_path: string | null;
        image_uri: string | null;
        repo_commit_sha: string | null;
      };
      resolved_image: string | null;
      build: {
        phase: 'Waiting' | 'Running' | 'Succeeded' | 'Failed';
        step?: 'source' | 'image' | 'result';
        started_at?: string;
        finished_at?: string;
      } | null;
      created_at: string;
      updated_at: string;
      deployed_at: string | null;
    };
  };
  rollBackRevision: {
    path: { deployment_id: string; revision_id: string };
    query: Record<never, never>;
    headers: { 'Idempotency-Key'?: string; 'If-Match'?: string; 'X-Tenant-Id'?: string };
    body: Record<string, never> | null;
    answer: {
      id: string;
      deployment_id: string;
      number: number;
      status:
        | 'CREATING'
        | 'CREATE_FAILED'
        | 'AWAITING_BUILD'
        | 'BUILDING'
        | 'BUILD_FAILED'
        | 'QUEUED'
        | 'AWAITING_DEPLOY'
        | 'DEPLOYING'
        | 'DEPLOYED'
        | 'DEPLOY_FAILED'
        | 'SKIPPED'
        | 'INTERRUPTED'
        | 'UNKNOWN';
      reason: string | null;
      message: string | null;
      source_revision_config: {
        repo_ref: string | null;
        workflow_config_path: string | null;
        image_uri: string | null;
        repo_commit_sha: string | null;
      };
      resolved_image: string | null;
      build: {
        phase: 'Waiting' | 'Running' | 'Succeeded' | 'Failed';
        step?: 'source' | 'image' | 'result';
        started_at?: string;
        finished_at?: string;
      } | null;
      created_at: string;
      updated_at: string;
      deployed_at: string | null;
    };
  };
  getBuildLog: {
    path: { deployment_id: string; revision_id: string };
    query: { limit?: number; offset?: number; follow?: boolean };
    headers: { 'X-Tenant-Id'?: string };
    body: undefined;
    answer: {
      resources: { at: string; attempt: number; step: 'source' | 'image' | 'result'; text: string }[];
      offset: number;
      complete: boolean;
    };
  };
  getLogs: {
    path: { deployment_id: string };
    query: {
      component?: 'api' | 'queue' | 'orchestrator' | 'executor' | 'database' | 'cache';
      revision_id?: string;
      since?: string;
      limit?: number;
      follow?: boolean;
      previous?: boolean;
    };
    headers: { 'X-Tenant-Id'?: string };
    body: undefined;
    answer: {
      resources: {
        at: string;
        component: 'api' | 'queue' | 'orchestrator' | 'executor' | 'database' | 'cache';
        pod: string;
        container: string;
        revision_id?: string;
        text: string;
      }[];
      end: string;
    };
  };
  explainRevision: {
    path: { deployment_id: string; revision_id: string };
    query: Record<never, never>;
    headers: { 'X-Tenant-Id'?: string };
    body: undefined;
    answer: {
      revision_id: string;
      deployment_id: string;
      number: number;
      status:
        | 'CREATING'
        | 'CREATE_FAILED'
        | 'AWAITING_BUILD'
        | 'BUILDING'
        | 'BUILD_FAILED'
        | 'QUEUED'
        | 'AWAITING_DEPLOY'
        | 'DEPLOYING'
        | 'DEPLOYED'
        | 'DEPLOY_FAILED'
        | 'SKIPPED'
        | 'INTERRUPTED'
        | 'UNKNOWN';
      serves: 'yes' | 'no' | 'unknown';
      summary: string;
      causes: {
        level: 'revision' | 'deployment' | 'listener' | 'condition' | 'object';
        condition: string | null;
        object: {
          component?: string;
          kind?: string;
          object?: string;
          container?: string;
          container_kind?: 'app' | 'init' | 'sidecar';
          field?: string;
          exit_code?: number;
          detail?: string;
          id?: string;
        } | null;
        reason: string;
        message: string;
        at: string;
        current: boolean;
      }[];
      remedy: { kind: 'act' | 'wait'; reason: string; text: string } | null;
      effects: string[];
      knowledge: { current: boolean; at: string | null; age_seconds: number | null };
    };
  };
  listEventsTenant: {
    path: Record<never, never>;
    query: { limit?: number; offset?: number };
    headers: { 'X-Tenant-Id'?: string };
    body: undefined;
    answer: {
      resources: {
        id: string;
        tenant_id: string | null;
        deployment_id: string | null;
        revision_id: string | null;
        at: string;
        actor: { kind: 'api_key' | 'listener' | 'system'; id: string | null; name: string | null };
        reason: string;
        message: string;
        details: Record<string, unknown>;
      }[];
      offset: number;
    };
  };
  listEvents: {
    path: { deployment_id: string };
    query: { limit?: number; offset?: number };
    headers: { 'X-Tenant-Id'?: string };
    body: undefined;
    answer: {
      resources: {
        id: string;
        tenant_id: string | null;
        deployment_id: string | null;
        revision_id: string | null;
        at: string;
        actor: { kind: 'api_key' | 'listener' | 'system'; id: string | null; name: string | null };
        reason: string;
        message: string;
        details: Record<string, unknown>;
      }[];
      offset: number;
    };
  };
  createIntegration: {
    path: Record<never, never>;
    query: Record<never, never>;
    headers: { 'X-Tenant-Id'?: string };
    body: { name: string; provider: 'github' | 'gitlab' | 'git'; host_url: string; token: string };
    answer: {
      id: string;
      tenant_id: string;
      name: string;
      provider: 'github' | 'gitlab' | 'git';
      host_url: string;
      takes_webhooks: boolean;
      created_at: string;
      updated_at: string;
    };
  };
  listIntegrations: {
    path: Record<never, never>;
    query: { limit?: number; offset?: number };
    headers: { 'X-Tenant-Id'?: string };
    body: undefined;
    answer: {
      resources: {
        id: string;
        tenant_id: string;
        name: string;
        provider: 'github' | 'gitlab' | 'git';
        host_url: string;
        takes_webhooks: boolean;
        created_at: string;
        updated_at: string;
      }[];
      offset: number;
    };
  };
  getIntegration: {
    path: { integration_id: string };
    query: Record<never, never>;
    headers: { 'X-Tenant-Id'?: string };
    body: undefined;
    answer: {
      id: string;
      tenant_id: string;
      name: string;
      provider: 'github' | 'gitlab' | 'git';
      host_url: string;
      takes_webhooks: boolean;
      created_at: string;
      updated_at: string;
    };
  };
  changeIntegration: {
    path: { integration_id: string };
    query: Record<never, never>;
    headers: { 'X-Tenant-Id'?: string };
    body: { name?: string; token?: string };
    answer: {
      id: string;
      tenant_id: string;
      name: string;
      provider: 'github' | 'gitlab' | 'git';
      host_url: string;
      takes_webhooks: boolean;
      created_at: string;
      updated_at: string;
    };
  };
  deleteIntegration: {
    path: { integration_id: string };
    query: Record<never, never>;
    headers: { 'X-Tenant-Id'?: string };
    body: undefined;
    answer: null;
  };
  listRepositories: {
    path: { integration_id: string };
    query: { limit?: number; offset?: number };
    headers: { 'X-Tenant-Id'?: string };
    body: undefined;
    answer: {
      resources: {
        full_name: string;
        repo_url: string;
        default_branch: string | null;
        private: boolean | null;
      }[];
      offset: number;
    };
  };
  createWebhookSecret: {
    path: { integration_id: string };
    query: Record<never, never>;
    headers: { 'X-Tenant-Id'?: string };
    body: Record<string, never> | null;
    answer: { url: string; secret: string; former_valid_until: string | null };
  };
  deleteWebhookSecret: {
    path: { integration_id: string };
    query: Record<never, never>;
    headers: { 'X-Tenant-Id'?: string };
    body: undefined;
    answer: null;
  };
  createListener: {
    path: Record<never, never>;
    query: Record<never, never>;
    headers: { 'X-Tenant-Id'?: string };
    body: { compute_type?: 'k8s'; compute_id: string; compute_config?: { k8s_namespaces: string[] } };
    answer: {
      id: string;
      tenant_id: string | null;
      compute_type: string;
      compute_id: string;
      compute_config: { k8s_namespaces: string[] };
      version: string | null;
      cluster_version: string | null;
      cluster_id: string | null;
      status: 'NEVER_SEEN' | 'CONNECTED' | 'CLUSTER_UNREACHABLE' | 'LOST';
      unknown_resources: number;
      last_seen_at: string | null;
      created_at: string;
      updated_at: string;
    };
  };
  listListeners: {
    path: Record<never, never>;
    query: { limit?: number; offset?: number; compute_id?: string; compute_type?: 'k8s'; status?: string };
    headers: { 'X-Tenant-Id'?: string };
    body: undefined;
    answer: {
      resources: {
        id: string;
        tenant_id: string | null;
        compute_type: string;
        compute_id: string;
        compute_config: { k8s_namespaces: string[] };
        version: string | null;
        cluster_version: string | null;
        cluster_id: string | null;
        status: 'NEVER_SEEN' | 'CONNECTED' | 'CLUSTER_UNREACHABLE' | 'LOST';
        unknown_resources: number;
        last_seen_at: string | null;
        created_at: string;
        updated_at: string;
      }[];
      offset: number;
    };
  };
  getListener: {
    path: { listener_id: string };
    query: Record<never, never>;
    headers: { 'X-Tenant-Id'?: string };
    body: undefined;
    answer: {
      id: string;
      tenant_id: string | null;
      compute_type: string;
      compute_id: string;
      compute_config: { k8s_namespaces: string[] };
      version: string | null;
      cluster_version: string | null;
      cluster_id: string | null;
      status: 'NEVER_SEEN' | 'CONNECTED' | 'CLUSTER_UNREACHABLE' | 'LOST';
      unknown_resources: number;
      last_seen_at: string | null;
      created_at: string;
      updated_at: string;
    };
  };
  changeListener: {
    path: { listener_id: string };
    query: Record<never, never>;
    headers: { 'X-Tenant-Id'?: string };
    body: { compute_id?: string; compute_config?: { k8s_namespaces: string[] }; cluster_id?: null };
    answer: {
      id: string;
      tenant_id: string | null;
      compute_type: string;
      compute_id: string;
      compute_config: { k8s_namespaces: string[] };
      version: string | null;
      cluster_version: string | null;
      cluster_id: string | null;
      status: 'NEVER_SEEN' | 'CONNECTED' | 'CLUSTER_UNREACHABLE' | 'LOST';
      unknown_resources: number;
      last_seen_at: string | null;
      created_at: string;
      updated_at: string;
    };
  };
  deleteListener: {
    path: { listener_id: string };
    query: Record<never, never>;
    headers: { 'X-Tenant-Id'?: string };
    body: undefined;
    answer: null;
  };
  createTagKey: {
    path: Record<never, never>;
    query: Record<never, never>;
    headers: { 'X-Tenant-Id'?: string };
    body: { key: string };
    answer: { id: string; key: string; created_at: string };
  };
  listTagKeys: {
    path: Record<never, never>;
    query: { limit?: number; offset?: number };
    headers: { 'X-Tenant-Id'?: string };
    body: undefined;
    answer: { resources: { id: string; key: string; created_at: string }[]; offset: number };
  };
  createTagValue: {
    path: { tag_key_id: string };
    query: Record<never, never>;
    headers: { 'X-Tenant-Id'?: string };
    body: { value: string };
    answer: { id: string; tag_key_id: string; value: string; created_at: string };
  };
  listTagValues: {
    path: { tag_key_id: string };
    query: { limit?: number; offset?: number };
    headers: { 'X-Tenant-Id'?: string };
    body: undefined;
    answer: {
      resources: { id: string; tag_key_id: string; value: string; created_at: string }[];
      offset: number;
    };
  };
  setTagValuesDeployment: {
    path: { deployment_id: string };
    query: Record<never, never>;
    headers: { 'If-Match'?: string; 'X-Tenant-Id'?: string };
    body: { tag_value_ids: string[] };
    answer: { resources: { id: string; tag_key_id: string; value: string; created_at: string }[] };
  };
  renameTagKey: {
    path: { tag_key_id: string };
    query: Record<never, never>;
    headers: { 'X-Tenant-Id'?: string };
    body: { key: string };
    answer: { id: string; key: string; created_at: string };
  };
  deleteTagKey: {
    path: { tag_key_id: string };
    query: Record<never, never>;
    headers: { 'X-Tenant-Id'?: string };
    body: undefined;
    answer: null;
  };
  renameTagValue: {
    path: { tag_key_id: string; tag_value_id: string };
    query: Record<never, never>;
    headers: { 'X-Tenant-Id'?: string };
    body: { value: string };
    answer: { id: string; tag_key_id: string; value: string; created_at: string };
  };
  deleteTagValue: {
    path: { tag_key_id: string; tag_value_id: string };
    query: Record<never, never>;
    headers: { 'X-Tenant-Id'?: string };
    body: undefined;
    answer: null;
  };
  listTenants: {
    path: Record<never, never>;
    query: { limit?: number; offset?: number; name?: string; name_contains?: string };
    headers: { 'X-Tenant-Id'?: string };
    body: undefined;
    answer: {
      resources: {
        id: string;
        name: string;
        quotas: {
          deployments?: number | null;
          cpu?: number | null;
          memory_mb?: number | null;
          storage_gi?: number | null;
        };
        quotas_in_force: {
          deployments: number | null;
          cpu: number | null;
          memory_mb: number | null;
          storage_gi: number | null;
        };
        created_at: string;
      }[];
      offset: number;
    };
  };
  createTenant: {
    path: Record<never, never>;
    query: Record<never, never>;
    headers: { 'X-Tenant-Id'?: string };
    body: {
      name: string;
      quotas?: {
        deployments?: number | null;
        cpu?: number | null;
        memory_mb?: number | null;
        storage_gi?: number | null;
      } | null;
    };
    answer: {
      id: string;
      name: string;
      quotas: {
        deployments?: number | null;
        cpu?: number | null;
        memory_mb?: number | null;
        storage_gi?: number | null;
      };
      quotas_in_force: {
        deployments: number | null;
        cpu: number | null;
        memory_mb: number | null;
        storage_gi: number | null;
      };
      created_at: string;
    };
  };
  getTenant: {
    path: { tenant_id: string };
    query: Record<never, never>;
    headers: { 'X-Tenant-Id'?: string };
    body: undefined;
    answer: {
      id: string;
      name: string;
      quotas: {
        deployments?: number | null;
        cpu?: number | null;
        memory_mb?: number | null;
        storage_gi?: number | null;
      };
      quotas_in_force: {
        deployments: number | null;
        cpu: number | null;
        memory_mb: number | null;
        storage_gi: number | null;
      };
      created_at: string;
    };
  };
  changeTenant: {
    path: { tenant_id: string };
    query: Record<never, never>;
    headers: { 'X-Tenant-Id'?: string };
    body: {
      name?: string;
      quotas?: {
        deployments?: number | null;
        cpu?: number | null;
        memory_mb?: number | null;
        storage_gi?: number | null;
      } | null;
    };
    answer: {
      id: string;
      name: string;
      quotas: {
        deployments?: number | null;
        cpu?: number | null;
        memory_mb?: number | null;
        storage_gi?: number | null;
      };
      quotas_in_force: {
        deployments: number | null;
        cpu: number | null;
        memory_mb: number | null;
        storage_gi: number | null;
      };
      created_at: string;
    };
  };
  deleteTenant: {
    path: { tenant_id: string };
    query: Record<never, never>;
    headers: { 'X-Tenant-Id'?: string };
    body: undefined;
    answer: null;
  };
  createApiKey: {
    path: Record<never, never>;
    query: Record<never, never>;
    headers: { 'X-Tenant-Id'?: string };
    body: {
      name: string;
      scopes: ('deployments:read' | 'deployments:write' | 'secrets:read' | 'listeners:run' | 'admin')[];
      expires_at?: string | null;
      platform?: boolean;
    };
    answer: {
      id: string;
      tenant_id: string | null;
      name: string;
      prefix: string;
      scopes: ('deployments:read' | 'deployments:write' | 'secrets:read' | 'listeners:run' | 'admin')[];
      created_at: string;
      expires_at: string | null;
      revoked_at: string | null;
      last_used_at: string | null;
      key: string;
    };
  };
  listApiKeys: {
    path: Record<never, never>;
    query: { limit?: number; offset?: number; platform?: boolean };
    headers: { 'X-Tenant-Id'?: string };
    body: undefined;
    answer: {
      resources: {
        id: string;
        tenant_id: string | null;
        name: string;
        prefix: string;
        scopes: ('deployments:read' | 'deployments:write' | 'secrets:read' | 'listeners:run' | 'admin')[];
        created_at: string;
        expires_at: string | null;
        revoked_at: string | null;
        last_used_at: string | null;
      }[];
      offset: number;
    };
  };
  getApiKey: {
    path: { api_key_id: string };
    query: Record<never, never>;
    headers: { 'X-Tenant-Id'?: string };
    body: undefined;
    answer: {
      id: string;
      tenant_id: string | null;
      name: string;
      prefix: string;
      scopes: ('deployments:read' | 'deployments:write' | 'secrets:read' | 'listeners:run' | 'admin')[];
      created_at: string;
      expires_at: string | null;
      revoked_at: string | null;
      last_used_at: string | null;
    };
  };
  revokeApiKey: {
    path: { api_key_id: string };
    query: Record<never, never>;
    headers: { 'X-Tenant-Id'?: string };
    body: undefined;
    answer: null;
  };
  getUsageTenant: {
    path: Record<never, never>;
    query: Record<never, never>;
    headers: { 'X-Tenant-Id'?: string };
    body: undefined;
    answer: {
      quotas: {
        deployments: number | null;
        cpu: number | null;
        memory_mb: number | null;
        storage_gi: number | null;
      };
      usage: {
        deployments: number;
        being_deleted: number;
        cpu: number;
        memory_mb: number;
        storage_gi: number;
      };
    };
  };
  deleteTracingProject: {
    path: { tracing_project_id: string };
    query: Record<never, never>;
    headers: { 'X-Tenant-Id'?: string };
    body: undefined;
    answer: null;
  };
  getTracingProject: {
    path: { tracing_project_id: string };
    query: Record<never, never>;
    headers: { 'X-Tenant-Id'?: string };
    body: undefined;
    answer: {
      id: string;
      tenant_id: string;
      name: string;
      created_at: string;
      backend_synced_at: string | null;
    };
  };
  listTracingProjects: {
    path: Record<never, never>;
    query: { limit?: number; offset?: number };
    headers: { 'X-Tenant-Id'?: string };
    body: undefined;
    answer: {
      resources: {
        id: string;
        tenant_id: string;
        name: string;
        created_at: string;
        backend_synced_at: string | null;
      }[];
      offset: number;
    };
  };
  createPushToken: {
    path: { deployment_id: string };
    query: Record<never, never>;
    headers: { 'X-Tenant-Id'?: string };
    body: Record<string, never> | null;
    answer: { registry_url: string; image_uri: string; username: string; token: string; expires_at: string };
  };
  deliverWebhook: {
    path: { integration_id: string };
    query: Record<never, never>;
    headers: {
      'X-GitHub-Event'?: string;
      'X-GitHub-Delivery'?: string;
      'X-Hub-Signature-256'?: string;
      'X-Gitlab-Token'?: string;
      'X-Gitlab-Event-UUID'?: string;
      'webhook-id'?: string;
      'webhook-timestamp'?: string;
      'webhook-signature'?: string;
      'Idempotency-Key'?: string;
    };
    body: Record<string, unknown>;
    answer: {
      event: string;
      result: 'taken' | 'repeated' | 'ignored';
      deployments: {
        deployment_id: string;
        outcome: 'revision_made' | 'nothing_to_build' | 'failed';
        revision_id: string | null;
      }[];
    };
  };
  getRegistryToken: {
    path: Record<never, never>;
    query: { service?: string; scope?: string | string[] };
    headers: Record<never, never>;
    body: undefined;
    answer: { token: string; access_token: string; expires_in: number; issued_at: string };
  };
  requestRegistryToken: {
    path: Record<never, never>;
    query: Record<never, never>;
    headers: Record<never, never>;
    body: undefined;
    answer: { token: string; access_token: string; expires_in: number; issued_at: string };
  };
}

/** Method and path of each operation. */
export const OPERATIONS = {
  listDeployments: { method: 'GET', path: '/v2/deployments' },
  createDeployment: { method: 'POST', path: '/v2/deployments' },
  deleteSeveralDeployments: { method: 'DELETE', path: '/v2/deployments' },
  getDeployment: { method: 'GET', path: '/v2/deployments/{deployment_id}' },
  changeDeployment: { method: 'PATCH', path: '/v2/deployments/{deployment_id}' },
  deleteDeployment: { method: 'DELETE', path: '/v2/deployments/{deployment_id}' },
  restoreDeployment: { method: 'POST', path: '/v2/deployments/{deployment_id}/restore' },
  listRevisions: { method: 'GET', path: '/v2/deployments/{deployment_id}/revisions' },
  createRevision: { method: 'POST', path: '/v2/deployments/{deployment_id}/revisions' },
  getRevision: { method: 'GET', path: '/v2/deployments/{deployment_id}/revisions/{revision_id}' },
  deployRevisionAgain: {
    method: 'POST',
    path: '/v2/deployments/{deployment_id}/revisions/{revision_id}/redeploy',
  },
  rollBackRevision: {
    method: 'POST',
    path: '/v2/deployments/{deployment_id}/revisions/{revision_id}/rollback',
  },
  getBuildLog: { method: 'GET', path: '/v2/deployments/{deployment_id}/revisions/{revision_id}/build-logs' },
  getLogs: { method: 'GET', path: '/v2/deployments/{deployment_id}/logs' },
  explainRevision: { method: 'GET', path: '/v2/deployments/{deployment_id}/revisions/{revision_id}/explain' },
  listEventsTenant: { method: 'GET', path: '/v2/events' },
  listEvents: { method: 'GET', path: '/v2/deployments/{deployment_id}/events' },
  createIntegration: { method: 'POST', path: '/v2/integrations' },
  listIntegrations: { method: 'GET', path: '/v2/integrations' },
  getIntegration: { method: 'GET', path: '/v2/integrations/{integration_id}' },
  changeIntegration: { method: 'PATCH', path: '/v2/integrations/{integration_id}' },
  deleteIntegration: { method: 'DELETE', path: '/v2/integrations/{integration_id}' },
  listRepositories: { method: 'GET', path: '/v2/integrations/{integration_id}/repos' },
  createWebhookSecret: { method: 'POST', path: '/v2/integrations/{integration_id}/webhook-secret' },
  deleteWebhookSecret: { method: 'DELETE', path: '/v2/integrations/{integration_id}/webhook-secret' },
  createListener: { method: 'POST', path: '/v2/listeners' },
  listListeners: { method: 'GET', path: '/v2/listeners' },
  getListener: { method: 'GET', path: '/v2/listeners/{listener_id}' },
  changeListener: { method: 'PATCH', path: '/v2/listeners/{listener_id}' },
  deleteListener: { method: 'DELETE', path: '/v2/listeners/{listener_id}' },
  createTagKey: { method: 'POST', path: '/v2/tag-keys' },
  listTagKeys: { method: 'GET', path: '/v2/tag-keys' },
  createTagValue: { method: 'POST', path: '/v2/tag-keys/{tag_key_id}/values' },
  listTagValues: { method: 'GET', path: '/v2/tag-keys/{tag_key_id}/values' },
  setTagValuesDeployment: { method: 'PUT', path: '/v2/deployments/{deployment_id}/tag-values' },
  renameTagKey: { method: 'PATCH', path: '/v2/tag-keys/{tag_key_id}' },
  deleteTagKey: { method: 'DELETE', path: '/v2/tag-keys/{tag_key_id}' },
  renameTagValue: { method: 'PATCH', path: '/v2/tag-keys/{tag_key_id}/values/{tag_value_id}' },
  deleteTagValue: { method: 'DELETE', path: '/v2/tag-keys/{tag_key_id}/values/{tag_value_id}' },
  listTenants: { method: 'GET', path: '/v2/tenants' },
  createTenant: { method: 'POST', path: '/v2/tenants' },
  getTenant: { method: 'GET', path: '/v2/tenants/{tenant_id}' },
  changeTenant: { method: 'PATCH', path: '/v2/tenants/{tenant_id}' },
  deleteTenant: { method: 'DELETE', path: '/v2/tenants/{tenant_id}' },
  createApiKey: { method: 'POST', path: '/v2/api-keys' },
  listApiKeys: { method: 'GET', path: '/v2/api-keys' },
  getApiKey: { method: 'GET', path: '/v2/api-keys/{api_key_id}' },
  revokeApiKey: { method: 'DELETE', path: '/v2/api-keys/{api_key_id}' },
  getUsageTenant: { method: 'GET', path: '/v2/usage' },
  deleteTracingProject: { method: 'DELETE', path: '/v2/tracing-projects/{tracing_project_id}' },
  getTracingProject: { method: 'GET', path: '/v2/tracing-projects/{tracing_project_id}' },
  listTracingProjects: { method: 'GET', path: '/v2/tracing-projects' },
  createPushToken: { method: 'POST', path: '/v2/deployments/{deployment_id}/push-token' },
  deliverWebhook: { method: 'POST', path: '/v2/webhooks/{integration_id}' },
  getRegistryToken: { method: 'GET', path: '/v2/registry/token' },
  requestRegistryToken: { method: 'POST', path: '/v2/registry/token' },
} as const satisfies Record<keyof Operations, { method: string; path: string }>;
