export interface ClusterConfig {
  /** `undefined` = no Kubernetes cluster is known. */
  readonly kubeconfigFile: string | undefined;
  /** Below which documents may name what etcd clusters are reached with. */
  readonly etcdTlsDirectory: string;
}
