/** What a node's ports are connected for; each purpose has a default network. */
export const networkPurposes = ['provisioning', 'cleaning', 'tenant'] as const;
export type NetworkPurpose = (typeof networkPurposes)[number];
