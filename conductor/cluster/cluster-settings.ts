import { z } from 'zod';

export interface ClusterConfig {
  /** `undefined` = no Kubernetes cluster is known. */
  readonly kubeconfigFile: string | undefined;
  /** Below which documents may name what etcd clusters are reached with. */
  readonly etcdTlsDirectory: string;
}

/** Settings of how clusters are reached whose nodes are torn down; part of the conductor's environment. */
export const clusterEnvironment = {
  BATON_KUBECONFIG: z
    .string()
    .optional()
    .describe('kubeconfig of the Kubernetes cluster that nodes are part of; its current context counts'),
  BATON_ETCD_TLS_DIR: z
    .string()
    .default('/etc/baton/etcd')
    .describe('directory whose subdirectories (`tls` of an etcd cluster) have `ca.crt`, `client.crt` and `client.key`'),
} as const;
