/** Seconds, as seed 001 has them; it gives none for the last two, which must not hold a teardown up. */
export const nodeStepDefaults = {
  drainTimeout: 3600,
  drainGracePeriod: 1800,
  clearLabelsTimeout: 1800,
  shutdownKubeletTimeout: 300,
  restoreLabelsTimeout: 120,
  removeFromClusterTimeout: 120,
} as const;

/** Returns the seconds that each pod gets by default: half of the drain's, as in the seed, and 1,800 at most. Pure. */
export function drainGracePeriod(drainTimeout: number): number {
  return Math.min(nodeStepDefaults.drainGracePeriod, Math.max(1, Math.floor(drainTimeout / 2)));
}

export const etcdStepDefaults = { removeTimeout: 1800, readyTimeout: 600 } as const;

/** Seconds (seed 001, "Promenade Decommission Node"). */
export interface DecommissionTimeouts {
  readonly drainTimeout: number;
  /** Below `drainTimeout`. */
  readonly drainGracePeriod: number;
  readonly clearLabelsTimeout: number;
  readonly removeEtcdTimeout: number;
  readonly etcdReadyTimeout: number;
}

export const decommissionTimeouts: DecommissionTimeouts = {
  drainTimeout: nodeStepDefaults.drainTimeout,
  drainGracePeriod: nodeStepDefaults.drainGracePeriod,
  clearLabelsTimeout: nodeStepDefaults.clearLabelsTimeout,
  removeEtcdTimeout: etcdStepDefaults.removeTimeout,
  etcdReadyTimeout: etcdStepDefaults.readyTimeout,
};
