export type ActionName =
  | 'deploy_site'
  | 'update_site'
  | 'redeploy_server'
  | 'teardown_server'
  | 'relabel_nodes'
  | 'verify_site';

export interface ActionClusters {
  readonly kubernetes: boolean;
  readonly etcd: boolean;
}
