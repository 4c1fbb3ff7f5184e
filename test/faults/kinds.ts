/** Kinds of objects that are looked at, in one place for oracles and benches. Events and leases go by themselves. */
import { RESOURCES, type Resource } from '../../src/cluster/kube/client/resources.ts';

/** What Berth makes itself. Events are left out: how often something is told is no object's matter. */
export const MADE_KINDS: readonly Resource[] = [
  RESOURCES.ManagedDeployment,
  RESOURCES.Deployment,
  RESOURCES.StatefulSet,
  RESOURCES.ControllerRevision,
  RESOURCES.Service,
  RESOURCES.Secret,
  RESOURCES.ServiceAccount,
  RESOURCES.PersistentVolumeClaim,
  RESOURCES.HorizontalPodAutoscaler,
  RESOURCES.PodDisruptionBudget,
  RESOURCES.NetworkPolicy,
];

/** What a deployment consists of, and what Kubernetes makes of it. */
export const DEPLOYMENT_KINDS: readonly Resource[] = [
  ...MADE_KINDS,
  RESOURCES.ReplicaSet,
  RESOURCES.ConfigMap,
  RESOURCES.Ingress,
  RESOURCES.Pod,
];
