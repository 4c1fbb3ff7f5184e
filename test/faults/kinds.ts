/**
 * Kinds of objects that oracles and benches check. Events and leases are excluded, because they change all the time.
 */
import { RESOURCES, type Resource } from '../../src/cluster/kube/client/resources.ts';

/** Kinds of objects that Berth creates, except Events: their number is not part of the state of a deployment. */
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

/** Kinds of objects of tasks, releases and schedules. They are not part of the desired state of a deployment. */
export const TASK_KINDS: readonly Resource[] = [RESOURCES.DeploymentTask, RESOURCES.Job, RESOURCES.CronJob];

/** The objects of a deployment, including those that controllers of Kubernetes create for it. */
export const DEPLOYMENT_KINDS: readonly Resource[] = [
  ...MADE_KINDS,
  ...TASK_KINDS,
  RESOURCES.ReplicaSet,
  RESOURCES.ConfigMap,
  RESOURCES.Ingress,
  RESOURCES.Pod,
];
