/** Purposes for which a node's ports are connected; each has a default network. */
export const networkPurposes = ['provisioning', 'cleaning', 'tenant'] as const;
export type NetworkPurpose = (typeof networkPurposes)[number];
