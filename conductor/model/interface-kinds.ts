/**
 * Ironic's per-node interface choices. Baton has one implementation of each kind, so there is little to choose: the
 * network, whether fake hardware is deployed by an agent, and what a node shall not do (`no-…`); the other names are
 * kept as clients send them.
 */
export const interfaceKinds = [
  'bios',
  'boot',
  'console',
  'deploy',
  'firmware',
  'inspect',
  'management',
  'network',
  'power',
  'raid',
  'rescue',
  'storage',
  'vendor',
] as const;
export type InterfaceKind = (typeof interfaceKinds)[number];
