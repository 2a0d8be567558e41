import { nameSome } from '#shared/name-some.ts';

/** `dry_run` of an action that tears nodes down: all that will be done to one, and what is known to be wrong now. */
export interface TeardownNodeView {
  readonly name: string;
  /** null = it is not enrolled. */
  readonly provision_state: string | null;
  /** What the action would be refused for. */
  readonly refused: string | null;
  /** What stands in the way now, and may have passed by then. */
  readonly wrong: readonly string[];
  /** null = this conductor knows no cluster. */
  readonly kubernetes: KubernetesLook | null;
  readonly etcd: readonly EtcdLook[];
  /** When a ramdisk looked at the disks last. */
  readonly disks_seen_at: string | null;
  readonly disks: WipePlan;
  readonly steps: readonly TeardownStepView[];
}

/** One step of a node's teardown, as an operator reads it before. */
export interface TeardownStepView {
  /** `cluster.drain`; of the last ones the kind of flow: `prepare`, `deploy`. */
  readonly step: string;
  readonly does: string;
  /** Seconds; null = its steps have their own, and nothing cuts them. */
  readonly timeout: number | null;
  /** What its failure means, and what is to be done then. */
  readonly on_failure: string;
}

/** A node in Kubernetes as it is now, and what a drain would meet on it. */
export interface KubernetesLook extends DrainLook {
  /** `null`: nobody could be asked. */
  readonly is_member: boolean | null;
  readonly ready: boolean | null;
  readonly cordoned: boolean | null;
  readonly pods: number | null;
}

export interface EtcdLook {
  readonly cluster: string;
  /** Names of the members that run on the node; `null`: nobody could be asked. */
  readonly members: readonly string[] | null;
}

/** What a drain would meet on a node, as its operator reads it before. `null`: nobody could be asked. */
export interface DrainLook {
  /** Pods that go. */
  readonly evicted: number | null;
  /** Pods that a budget keeps as things are now. */
  readonly kept_by_budgets: readonly KeptPodView[] | null;
  /** Pods that go all the same, though something is lost with them. */
  readonly lost: readonly LostPodView[] | null;
}

export interface KeptPodView {
  /** `namespace/name` */
  readonly pod: string;
  readonly budgets: readonly {
    readonly name: string;
    /** Pods that are well, and that have to be. */
    readonly current_healthy: number | null;
    readonly desired_healthy: number | null;
    readonly disruptions_allowed: number | null;
  }[];
}

export interface LostPodView {
  readonly pod: string;
  /** `unmanaged`: no controller makes it anew. `local data`: what is in its emptyDir volumes. */
  readonly because: 'unmanaged' | 'local data';
}

export interface PlannedDiskView {
  readonly name: string;
  readonly serial: string | null;
  readonly wwn: string | null;
  readonly model: string | null;
  readonly size_bytes: number | null;
  readonly holds_os: boolean;
  /** Why it is kept; null = it is wiped. */
  readonly kept: string | null;
}

export interface WipePlan {
  readonly wiped: readonly PlannedDiskView[];
  readonly kept: readonly PlannedDiskView[];
  /** What can't be told, and why. */
  readonly remarks: readonly string[];
}

/** So many pods, or nodes, are named in a sentence. */
export const mostNamed = 10;

/** `default/a, default/b and 3 more`. Pure. */
export function namePods(pods: readonly { readonly pod: string }[]): string {
  return nameSome(
    pods.map(({ pod }) => pod),
    mostNamed,
  );
}
