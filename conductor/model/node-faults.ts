/** Why a conductor has put a node into maintenance, as its `fault` has it; the first two are Ironic's. */
export const nodeFaults = {
  power: 'power failure',
  clean: 'clean failure',
  /** What has become of the machine since the dump nobody knows: nothing at all goes on. */
  restored: 'restored',
} as const;

/** What a node's `fault` may be. */
export const allFaults: readonly string[] = [...Object.values(nodeFaults), 'rescue abort failure', 'service failure'];
