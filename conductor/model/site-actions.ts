export type ActionName =
  | 'deploy_site'
  | 'update_site'
  | 'redeploy_server'
  | 'teardown_server'
  | 'relabel_nodes'
  | 'verify_site';
export type ActionState = 'pending' | 'running' | 'paused' | 'stopping' | 'stopped' | 'complete' | 'failed';
export type ActionStepState = 'pending' | 'running' | 'done' | 'failed' | 'skipped';

export interface ActionClusters {
  readonly kubernetes: boolean;
  readonly etcd: boolean;
}
